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
 * Where all state lives. Two adapters, `sqlite/` and `redis/`, are held equal by one conformance suite. Every method
 * throws StoreUnavailable when the store cannot be reached in time; such a call is never applied later.
 */
export interface Store {
  /** For people: which store this is and where, without secrets. */
  readonly name: string;

  /** Which installation this is; made at the first start, and the same on every node. */
  readonly installation: KnownInstallation;

  /**
   * Why this is another store than the one that this process opened, so that every call throws StoreUnavailable; null while it
   * is not. It is noticed within a second, and so is the return of the known store.
   */
  readonly refusal: () => string | null;

  /** Under the salt that this store made at its first start; the same on every node. */
  readonly clientKeys: ClientKeys;

  /** Access keys, rollout state, node heartbeats: data that needs no atomic step with a client's state. */
  readonly documents: Documents;

  /** Single texts that change by compare-and-set: which rule set decides. */
  readonly registers: Registers;

  /** What people and keys did. */
  readonly auditLog: AuditLog;

  /** Stored texts as they are, for finding and mending what cannot be read. */
  readonly texts: StoredTexts;

  /** The records of the shared lists, which every node keeps a copy of. */
  readonly listLog: ListLog;

  /** What the nodes count together of a trial. */
  readonly tallies: Tallies;

  /** The rate limit's buckets; shared by the fleet where the store is. */
  readonly rateBuckets: RateBuckets;

  /** A client's state with what the coming commit depends on; an unknown client has UNKNOWN_CLIENT. */
  load(client: ClientKey, also?: LoadAlso): Promise<Snapshot>;

  /**
   * Writes all parts of a change at once, or nothing: 'conflict' when the state is no longer what the
   * snapshot saw, after which the caller loads and decides again.
   */
  commit(change: Change): Promise<'committed' | 'conflict'>;

  /** Distinct clients on a device and with a value of an attribute, by window; the asking client included. */
  sightings(ask: SightingsAsk): Promise<Sightings>;
  /** Notes a payment on the client's latest sightings, of which no verdict has to wait. */
  notePayment(payment: NotedPayment): Promise<void>;

  /**
   * Binds an Idempotency-Key of a platform to the first request that came with it, until RETENTION.claimMs after that
   * request came last. Returns the request's hash.
   */
  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string>;

  decision(decisionId: string): Promise<Decision | null>;

  /**
   * Decisions about an order, newest first; more than one client may have used the orderRef. At most
   * RETENTION.decisionsPerOrder: when there are as many, there may be older ones.
   */
  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]>;

  /** Decisions about a client with a seq below `beforeSeq`, newest first. */
  decisionsOfClient(client: ClientKey, limit: number, beforeSeq?: number): Promise<readonly Decision[]>;

  /** Journal entries after a cursor (null: from the oldest kept), in the order they were accepted. Throws UnknownCursor. */
  readJournal(after: string | null, limit: number): Promise<JournalPage>;

  readonly cursors: JournalCursors;

  /** How many entries the journal holds, shipped or not, about. */
  journalLength(): Promise<number>;

  /** A cursor behind which about that many of the newest entries lie; null when there are hardly more. */
  newestCursor(entries: number): Promise<string | null>;

  /**
   * Forgets journal entries up to and with the cursor's place, because they are kept elsewhere, and the gaps before
   * that place. The decisions of these entries are kept no longer than `decisionsHotMs`: until they were
   * shipped they were kept for RETENTION.decisionMs.
   */
  trimJournal(through: string, kept: KeptAfterShipping): Promise<void>;

  /**
   * Erasures in the journal before trimJournal reached them, in any order: copies elsewhere may still hold these
   * clients. About the newest RETENTION.unshippedErasures.
   */
  unshippedErasures(): Promise<readonly Placed<ErasureEntry>[]>;

  /** Forgets a client: state, decisions, orders, stored answers, sightings and journal entries. */
  erase(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void>;
  /** What still holds bytes of clients who were erased, and until when, in words; null when nothing does. */
  tracesOfErased(): Promise<string | null>;

  /** The store's clock, epoch ms, where it is this machine's; it follows the system's. */
  readonly ownClock?: () => number;
  /**
   * How far the store's clock is ahead of this process's, ms; `createStoreClock` turns it into the clock that decides. Where that
   * is this machine's, by how much it was set in the last ten minutes.
   */
  readonly clockOffsetMs: () => number;

  /** Tries a small write on every server. It never rejects: its answer says that nothing works. */
  check(): Promise<StoreHealth>;

  close(): Promise<void>;
}

