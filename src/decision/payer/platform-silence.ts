/** The limits by which a platform that usually reports the outcomes of its orders is found to have stopped. */
export const PLATFORM_SILENCE_LIMITS = {
  /** How many reports are needed to know what is usual, and how many orders to know that reports stopped. */
  ordersMin: 50,
  /**
   * A platform that reports less than this share of its orders has no habit of reporting, so missing reports say
   * nothing.
   */
  usualShareMin: 0.2,
  /**
   * The usual time is the time within which 95 % of the reports come. A platform is silent when a report has been
   * missing for more than this many times the usual time.
   */
  times: 3,
  /** Shorter times are not distinguished, because the counts of a node reach the other nodes within a minute. */
  finestMs: 60_000,
} as const;
