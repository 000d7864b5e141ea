import type { Decision, VerdictAnswer } from '#decision/decision.ts';
import type { RecordDictionary } from '#decision/decision-record.ts';
import type { AskedAttribute, NamedPseudonym, SharingQuestions, Sightings } from '#decision/facts/fact.ts';
import type { ClientKey, ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';
import type { KnownOrder } from '#decision/payer/order.ts';
import type { RecentOrder } from '#decision/payer/outcomes.ts';
import type { PaymentNote, SightingMarks } from '#decision/payer/sighting-marks.ts';
import type { AuditLog } from './audit-log.ts';
import type { Documents } from './documents.ts';
import type {
  AnyJournalEntry,
  ErasureEntry,
  JournalCursorFormat,
  JournalEntry,
  JournalGap,
  PlacedEntry,
  UnreadableEntry,
} from './journal.ts';
import type { InstallationIdentity } from './known-installation.ts';
import type { RateBuckets } from './rate-buckets.ts';
import type { StoreHealth } from './store-health.ts';

/**
 * Keeps all state. One suite of conformance tests checks that the two adapters, `sqlite/` and `redis/`, behave alike.
 * Every method throws StoreUnavailable if the store cannot be reached in time. A call that failed in this way is
 * never applied later.
 */
export interface Store {
  /** Names the store and its place for people, without secrets. */
  readonly name: string;

  /** The installation. Its id is made at the first start and is the same on every node. */
  readonly installation: InstallationIdentity;

  /**
   * Explains why this is another store than the one that this process opened. Every call then throws
   * StoreUnavailable. Returns null if it is the known store. A change of the store, and the return of the known
   * store, is noticed within a second.
   */
  readonly refusal: () => string | null;

  /** Hashes clients under the salt that this store made at its first start. Every node has the same salt. */
  readonly clientKeys: ClientKeys;

  /** Access keys, node reports and other data that need no atomic step with a client's state. */
  readonly documents: Documents;

  /** Single texts that change by compare-and-set, such as the rollout. */
  readonly registers: Registers;

  /** The audit: what people and keys did. */
  readonly auditLog: AuditLog;

  /** The stored texts, for finding and repairing texts that cannot be read. */
  readonly texts: StoredTexts;

  /** The texts of the shared lists, of which every node keeps a copy. */
  readonly listLog: ListLog;

  /** Counts of a trial, to which all nodes add. */
  readonly tallies: Tallies;

  /** The buckets of the rate limit. If the fleet shares the store, it shares the buckets. */
  readonly rateBuckets: RateBuckets;

  /**
   * Loads a client's state, and everything on which the coming commit depends. The state of an unknown client is
   * UNKNOWN_CLIENT_STATE.
   */
  load(client: ClientKey, also?: LoadOptions): Promise<ClientFromStore>;

  /**
   * Writes all parts of a change at once, or none of them. Returns 'conflict' if the state is no longer the one that
   * `load` read. The caller then loads and decides again.
   */
  commit(change: Commit): Promise<'committed' | 'conflict'>;

  /**
   * Counts the distinct clients on a device and with a value of an attribute, by window. The asking client is
   * included.
   */
  sightings(ask: SightingsQueryAndNote): Promise<Sightings>;
  /** Notes a payment on the client's latest sightings. No verdict has to wait for the note. */
  notePayment(payment: PaymentToNote): Promise<void>;

  /**
   * Binds an Idempotency-Key of a platform to the first request with it, until RETENTION.claimMs after that request
   * last came. Returns the hash of the first request.
   */
  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string>;

  decision(decisionId: string): Promise<Decision | null>;

  /**
   * Finds decisions about an order, the newest first. Several clients may have used the orderRef. Returns at most
   * RETENTION.decisionsPerOrder. If there are that many, there may be older ones.
   */
  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]>;

  /** Finds decisions about a client with a seq below `beforeSeq`, the newest first. */
  decisionsOfClient(client: ClientKey, limit: number, beforeSeq?: number): Promise<readonly Decision[]>;

  /**
   * Reads journal entries after a cursor, in the sequence in which they were accepted. A null cursor starts at the
   * oldest kept entry. Throws UnknownCursor.
   */
  readJournal(after: string | null, limit: number): Promise<JournalPage>;

  readonly cursors: JournalCursorFormat;

  /** Returns about how many entries the journal holds, shipped or not. */
  journalLength(): Promise<number>;

  /**
   * Returns a cursor after which about this many of the newest entries follow. Returns null if the journal holds
   * hardly more entries than that.
   */
  newestCursor(entries: number): Promise<string | null>;

  /**
   * Deletes journal entries up to and including the cursor's position, because the archive has them. Deletes the gaps
   * before that position, too. From then on the decisions of these entries are kept for `decisionsHotMs` at most.
   * Before, they are kept for RETENTION.decisionMs.
   */
  trimJournal(through: string, kept: KeptAfterShippingLimits): Promise<void>;

  /**
   * Returns the erasures in the journal that trimJournal has not reached, in any sequence. Copies of the journal
   * elsewhere may still hold entries of these clients. About the newest RETENTION.unshippedErasures are kept.
   */
  unshippedErasures(): Promise<readonly PlacedEntry<ErasureEntry>[]>;

  /** Erases a client: state, decisions, orders, stored answers, sightings and journal entries. */
  erase(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void>;
  /** Says what still holds bytes of erased clients, and until when. Returns null if nothing does. */
  tracesOfErased(): Promise<string | null>;

  /**
   * The store's clock, epoch ms, if it is the clock of this machine. The clock moves when the system's clock is set.
   * Missing if the store has another clock.
   */
  readonly ownClock?: () => number;
  /**
   * How far the store's clock is ahead of this process's clock, in ms. `createStoreClock` uses it to make the clock
   * by which decisions are dated. On a store with the clock of this machine, it says by how much the clock was set in
   * the last ten minutes.
   */
  readonly clockOffsetMs: () => number;

  /** Tries a small write on every server. It never rejects. A server that fails is reported in the result. */
  check(): Promise<StoreHealth>;

  close(): Promise<void>;
}

export interface Registers {
  /** Reads a register. Returns null if nothing was ever written. */
  read(name: string): Promise<string | null>;
  /** Writes `next` only if the register still holds `expected`. Returns false if another writer was faster. */
  compareAndSet(name: string, expected: string | null, next: string): Promise<boolean>;
  /**
   * Returns the version of a followed register. Every change makes a new version, which is known within half a
   * second.
   */
  version(name: string): Promise<string>;
}

/** How much the store keeps of what the archive has already. */
export interface KeptAfterShippingLimits {
  /** About how many of the newest journal entries stay. */
  readonly journalEntries: number;
  /** How long decisions stay after they were made. */
  readonly decisionsHotMs: number;
}

export interface LoadOptions {
  /** An order to load as well, if the state does not remember it. */
  readonly orderRef?: string;
  readonly idempotencyKey?: string;
}

export interface ClientFromStore {
  readonly state: ClientState;
  /** The known reports of an order that the state does not remember. Null if the store does not know the order. */
  readonly order: KnownOrder | null;
  readonly answer: StoredAnswer | null;
  readonly stamp: LoadStamp;
}

/** The data that the adapter read and when. The commit gets it back. */
export interface LoadStamp {
  /** The stored state. Null if there was none. */
  readonly raw: string | null;
  /** The store's own clock when the state was read, epoch ms. */
  readonly storeTimeMs: number;
  /** This process's monotonic clock when the answer arrived, in ms. */
  readonly arrivedMs: number;
}

/** The answer to a verdict under an Idempotency-Key. */
export interface StoredAnswer {
  readonly answer: VerdictAnswer;
  readonly decisionId: string;
}

export interface Commit {
  readonly client: ClientKey;
  readonly stamp: LoadStamp;
  readonly state: ClientState;
  readonly entry: JournalEntry;
  /** For a verdict: the record that explains it. The journal refers to the record. */
  readonly decision?: Decision;
  /** The members that all records of a rule set share. If missing, the record repeats them. */
  readonly shape?: RecordDictionary;
  /** For an outcome report: orders that the state no longer remembers, and how long they are kept beside the state. */
  readonly displaced?: { readonly orders: readonly RecentOrder[]; readonly keptMs: number };
  /** For a verdict: the attribute values under which the client was noted, so that an erasure finds them. */
  readonly notedAttributes?: readonly NamedPseudonym[];
  /** For a verdict with an Idempotency-Key. Its answer is stored with its decision. */
  readonly idempotencyKey?: string;
}

/**
 * Asks what the store knows of a device and of attribute values. With `record`, the client and its marks are noted
 * there first.
 */
export interface SightingsQueryAndNote {
  readonly client: ClientKey;
  /** Epoch ms. */
  readonly at: number;
  /** The HMAC of the fingerprint. Null if the caller did not send one. */
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly sharing: SharingQuestions;
  /** The client's values of attributes that rules count. Missing if there are none. */
  readonly attributes?: readonly AskedAttribute[];
  /** The marks with which the client is noted. */
  readonly marks: SightingMarks;
  /**
   * Whether the client and its marks are noted on the device before the count. True for a verdict, false for a score.
   */
  readonly record: boolean;
  /**
   * Whether the verdict was noted already and is decided again. The verdict is then not counted again on its device.
   */
  readonly isRepeated?: boolean;
}

/** A client's payment. It is noted on every sighting of the client after `since` (epoch ms). */
export interface PaymentToNote extends PaymentNote {
  readonly client: ClientKey;
}

export interface JournalPage {
  readonly entries: readonly PlacedEntry<AnyJournalEntry>[];
  /**
   * The position after the last entry: an opaque text that stays valid across restarts. Null if nothing was read yet.
   */
  readonly cursor: string | null;
  /** The entries that cannot be read. Missing if there are none. A reader that continues at `cursor` skips them. */
  readonly unreadable?: readonly UnreadableEntry[];
  /**
   * The entries that were dropped between the requested cursor and the first entry, because the journal reached its
   * limit.
   */
  readonly gap: JournalGap | null;
}

/**
 * The texts of the shared lists. Each id has its newest text and the number of the change that wrote it. Nodes keep a
 * copy of all texts and ask for later changes. A removed text leaves its id and number for LIST_REMOVAL_KEPT_MS, so
 * that copies learn of the removal.
 */
export interface ListLog {
  /**
   * Writes the changes one after the other, each under its own number. Returns which of them were made. Returns null
   * if `unless` applied and nothing was written.
   */
  write(
    changes: readonly ListLogChange[],
    unless?: WritePreventingChange,
  ): Promise<readonly boolean[] | null>;
  /** Reads at most `limit` changes after a number, the oldest first. An empty copy reads the changes after 0. */
  read(after: number, limit: number): Promise<ListLogPage>;
}

export interface ListLogChange {
  readonly id: string;
  /** The new text. Null removes the stored text, if there is one. */
  readonly text: string | null;
  /** If present, the change is made only if the stored text still has this number. */
  readonly expected?: number;
}

/**
 * A change that prevents a write. The write is not made if, after change number `since`, an id that begins with
 * `idsBegin` got a text, unless that text begins with `textsBegin`.
 */
export interface WritePreventingChange {
  readonly since: number;
  readonly idsBegin: string;
  readonly textsBegin: string;
}

export interface ListLogRecord {
  readonly id: string;
  readonly version: number;
  /** Null if the text was removed. */
  readonly text: string | null;
}

export interface ListLogPage {
  readonly records: readonly ListLogRecord[];
  /** The number of the newest change. */
  readonly latest: number;
  /** A copy older than this may hold texts that were removed, and must be read again from the start. */
  readonly horizon: number;
  /** An id that changes when the store was emptied. Null until something is written. */
  readonly epoch: string | null;
}

export const LIST_REMOVAL_KEPT_MS = 7 * 24 * 3600_000;

/** The most changes that are written in one step, during which no other request is served. */
export const LIST_CHANGES_MAX = 100;

/** Counts to which many processes add, by tally and field. */
export interface Tallies {
  /** Adds a batch exactly once. A repetition of the writer's last batch changes nothing. */
  add(tally: string, batch: TallyBatch): Promise<void>;
  /** Reads the counts by field. They are empty if nobody added to the tally for RETENTION.tallyMs. */
  read(tally: string): Promise<Readonly<Record<string, number>>>;
}

export interface TallyBatch {
  readonly writer: string;
  /** A number that is higher than that of the writer's previous batch, and never 0. */
  readonly number: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** The prefix of the field that holds the number of a writer's last batch. No count has this prefix. */
const WRITER = 'writer:';

export function formatLastBatchField(writer: string): string {
  return WRITER + writer;
}

/** Picks the counts from the stored fields of a tally. */
export function toTallyCounts(
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
export function getCollectionOrRegister({ kind, name }: TextPlace): string {
  return kind === 'document' ? name.slice(0, name.indexOf('/')) : name;
}

export interface StoredText extends TextPlace {
  readonly text: string;
}

/**
 * A text with a stamp of its stored bytes. A replacement names the stamp and not the old text, because a damaged text
 * loses bytes when it is decoded and could not be compared.
 */
export interface StampedText {
  readonly text: string;
  readonly stamp: string;
}

/** The stamp of a text that does not exist, in either store. */
export const NO_TEXT_STAMP = '';

/** A page of states of clients. The name of a state is the client's hash. */
export interface StatesPage {
  readonly states: readonly Pick<StoredText, 'name' | 'text'>[];
  readonly next: string | null;
}

/** The stored texts, for repairing texts that cannot be read and for making states smaller. No request uses them. */
export interface StoredTexts {
  /** Reads every text. Texts that change during the read may be left out. */
  all(): AsyncIterable<StoredText>;

  read(place: TextPlace): Promise<StampedText | null>;

  /** Replaces a text. Removes it if `next` is null. Returns false if the text has changed since `stamp`. */
  replace(place: TextPlace, stamp: string, next: string | null): Promise<boolean>;

  /** Reads some of the clients' states. `from` is null for the first page, and `next` is null after the last. */
  states(from: string | null): Promise<StatesPage>;

  /** Replaces the state `text` without extending how long it is kept. Returns false if the state has changed. */
  replaceState(clientHash: string, text: string, next: string): Promise<boolean>;

  /** Returns the number of the client's newest stored decision. Returns 0 if there is none. */
  findNewestDecisionNumber(clientHash: string): Promise<number>;
}