export interface Registers {
  /** Null when nothing was ever written. */
  read(name: string): Promise<string | null>;
  /** Writes `next` only if the register still holds `expected`; false when somebody else was faster. */
  compareAndSet(name: string, expected: string | null, next: string): Promise<boolean>;
  /** Of a register that is followed: another text after every change, known within half a second. */
  version(name: string): Promise<string>;
}

/** What stays in the store after the archive has it. */
export interface KeptAfterShipping {
  /** Of the newest journal entries, about. */
  readonly journalEntries: number;
  readonly decisionsHotMs: number;
}

export interface LoadAlso {
  /** Load what is known of this order where the state does not remember it. */
  readonly orderRef?: string;
  readonly idempotencyKey?: string;
}

export interface Snapshot {
  readonly state: ClientState;
  /** An order that the state does not remember; null when the store does not know it. */
  readonly order: KnownOrder | null;
  readonly answer: StoredAnswer | null;
  readonly stamp: Stamp;
}

/** The adapter's own note of what it read and when; handed back with the commit. */
export interface Stamp {
  /** The state as it is stored; null when there was none. */
  readonly raw: string | null;
  /** The store's own clock when it was read, epoch ms. */
  readonly storeTimeMs: number;
  /** This process's monotonic clock when the answer arrived, ms. */
  readonly arrivedMs: number;
}

/** What a verdict answered under an Idempotency-Key. */
export interface StoredAnswer {
  readonly answer: VerdictAnswer;
  readonly decisionId: string;
}

export interface Change {
  readonly client: ClientKey;
  readonly stamp: Stamp;
  readonly state: ClientState;
  readonly entry: JournalEntry;
  /** Of a verdict: the record that explains it; the journal refers to it. */
  readonly decision?: Decision;
  /** What the records of its rule set have in common; without it the record repeats all of that. */
  readonly shape?: RecordShape;
  /** Of an outcome report: orders that the state does not remember any more, and for how long they are kept beside it. */
  readonly displaced?: { readonly orders: readonly RecentOrder[]; readonly keptMs: number };
  /** Of a verdict: the values of attributes with which the client was noted, so that an erasure finds them. */
  readonly notedAttributes?: readonly NamedPseudonym[];
  /** Of a verdict that came with an Idempotency-Key: what it answered is in its decision. */
  readonly idempotencyKey?: string;
}

export interface SightingsAsk {
  readonly client: ClientKey;
  /** Epoch ms. */
  readonly at: number;
  /** HMACs; null when the caller did not send them. */
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly sharing: SharingQuestions;
  /** The client's values of attributes that are asked for; absent: none. */
  readonly attributes?: readonly AskedAttribute[];
  /** How the client stands. */
  readonly marks: SightingMarks;
  /** Notes the client and its marks on its device first: a verdict counts, a score does not. */
  readonly record: boolean;
  /** The verdict was noted already, and is decided again: it counts no second time among those of its device. */
  readonly isRepeated?: boolean;
}

/** A client has paid: that is noted where it was seen after `since` (epoch ms). */
export interface NotedPayment extends PaymentNote {
  readonly client: ClientKey;
}

export interface JournalPage {
  readonly entries: readonly Placed<JournalRecord>[];
  /** The place after the last entry; opaque, and safe to keep across restarts. Null: nothing yet. */
  readonly cursor: string | null;
  /** What cannot be read among them; absent: all can. A reader that continues at `cursor` skips it. */
  readonly unreadable?: readonly UnreadableEntry[];
  /** What the journal's bound pushed out between the cursor that was asked with and the first entry. */
  readonly gap: JournalGap | null;
}

/**
 * The records of the shared lists, each the newest text under an id with the number of the change that wrote it.
 * Nodes keep a copy of all of them and ask for what changed since. A removed record leaves its id and number for
 * LIST_REMOVAL_KEPT_MS, so that copies learn of it.
 */
