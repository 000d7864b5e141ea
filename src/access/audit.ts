import type { ClientKey, PlatformName } from '../client/client-key.ts';
import type { AuditLog } from '../state/audit-log.ts';

/** What was done. */
export type AuditAction =
  | 'key issued'
  | 'key revoked'
  | 'rollout'
  | 'draft'
  | 'release'
  | 'binding'
  | 'override'
  | 'list'
  | 'client erased'
  | 'client rebuilt'
  | 'secret forgotten'
  | 'archive forgotten';

/** What the keys of a platform change by themselves, as often as they like. */
const OF_PLATFORMS: ReadonlySet<AuditAction> = new Set(['binding', 'override', 'list', 'client erased']);

/** One change by a person, a key or the service itself: who did what to which thing, and why. */
export interface AuditEntry {
  /** Epoch ms. */
  readonly at: number;
  /** As `actorOfKey` and `actorOfUser` write it; `service` and `guard` act on their own. */
  readonly who: string;
  readonly action: AuditAction;
  /** Null when the change concerns no single platform. */
  readonly platform: PlatformName | null;
  /** What was changed: the id of a key, a clientIdKey, the name of a list, a rule version; null for a rollout and an erased client. */
  readonly subject: string | null;
  /** Null when there was nothing. */
  readonly before: unknown;
  /** Null when nothing is left. */
  readonly after: unknown;
  readonly reason: string | null;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The place after the last entry; null when there is none yet. */
  readonly cursor: string | null;
}

/**
 * Notes every change that was made through the platform API, the console and the commands. An entry is written
 * when the change is done: a change whose entry could not be written is answered as a failure, and repeating it
 * changes nothing and notes it.
 */
export class Audit {
  readonly #log: AuditLog;
  readonly #now: () => number;

  constructor(log: AuditLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** With a client the entry is forgotten when the client is erased. */
  note(entry: Omit<AuditEntry, 'at'>, client: Pick<ClientKey, 'hash'> | null = null): Promise<void> {
    const { who, action, platform, subject, before, after, reason } = entry;
    const noted: AuditEntry = { at: this.#now(), who, action, platform, subject, before, after, reason };
    const owner = OF_PLATFORMS.has(action) ? platform : null;
    return this.#log.append(JSON.stringify(noted), { platform: owner, clientHash: client?.hash ?? null });
  }

  /** What is left of an erased client: that somebody erased one, and nothing that leads to the client. */
  noteErasure(who: string, platform: PlatformName): Promise<void> {
    return this.note({
      who,
      action: 'client erased',
      platform,
      subject: null,
      before: null,
      after: null,
      reason: null,
    });
  }

  /** Entries after a cursor (null: from the oldest kept), oldest first. Throws UnknownCursor. */
  async read(after: string | null, limit: number): Promise<AuditPage> {
    const { entries, cursor } = await this.#log.read(after, limit);
    return { entries: entries.map((text): AuditEntry => JSON.parse(text)), cursor };
  }
}
