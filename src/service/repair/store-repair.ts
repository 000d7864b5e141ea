import { hash } from 'node:crypto';
import type { Audit } from '../../access/audit.ts';
import type { DecisionLookup } from '../../archive/read/decision-lookup.ts';
import { type ClientKey, clientKey } from '../../client/client-key.ts';
import type { ClientState } from '../../client/client-state.ts';
import { encodeClientState } from '../../client/state-document.ts';
import type { ReadText, StoredText, TextPlace } from '../../state/health/stored-texts.ts';
import type { Store } from '../../state/store.ts';
import { rebuiltState } from './rebuilt-state.ts';
import { whyUnreadable } from './unreadable.ts';

/** A stored text that cannot be read. */
export interface Unreadable extends TextPlace {
  readonly why: string;
  /** Whose state it is; null when it is not a state, or when no record names the client any more. */
  readonly client: ClientKey | null;
}

/** What is to take the place of a text that cannot be read. */
export interface RepairPlan extends Unreadable {
  readonly found: ReadText;
  /** Null when the text is to be removed. */
  readonly next: string | null;
  /** Of a client: what its state is to be, and what it was made from. */
  readonly rebuilt: RebuiltClient | null;
}

export interface RebuiltClient {
  readonly state: ClientState;
  /** Entries that it was made from. */
  readonly entries: number;
  /** Time of the oldest of them, epoch ms; null without any. */
  readonly since: number | null;
  /** They begin with the first contact. */
  readonly complete: boolean;
}

/** Entries of one client that a state is rebuilt from: years of an ordinary payer. */
const ENTRIES_MAX = 10_000;

/** Finds what cannot be read in a store, and mends it. */
export class StoreRepair {
  readonly #store: Store;
  readonly #decisions: DecisionLookup;
  readonly #audit: Audit;

  constructor(store: Store, decisions: DecisionLookup, audit: Audit) {
    this.#store = store;
    this.#decisions = decisions;
    this.#audit = audit;
  }

  /** Looks at every text; `onLook` is called for each. */
  async *unreadable(onLook: () => void): AsyncGenerator<Unreadable> {
    for await (const text of this.#store.texts.all()) {
      onLook();
      const found = await this.#asUnreadable(text);
      if (found !== null) yield found;
    }
  }

  /** Null when there is no such text, or nothing is wrong with it. */
  async plan(place: TextPlace, known: ClientKey | null = null): Promise<RepairPlan | null> {
    const found = await this.#store.texts.read(place);
    if (found === null) return null;
    const unreadable = await this.#asUnreadable({ ...place, text: found.text }, known);
    if (unreadable === null) return null;
    const rebuilt = place.kind === 'client' ? await this.#rebuilt(place.name, unreadable.client) : null;
    const isKnown = rebuilt !== null && (rebuilt.entries > 0 || rebuilt.state.seq > 0);
    return { ...unreadable, found, rebuilt, next: isKnown ? encodeClientState(rebuilt.state) : null };
  }

  /** False when the text has changed since the plan was made. A repair that was made is one entry of the audit. */
  async carryOut(plan: RepairPlan, who: string, reason: string): Promise<boolean> {
    const { kind, name, client, found, next } = plan;
    if (!(await this.#store.texts.replace(plan, found.stamp, next))) return false;
    const entry = {
      who,
      action: kind === 'client' ? 'client repaired' : 'document removed',
      platform: client?.platform ?? null,
      subject: client?.clientIdKey ?? name,
      before: digestOf(found.text),
      after: next === null ? null : digestOf(next),
      reason,
    } as const;
    await this.#audit.note(entry, kind === 'client' ? { hash: name } : null);
    return true;
  }

  async #asUnreadable(text: StoredText, known: ClientKey | null = null): Promise<Unreadable | null> {
    const why = whyUnreadable(text);
    if (why === null) return null;
    const { kind, name } = text;
    return { kind, name, why, client: kind === 'client' ? (known ?? (await this.#named(name))) : null };
  }

  /** The client behind a hash, as the newest entry about it tells. */
  async #named(clientHash: string): Promise<ClientKey | null> {
    const { entries } = await this.#store.historyOfClient({ hash: clientHash }, 1);
    const [entry] = entries;
    return entry === undefined ? null : clientKey(entry.platform, entry.clientIdKey);
  }

  async #rebuilt(clientHash: string, client: ClientKey | null): Promise<RebuiltClient> {
    const { entries, complete } =
      client === null ? { entries: [], complete: false } : await this.#decisions.history(client, ENTRIES_MAX);
    const state = rebuiltState(entries.toReversed());
    // A number that was given once names a decision for good.
    const seq = Math.max(state.seq, await this.#store.texts.newestDecision(clientHash));
    return { state: { ...state, seq }, entries: entries.length, since: entries.at(-1)?.at ?? null, complete };
  }
}

/** What the audit tells of a text: which one it was, and nothing that is in it. */
function digestOf(text: string) {
  return { sha256: hash('sha256', text), bytes: Buffer.byteLength(text) };
}