export interface ListLog {
  /**
   * Writes the changes one after the other, each under a number of its own; returns which were made. Null: `unless`
   * was the case, and nothing was written.
   */
  write(changes: readonly ListChange[], unless?: OtherText): Promise<readonly boolean[] | null>;
  /** At most `limit` changes after a number, the oldest first. An empty copy asks for those after 0. */
  read(after: number, limit: number): Promise<ListPage>;
}

export interface ListChange {
  readonly id: string;
  /** Null removes the record, if there is one. */
  readonly text: string | null;
  /** Only if the record still has this number. */
  readonly expected?: number;
}

/** A record whose id begins in this way was given a text that does not, after a change that the writer has seen. */
export interface OtherText {
  readonly since: number;
  readonly idsBegin: string;
  readonly textsBegin: string;
}

export interface ListRecord {
  readonly id: string;
  readonly version: number;
  /** Null: it was removed. */
  readonly text: string | null;
}

export interface ListPage {
  readonly records: readonly ListRecord[];
  /** The number of the newest change. */
  readonly latest: number;
  /** A copy that is not as new as this may hold what was removed, and must be read again from the start. */
  readonly horizon: number;
  /** Changes when the store was emptied; null as long as nothing was ever written. */
  readonly epoch: string | null;
}

export const LIST_REMOVAL_KEPT_MS = 7 * 24 * 3600_000;

/** Changes that are written in one step, in which no other request is served. */
export const LIST_CHANGES_MAX = 100;

/** Counts that many processes add to, by tally and field. */
export interface Tallies {
  /** Adds a batch exactly once: the one that a writer added last changes nothing when it comes again. */
  add(tally: string, batch: TallyBatch): Promise<void>;
  /** By field; empty when nobody added to the tally for RETENTION.tallyMs. */
  read(tally: string): Promise<Readonly<Record<string, number>>>;
}

export interface TallyBatch {
  readonly writer: string;
  /** Higher than that of the writer's batch before, never 0. */
  readonly number: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** The field that holds the number of a writer's last batch; no count begins so. */
const WRITER = 'writer:';

export function formatWriterField(writer: string): string {
  return WRITER + writer;
}

/** The counts among the fields of a tally, as the store gives them. */
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

/** Where a text is kept: under the client's hash, `collection/name` of a document, or the register's name. */
export interface TextPlace {
  readonly kind: TextKind;
  readonly name: string;
}

/** The collection or register that a place belongs to. */
export function getFollowedName({ kind, name }: TextPlace): string {
  return kind === 'document' ? name.slice(0, name.indexOf('/')) : name;
}

export interface StoredText extends TextPlace {
  readonly text: string;
}

/** With a stamp of the stored bytes, for a replacement: decoding a damaged text may lose some of them. */
export interface StampedText {
  readonly text: string;
  readonly stamp: string;
}

/** The stamp of a text that does not exist, in each store. */
export const NO_TEXT_STAMP = '';

/** States by the clients' hashes. */
export interface StatesPage {
  readonly states: readonly Pick<StoredText, 'name' | 'text'>[];
  readonly next: string | null;
}

/**
 * The stored texts as they are, for finding and mending what cannot be read, and for making states smaller. No
 * request is served from here.
 */
export interface StoredTexts {
  /** Every text, one after the other; what changes meanwhile may be left out. */
  all(): AsyncIterable<StoredText>;

  read(place: TextPlace): Promise<StampedText | null>;

  /** Puts `next` in the place of a text, or with null removes it. False when the text has changed since `stamp`. */
  replace(place: TextPlace, stamp: string, next: string | null): Promise<boolean>;

  /** Some of the clients' states, and where the next ones are asked for: null before the first and after the last. */
  states(from: string | null): Promise<StatesPage>;

  /** Replaces the state `text`, without keeping it longer; false when it has changed. */
  replaceState(clientHash: string, text: string, next: string): Promise<boolean>;

  /** The number of the newest decision that is kept of a client, by its hash; 0 without one. */
  newestDecision(clientHash: string): Promise<number>;
}
