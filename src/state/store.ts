import type { Decision, VerdictAnswer } from '#decision/decision.ts';
import type { RecordShape } from '#decision/decision-record.ts';
import type { AskedAttribute, NamedPseudonym, SharingQuestions, Sightings } from '#decision/facts/fact.ts';
import type { ClientKey, ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';
import type { KnownOrder } from '#decision/payer/order.ts';
import type { RecentOrder } from '#decision/payer/outcomes.ts';
import type { PaymentNote, SightingMarks } from '#decision/payer/sighting-marks.ts';
import type { AuditLog } from './audit-log.ts';
import type { Documents } from './documents.ts';
import type {
  ErasureEntry,
  JournalCursors,
  JournalEntry,
  JournalGap,
  JournalRecord,
  Placed,
  UnreadableEntry,
} from './journal.ts';
import type { KnownInstallation } from './known-installation.ts';
import type { RateBuckets } from './rate-buckets.ts';
import type { StoreHealth } from './store-health.ts';

/**
 * Where all state lives. One conformance suite holds the two adapters, `sqlite/` and `redis/`, to the same behaviour.
 * Every method throws StoreUnavailable when the store cannot be reached in time. A call that failed so is never
 * applied later.
 */
export interface Store {
  /** Names the store and its place for people, without secrets. */
  readonly name: string;

  /** The installation. Its id is made at the first start and is the same on every node. */
  readonly installation: KnownInstallation;

  /**
   * Explains why this is another store than the one that this process opened; every call then throws
   * StoreUnavailable. Returns null while it is the known store. A change, and the return of the known store, is
   * noticed within a second.
   */
  readonly refusal: () => string | null;

  /** Hashes clients under the salt that this store made at its first start. Every node has the same. */
  readonly clientKeys: ClientKeys;

  /** Access keys, node reports and other data that need no atomic step with a client's state. */
  readonly documents: Documents;

  /** Single texts that change by compare-and-set, such as the rollout. */
  readonly registers: Registers;

  /** The audit: what people and keys did. */
  readonly auditLog: AuditLog;

  /** The stored texts, for finding and repairing those that cannot be read. */
  readonly texts: StoredTexts;

  /** The records of the shared lists, of which every node keeps a copy. */
  readonly listLog: ListLog;

  /** Counts of a trial that all nodes add to. */
  readonly tallies: Tallies;

  /** The buckets of the rate limit. The fleet shares them where it shares the store. */
  readonly rateBuckets: RateBuckets;

  /** Loads a client's state, and what the coming commit depends on. An unknown client has UNKNOWN_CLIENT. */
  load(client: ClientKey, also?: LoadAlso): Promise<Snapshot>;

  /**
   * Writes all parts of a change at once or none of them. Returns 'conflict' when the state is no longer the one in
   * the snapshot. The caller then loads and decides again.
   */
  commit(change: Change): Promise<'committed' | 'conflict'>;

  /**
   * Counts the distinct clients on a device and with a value of an attribute, by window. The asking client is
   * included.
   */
  sightings(ask: SightingsAsk): Promise<Sightings>;
  /** Notes a payment on the client's latest sightings. No verdict has to wait for it. */
  notePayment(payment: NotedPayment): Promise<void>;

  /**
   * Binds an Idempotency-Key of a platform to the first request that came with it, until RETENTION.claimMs after that
   * request last came. Returns the hash of the first request.
   */
  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string>;

  decision(decisionId: string): Promise<Decision | null>;

  /**
   * Finds decisions about an order, the newest first. Several clients may have used the orderRef. Returns at most
   * RETENTION.decisionsPerOrder; with that many there may be older ones.
   */
  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]>;

  /** Finds decisions about a client with a seq below `beforeSeq`, the newest first. */
  decisionsOfClient(client: ClientKey, limit: number, beforeSeq?: number): Promise<readonly Decision[]>;

  /**
   * Reads journal entries after a cursor in the order in which they were accepted. A null cursor starts at the oldest
   * kept entry. Throws UnknownCursor.
   */
  readJournal(after: string | null, limit: number): Promise<JournalPage>;

  readonly cursors: JournalCursors;

  /** Returns about how many entries the journal holds, shipped or not. */
  journalLength(): Promise<number>;

  /**
   * Returns a cursor after which about this many of the newest entries follow. Returns null if there are hardly
   * more.
   */
  newestCursor(entries: number): Promise<string | null>;

  /**
   * Deletes journal entries up to and including the cursor's place, because the archive has them, and the gaps before
   * that place. From then on their decisions are kept for `decisionsHotMs` at most; before, they are kept for
   * RETENTION.decisionMs.
   */
  trimJournal(through: string, kept: KeptAfterShipping): Promise<void>;

  /**
   * Returns the erasures in the journal that trimJournal has not reached, in any order: copies elsewhere may still
   * hold these clients. About the newest RETENTION.unshippedErasures are kept.
   */
  unshippedErasures(): Promise<readonly Placed<ErasureEntry>[]>;

  /** Erases a client: state, decisions, orders, stored answers, sightings and journal entries. */
  erase(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void>;
  /** Says what still holds bytes of erased clients, and until when. Returns null if nothing does. */
  tracesOfErased(): Promise<string | null>;

  /** The store's clock, epoch ms, where it is this machine's. It follows the system's clock. */
  readonly ownClock?: () => number;
  /**
   * How far the store's clock is ahead of this process's, ms. `createStoreClock` makes the clock that decides from
   * it. Where the store's clock is this machine's, it is by how much that clock was set in the last ten minutes.
   */
  readonly clockOffsetMs: () => number;

  /** Tries a small write on every server. It never rejects; a server that fails is reported in the result. */
  check(): Promise<StoreHealth>;

  close(): Promise<void>;
}

export interface Registers {
  /** Returns null if nothing was ever written. */
  read(name: string): Promise<string | null>;
  /** Writes `next` only if the register still holds `expected`. Returns false if somebody else was faster. */
  compareAndSet(name: string, expected: string | null, next: string): Promise<boolean>;
  /**
   * Returns the version of a followed register. Every change makes a new version, which is known within half a
   * second.
   */
  version(name: string): Promise<string>;
}

/** What the store keeps after the archive has it. */
export interface KeptAfterShipping {
  /** About how many of the newest journal entries stay. */
  readonly journalEntries: number;
  readonly decisionsHotMs: number;
}

export interface LoadAlso {
  /** Also loads what is known of this order when the state does not remember it. */
  readonly orderRef?: string;
  readonly idempotencyKey?: string;
}

export interface Snapshot {
  readonly state: ClientState;
  /** An order that the state does not remember. Null if the store does not know it. */
  readonly order: KnownOrder | null;
  readonly answer: StoredAnswer | null;
  readonly stamp: Stamp;
}

/** What the adapter read and when. The commit gets it back. */
export interface Stamp {
  /** The stored state. Null if there was none. */
  readonly raw: string | null;
  /** The store's own clock when the state was read, epoch ms. */
  readonly storeTimeMs: number;
  /** This process's monotonic clock when the answer arrived, ms. */
  readonly arrivedMs: number;
}

/** The answer to a verdict under an Idempotency-Key. */
export interface StoredAnswer {
  readonly answer: VerdictAnswer;
  readonly decisionId: string;
}

export interface Change {
  readonly client: ClientKey;
  readonly stamp: Stamp;
  readonly state: ClientState;
  readonly entry: JournalEntry;
  /** For a verdict: the record that explains it. The journal refers to it. */
  readonly decision?: Decision;
  /** The members that all records of a rule set share. Without it the record repeats them. */
  readonly shape?: RecordShape;
  /** For an outcome report: orders that the state no longer remembers, and how long they are kept beside it. */
  readonly displaced?: { readonly orders: readonly RecentOrder[]; readonly keptMs: number };
  /** For a verdict: the attribute values under which the client was noted, so that an erasure finds them. */
  readonly notedAttributes?: readonly NamedPseudonym[];
  /** For a verdict with an Idempotency-Key. Its answer is stored with its decision. */
  readonly idempotencyKey?: string;
}

export interface SightingsAsk {
  readonly client: ClientKey;
  /** Epoch ms. */
  readonly at: number;
  /** HMACs. Null if the caller did not send them. */
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly sharing: SharingQuestions;
  /** The client's values of attributes that rules count. Missing if there are none. */
  readonly attributes?: readonly AskedAttribute[];
  /** The marks with which the client is noted. */
  readonly marks: SightingMarks;
  /** Whether the client and its marks are noted on the device first. A verdict is, a score is not. */
  readonly record: boolean;
  /**
   * Whether the verdict was noted already and is decided again. It then does not count again among the verdicts of
   * its device.
   */
  readonly isRepeated?: boolean;
}

/** A client's payment, which is noted where the client was seen after `since` (epoch ms). */
export interface NotedPayment extends PaymentNote {
  readonly client: ClientKey;
}

export interface JournalPage {
  readonly entries: readonly Placed<JournalRecord>[];
  /**
   * The place after the last entry: an opaque text that stays valid across restarts. Null if nothing was read yet.
   */
  readonly cursor: string | null;
  /** The entries that cannot be read, absent when there are none. A reader that continues at `cursor` skips them. */
  readonly unreadable?: readonly UnreadableEntry[];
  /** The entries that were dropped by the journal's bound between the requested cursor and the first entry. */
  readonly gap: JournalGap | null;
}

/**
 * The records of the shared lists. Each id has its newest text and the number of the change that wrote it. Nodes keep
 * a copy of all records and ask for later changes. A removed record leaves its id and number for
 * LIST_REMOVAL_KEPT_MS, so that copies learn of the removal.
 */
export interface ListLog {
  /**
   * Writes the changes one after the other, each under its own number. Returns which of them were made, or null when
   * `unless` applied and nothing was written.
   */
  write(changes: readonly ListChange[], unless?: OtherText): Promise<readonly boolean[] | null>;
  /** Reads at most `limit` changes after a number, the oldest first. An empty copy reads those after 0. */
  read(after: number, limit: number): Promise<ListPage>;
}

export interface ListChange {
  readonly id: string;
  /** Null removes the record, if there is one. */
  readonly text: string | null;
  /** The change is made only if the record still has this number. */
  readonly expected?: number;
}

/**
 * A condition that prevents a write: after change number `since`, a record whose id begins with `idsBegin` got a text
 * that does not begin with `textsBegin`.
 */
export interface OtherText {
  readonly since: number;
  readonly idsBegin: string;
  readonly textsBegin: string;
}

export interface ListRecord {
  readonly id: string;
  readonly version: number;
  /** Null if the record was removed. */
  readonly text: string | null;
}

export interface ListPage {
  readonly records: readonly ListRecord[];
  /** The number of the newest change. */
  readonly latest: number;
  /** A copy older than this may hold records that were removed, and must be read again from the start. */
  readonly horizon: number;
  /** Changes when the store was emptied. Null until something is written. */
  readonly epoch: string | null;
}

export const LIST_REMOVAL_KEPT_MS = 7 * 24 * 3600_000;

/** The most changes that are written in one step, during which no other request is served. */
export const LIST_CHANGES_MAX = 100;

/** Counts that many processes add to, by tally and field. */
export interface Tallies {
  /** Adds a batch exactly once: repeating the writer's last batch changes nothing. */
  add(tally: string, batch: TallyBatch): Promise<void>;
  /** Reads the counts by field. They are empty when nobody added to the tally for RETENTION.tallyMs. */
  read(tally: string): Promise<Readonly<Record<string, number>>>;
}

export interface TallyBatch {
  readonly writer: string;
  /** Higher than the number of the writer's previous batch, and never 0. */
  readonly number: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** The prefix of the field that holds the number of a writer's last batch. No count has it. */
const WRITER = 'writer:';

export function formatWriterField(writer: string): string {
  return WRITER + writer;
}

/** Picks the counts from the stored fields of a tally. */
export function readTallyCounts(
  fields: Iterable<readonly [string, unknown]>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...fields]
      .filter(([field]) => !field.startsWith(WRITER))
      .map(([field, count]) => [field, Number(count)]),
  );
}

