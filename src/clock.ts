/**
 * Epoch milliseconds that never jump: the wall clock at the start of the process, carried on by the
 * monotonic clock. Somebody setting the clock must not shorten or skip a payer's wait.
 */
export function systemClock(): number {
  return Math.floor(exactSystemClock());
}

/** The same with its fractions of a millisecond. */
export function exactSystemClock(): number {
  return performance.timeOrigin + performance.now();
}
