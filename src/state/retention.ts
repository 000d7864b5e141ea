import { DAY_MS } from '#base/duration.ts';

/** How long everything is kept, and how much of it. The operator's guide quotes these. */
export const RETENTION = {
  /** A client's state, after the last change to it. */
  stateMs: 400 * DAY_MS,
  /** Decisions with their index, and orders that a state does not remember any more, unless they are shipped before. */
  decisionMs: 90 * DAY_MS,
  /** Orders that a state does not remember any more, where the archive is asked for them after that. */
  displacedOrderMs: 3 * DAY_MS,
  /** What decision records have in common; it is stored again while it is in use. */
  shapeMs: 180 * DAY_MS,
  /**
   * How long answers under an Idempotency-Key are stored, and the claim of the key: longer, because the answer comes
   * after the claim.
   */
  idempotencyMs: DAY_MS,
  claimMs: DAY_MS + 60_000,
  /** Who was seen on a fingerprint or IP. */
  sightingMs: 7 * DAY_MS,
  /** What was counted of a stage of a trial, after the last count. */
  tallyMs: 7 * DAY_MS,
  /** Decisions listed for one order. */
  decisionsPerOrder: 100,
  /** Decisions that are found by the orders of one key in Redis: some five at a thousand verdicts a second. */
  decisionsPerBucket: 10_000,
  /** Orders, answers and devices that are noted for one client. */
  notesPerClient: 10_000,
  /** Entries of the audit. */
  auditMs: 400 * DAY_MS,
  /**
   * About how many entries the whole journal keeps; older ones are pushed out even when nobody has shipped them. It is
   * an hour of a thousand verdicts a second, with a score and an outcome each.
   */
  journalEntries: 12_000_000,
  /** How many stay even where the store has little room left; beyond that each new one pushes an older one out. */
  journalEntriesMin: 1_000_000,
  /** Entries that stay in the journal after they were shipped, about: for the feed, and nodes that hear of a segment late. */
  journalLookBackEntries: 100_000,
  /** About how many erasures may wait to be shipped; where nobody ships, the oldest go. */
  unshippedErasures: 64_000,
} as const;