export const TEXT_KINDS = ['client', 'document', 'register'] as const;

export type TextKind = (typeof TEXT_KINDS)[number];

/**
 * Where a text is stored: under the client's hash, as `collection/name` of a document, or under the register's name.
 */
export interface TextPlace {
  readonly kind: TextKind;
  readonly name: string;
}

/** Returns the collection or register that a place belongs to. */
export function getFollowedName({ kind, name }: TextPlace): string {
  return kind === 'document' ? name.slice(0, name.indexOf('/')) : name;
}

export interface StoredText extends TextPlace {
  readonly text: string;
}

/**
 * A text with a stamp of its stored bytes, which a replacement names. Decoding a damaged text may lose some of its
 * bytes.
 */
export interface StampedText {
  readonly text: string;
  readonly stamp: string;
}

/** The stamp of a text that does not exist, in either store. */
export const NO_TEXT_STAMP = '';

/** States by client hash. */
export interface StatesPage {
  readonly states: readonly Pick<StoredText, 'name' | 'text'>[];
  readonly next: string | null;
}

/**
 * The stored texts, for repairing those that cannot be read and for making states smaller. No request is served from
 * here.
 */
export interface StoredTexts {
  /** Reads every text. Texts that change meanwhile may be left out. */
  all(): AsyncIterable<StoredText>;

  read(place: TextPlace): Promise<StampedText | null>;

  /** Replaces a text, or removes it when `next` is null. Returns false if the text has changed since `stamp`. */
  replace(place: TextPlace, stamp: string, next: string | null): Promise<boolean>;

  /** Reads some of the clients' states. `from` is null for the first page, and `next` is null after the last. */
  states(from: string | null): Promise<StatesPage>;

  /** Replaces the state `text` without extending how long it is kept. Returns false if the state has changed. */
  replaceState(clientHash: string, text: string, next: string): Promise<boolean>;

  /** Returns the number of the client's newest stored decision, and 0 when there is none. */
  newestDecision(clientHash: string): Promise<number>;
}
