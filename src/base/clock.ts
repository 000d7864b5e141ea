/** The system's time in epoch ms. It jumps when somebody sets the clock, or when the machine was suspended. */
export function readSystemClock(): number {
  return Date.now();
}

/**
 * Returns epoch ms with fractions that never jump: the wall clock at the start of the process plus the time of the
 * monotonic clock. Measurements within this process use it, such as the offset of another clock.
 */
export function readExactClock(): number {
  return performance.timeOrigin + performance.now();
}
