import { DAY_MS } from '#base/duration.ts';

/** How long data is kept, and how much of it. The operator's guide quotes these limits. */
export const RETENTION = {
  /** A client's state, after its last change. */
  stateMs: 400 * DAY_MS,
  /**
   * Decisions with their index, and orders that a state no longer remembers, unless they are shipped to the archive
   * before.
   */
  decisionMs: 90 * DAY_MS,
  /** Orders that a state no longer remembers, if an archive can be asked for them later. */
  displacedOrderMs: 3 * DAY_MS,
  /** The shapes of decision records. A shape in use is stored again. */
  shapeMs: 180 * DAY_MS,
  /**
   * Answers under an Idempotency-Key, and the claim of such a key. The claim is kept longer, because the answer comes
   * after it.
   */
  idempotencyMs: DAY_MS,
  claimMs: DAY_MS + 60_000,
  /** Sightings of clients on a fingerprint or an IP. */
  sightingMs: 7 * DAY_MS,
  /** The counts of a stage of a trial, after the last count. */
  tallyMs: 7 * DAY_MS,
  /** The most decisions that are listed for one order. */
  decisionsPerOrder: 100,
  /**
   * The most decisions in one key of Redis that finds decisions by their orders. At a thousand verdicts a second, a
   * key has some five decisions of one day.
   */
  decisionsPerBucket: 10_000,
  /** The most orders, answers and devices in the notes of one client. */
  notesPerClient: 10_000,
  /** Entries of the audit. */
  auditMs: 400 * DAY_MS,
  /**
   * About how many entries the whole journal keeps. Older ones are dropped even if nobody has shipped them. The
   * number is enough for an hour of a thousand verdicts a second, each with a score and an outcome.
   */
  journalEntries: 12_000_000,
  /** About how many entries stay even if the store has little room. Beyond that, each new entry drops an old one. */
  journalEntriesMin: 1_000_000,
  /**
   * About how many entries stay in the journal after they were shipped, for the feed and for nodes that learn of a
   * segment late.
   */
  journalLookBackEntries: 100_000,
  /** About how many erasures may wait to be shipped. If nobody ships, the oldest are dropped. */
  unshippedErasures: 64_000,
} as const;
