import { LRUCache } from 'lru-cache';
import { Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import {
  choice,
  count,
  createMomentWriter,
  epochMs,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import { type ClientKey, isPlatformName, type PlatformName } from '#decision/payer/client-key.ts';
import type { AuditLink, AuditLog, ChainEnd } from '#state/audit-log.ts';
import { createAuditNote, NO_AUDIT_DETAILS } from '#state/audit-note.ts';
import { LocalRateBuckets } from '#state/rate-buckets.ts';
import { AUDIT_ACTIONS } from './audit-actions.ts';
import { type AuditFault, checkAuditChain, parseAuditLinkEntry } from './audit-check.ts';

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * Actions that a key may repeat without limit. The first actions (ONE_BY_ONE) are noted one by one. For further
 * actions, an entry every ten minutes says how many there were. Overrides and list changes are refused instead, by
 * `admit`. So within RETENTION.auditMs a busy key adds at most about 0.3 GB for each process, or about 2 GB with the
 * longest reasons. Its entries displace no other entries.
 */
const BY_KEYS: ReadonlySet<AuditAction> = new Set([
  'sign-in',
  'sign-out',
  'binding',
  'wait ended',
  'draft',
  'client read',
  'proposal',
]);
const ONE_BY_ONE = { ratePerSecond: 60 / 3600, burst: 2_000, delayMsMax: 0 };
const SUMMED_MS = 600_000;

/**
 * The change was refused. Each change of this kind needs an entry of its own, and the key has used up the entries
 * that the audit accepts from it.
 */
export class TooManyAuditedChanges extends NamedError {}

/** Reading the same payer again within this time, in ms, is not noted again. */
const READ_AGAIN_MS = 3600_000;
const READINGS_MAX = 50_000;

/** One change by a person, a key or the service itself: the actor, the action, the changed thing and the reason. */
export const AuditEntrySchema = named(
  'AuditEntry',
  shape('An entry of the audit', {
    at: epochMs('When'),
    who: plainText('The key, person or user who did it', 'key 3f9a0c51d2e7 of ann'),
    action: choice(AUDIT_ACTIONS, 'What was done'),
    platform: Type.Unsafe<PlatformName | null>(
      nullable(plainText('Where; null: it concerns no single platform')),
    ),
    subject: nullable(plainText('The client, key, list, version or person', 'payer-17')),
    before: Type.Unknown({ description: 'What was there; null for nothing' }),
    after: Type.Unknown({ description: 'What is there since; null for nothing' }),
    reason: nullable(plainText('Why', 'chargebacks')),
    number: count('Its place in the audit'),
    hash: plainText(
      'Its link in the chain',
      '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    ),
  }),
);

type NotedEntry = ValueOf<typeof AuditEntrySchema>;

/**
 * An entry of the audit. `who` is a text like `Actor.text` or the result of `formatOsUserActor`. It is `service` or
 * `guard` for an action that no person and no key started.
 */
export type AuditEntry = Omit<NotedEntry, 'number' | 'hash'>;

/** Formats the old or the new value of a change for an entry. Times that the schema declares become text. */
export function toAuditedValue(shape: object, value: unknown): unknown {
  return createMomentWriter(shape)(value);
}

/** An entry to note. Members that are left out are null. */
type Note = Pick<AuditEntry, 'who' | 'action'> & Partial<Omit<AuditEntry, 'at' | 'who' | 'action'>>;

/** The entries that a search looks for. A member that is null matches everything. */
interface AuditFilter {
  readonly platform: PlatformName | null;
  /** A part of the name, in capital or small letters. */
  readonly who: string | null;
  readonly action: AuditAction | null;
  /** Entries from this time on and before `to`, in epoch ms. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Entries of the audit. An entry that cannot be read does not hide the others. */
interface ReadEntries {
  readonly entries: readonly NotedEntry[];
  /** Entries that cannot be read, of any platform. */
  readonly unreadable: readonly AuditFault[];
}

/** How many entries a search reads for a page, and how many it reads at once. */
const SEARCHED_MAX = 5_000;
const READ_AT_ONCE = 500;

/** The part that a key's repeated actions have in common. */
type RepeatedAction = Pick<AuditEntry, 'who' | 'action' | 'platform'>;

/**
 * Writes an entry for each action through the platform API, the console and the commands. The entry is written after
 * the change. If writing the entry fails, the change is answered as a failure. A repetition of the change then
 * changes nothing more and writes the entry.
 */
export class Audit {
  readonly #log: AuditLog;
  readonly #now: () => number;
  readonly #oneByOne: typeof ONE_BY_ONE;
  readonly #buckets = new LocalRateBuckets(() => performance.now());
  readonly #readings = new LRUCache<string, true>({ max: READINGS_MAX, ttl: READ_AGAIN_MS });
  /** Actions since the last sum that were not noted one by one. */
  #unnoted = new Map<string, { readonly doing: RepeatedAction; count: number }>();
  #summing: NodeJS.Timeout | null = null;

  constructor(log: AuditLog, now: () => number, oneByOne = ONE_BY_ONE) {
    this.#log = log;
    this.#now = now;
    this.#oneByOne = oneByOne;
  }

  /**
   * Writes an entry. If it is about a client, the parts that identify the client are deleted when the client is
   * erased.
   */
  async note(entry: Note, client: Pick<ClientKey, 'hash'> | null = null): Promise<void> {
    const { who, action, platform = null } = entry;
    if (BY_KEYS.has(action) && this.#isTooMuch({ who, action, platform })) return;
    await this.#log.append(createAuditNote(this.#now(), entry, client));
  }

  /**
   * Admits a change that needs an entry of its own. Throws `TooManyAuditedChanges` if the audit has no room for its
   * entry.
   */
  admit(who: string, action: 'override' | 'list'): void {
    const { admitted } = this.#buckets.takeNow(`${action} ${who}`, this.#oneByOne);
    if (!admitted) throw new TooManyAuditedChanges(`${who} makes too many changes`);
  }

  async noteReading(who: string, { platform, clientIdKey, hash }: ClientKey): Promise<void> {
    const reading = `${who} ${hash}`;
    if (this.#readings.has(reading)) return;
    await this.note({ who, action: 'client read', platform, subject: clientIdKey }, { hash });
    this.#readings.set(reading, true);
  }

  /** Removes an erased client from all entries, and notes who erased it and in how many entries. */
  forget(
    who: string,
    { platform, hash }: Pick<ClientKey, 'platform' | 'hash'>,
    reason: string | null = null,
  ): Promise<void> {
    const doing = { who, action: 'client erased', platform } as const;
    const note = createAuditNote(this.#now(), { ...doing, reason });
    return this.#log.forget(hash, note, !this.#isTooMuch(doing));
  }

  /**
   * Reads entries after a cursor, oldest first. If the cursor is null, begins with the oldest kept entry. The
   * returned cursor continues after the last entry. It is null if there is no entry yet. Throws `UnknownCursor`.
   */
  async read(after: string | null, limit: number) {
    const { links, cursor } = await this.#log.read(after, limit);
    const read = links.map(readEntry);
    const entries = read.flatMap((one) => (isFault(one) ? [] : [one]));
    return { entries, unreadable: read.filter(isFault), cursor };
  }

  /**
   * Finds matching entries with a number below `before`, newest first. If `before` is null, begins with the newest
   * entry. `next` is the number at which the search stopped. It is null if no older entries are left.
   */
  async search(
    filter: AuditFilter,
    before: number | null,
    limit: number,
  ): Promise<ReadEntries & { readonly next: number | null }> {
    const [oldest] = (await this.#log.read(null, 1)).links;
    const end = oldest?.number ?? 1;
    const begin = Math.min(before ?? Number.POSITIVE_INFINITY, (await this.#log.newest()) + 1);
    const last = Math.max(end, begin - SEARCHED_MAX);
    const nextBelow = (number: number) => (number > end ? number : null);
    const entries: NotedEntry[] = [];
    const unreadable: AuditFault[] = [];
    for await (const link of this.#backwards(begin, last)) {
      const read = readEntry(link);
      if (isFault(read)) unreadable.push(read);
      else if (matchesFilter(read, filter)) entries.push(read);
      if (entries.length + unreadable.length === limit)
        return { entries, unreadable, next: nextBelow(link.number) };
    }
    return { entries, unreadable, next: nextBelow(last) };
  }

  /** Yields the links from `begin` (exclusive) down to `last`. */
  async *#backwards(begin: number, last: number): AsyncGenerator<AuditLink> {
    for (let to = begin; to > last; ) {
      const from = Math.max(last, to - READ_AT_ONCE);
      const { links } = await this.#log.read(String(from - 1), to - from);
      const above = to;
      yield* links.filter(({ number }) => number < above).toReversed();
      to = from;
    }
  }

  /** Checks the whole chain. `known` is the number and hash of an entry that was kept elsewhere. */
  verify(known: ChainEnd | null = null) {
    return checkAuditChain(this.#log, this.#now(), known);
  }

  /** Yields the entries about a client, oldest first and one at a time. Returns whether all of them could be read. */
  async *about({ hash }: Pick<ClientKey, 'hash'>): AsyncGenerator<readonly NotedEntry[], boolean> {
    let isWhole = true;
    for await (const link of this.#log.about(hash)) {
      const read = readEntry(link);
      if (isFault(read)) isWhole = false;
      else yield [read];
    }
    return isWhole;
  }

  /** Writes entries that say how many actions were not noted one by one. */
  async sumUp(): Promise<void> {
    if (this.#summing !== null) clearTimeout(this.#summing);
    this.#summing = null;
    const unnoted = this.#unnoted;
    this.#unnoted = new Map();
    for (const { doing, count } of unnoted.values()) {
      const sum = { ...doing, after: { more: count }, reason: 'too many to be noted one by one' };
      await this.#log.append(createAuditNote(this.#now(), sum));
    }
  }

  #isTooMuch(doing: RepeatedAction): boolean {
    const key = `${doing.action} ${doing.who}`;
    const { admitted } = this.#buckets.takeNow(key, this.#oneByOne);
    if (admitted) return false;
    const unnoted = this.#unnoted.get(key) ?? { doing, count: 0 };
    unnoted.count += 1;
    this.#unnoted.set(key, unnoted);
    // If the store is away, the next sum tries again.
    this.#summing ??= setTimeout(() => this.sumUp().catch(() => {}), SUMMED_MS).unref();
    return true;
  }
}

function matchesFilter({ at, who, action, platform }: AuditEntry, filter: AuditFilter): boolean {
  return (
    (filter.platform === null || filter.platform === platform) &&
    (filter.who === null || who.toLowerCase().includes(filter.who.toLowerCase())) &&
    (filter.action === null || filter.action === action) &&
    at >= (filter.from ?? 0) &&
    at < (filter.to ?? Number.POSITIVE_INFINITY)
  );
}

/** Reads the entry of a link. Returns a fault if the entry was changed and cannot be read. */
function readEntry(link: AuditLink): NotedEntry | AuditFault {
  const { number, hash } = link;
  const what = `Entry ${number} was changed and cannot be read; run "audit verify".`;
  const told = parseAuditLinkEntry(link);
  if (told === null) return { number, what };
  const members: Partial<Record<keyof AuditEntry, unknown>> = told.entry;
  const { who, action, platform, subject, before, after, reason } = { ...NO_AUDIT_DETAILS, ...members };
  if (!isText(who) || !isAction(action) || !(platform === null || isPlace(platform))) return { number, what };
  if (!isTextOrNull(subject) || !isTextOrNull(reason)) return { number, what };
  return { at: told.at, who, action, platform, subject, before, after, reason, number, hash };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isAction(value: unknown): value is AuditAction {
  return AUDIT_ACTIONS.some((one) => one === value);
}

function isPlace(value: unknown): value is PlatformName {
  return isText(value) && (isInstallation(value) || isPlatformName(value));
}

function isFault(read: NotedEntry | AuditFault): read is AuditFault {
  return 'what' in read;
}
