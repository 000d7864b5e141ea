/** Epoch milliseconds as the system has them: they jump when somebody sets its clock, or the machine was suspended. */
export function systemClock(): number {
  return Date.now();
}

/**
 * Epoch milliseconds, with fractions, that never jump: the wall clock at the start of the process, carried on by the
 * monotonic clock. For what is measured within this process, such as the offset of another clock.
 */
export function exactSystemClock(): number {
  return performance.timeOrigin + performance.now();
}
