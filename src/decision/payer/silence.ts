/** When a platform that reports what becomes of its orders counts as silent. */
export const SILENCE = {
  /** So many reports say what is usual, and as many orders that nothing comes any more. */
  ordersMin: 50,
  /** Who reports of less than this share of the orders does not usually report, and that nothing comes is no news. */
  usualShareMin: 0.2,
  /** Within the usual time 95 % of the reports come; silence lasts that many times as long. */
  times: 3,
  /** Shorter times are not told apart: what a node sees reaches the others within a minute. */
  finestMs: 60_000,
} as const;
