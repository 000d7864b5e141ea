/**
 * Returns the system's time in epoch ms. The time jumps when somebody sets the clock, or when the machine was
 * suspended.
 */
export function readSystemClock(): number {
  return Date.now();
}

/**
 * Returns epoch ms with fractions. The result never jumps, because it is the wall clock at the start of the process
 * plus the monotonic clock since then. Measurements within this process use this clock, for example to find the
 * offset of another clock.
 */
export function readExactClock(): number {
  return performance.timeOrigin + performance.now();
}
