/** When a platform that reports the outcomes of its orders counts as silent. */
export const SILENCE_LIMITS = {
  /** How many reports are needed to know what is usual, and how many orders to know that reports stopped. */
  ordersMin: 50,
  /**
   * A platform that reports less than this share of its orders has no habit of reporting, so missing reports say
   * nothing.
   */
  usualShareMin: 0.2,
  /** 95 % of the reports come within the usual time. Silence lasts this many times as long. */
  times: 3,
  /** Shorter times are not distinguished, because the counts of a node reach the other nodes within a minute. */
  finestMs: 60_000,
} as const;
