/**
 * Epoch milliseconds that never jump: the wall clock at the start of the process, carried on by the
 * monotonic clock. Somebody setting the clock must not shorten or skip a payer's wait.
 */
export function systemClock(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}
