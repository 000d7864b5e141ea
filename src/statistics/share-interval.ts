/** A share with its 95 % interval, all from 0 to 1. */
export interface ShareInterval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % point of the normal distribution: between it and its negative lie 95 % of all draws. */
export const NORMAL_975 = 1.959963984540054;

/**
 * The share `part / whole` with its interval by Wilson's score method, which stays within 0 and 1 and holds
 * for few cases, too (Wilson, Probable inference, the law of succession, and statistical inference, 1927;
 * Brown, Cai and DasGupta, Interval estimation for a binomial proportion, 2001). Null without anybody to count.
 */
export function shareInterval(part: number, whole: number): ShareInterval | null {
  if (whole === 0) return null;
  const { value, middle, half } = wilson(part, whole, NORMAL_975);
  // At the ends the two terms cancel out, but for the last digits.
  return { value, low: part === 0 ? 0 : middle - half, high: part === whole ? 1 : middle + half };
}

/** The 95 % point of the normal distribution: below it lie 95 % of all draws. */
const NORMAL_95 = 1.6448536269514722;

/** What a share is at most, with 95 % confidence: the upper end of Wilson's one-sided interval. 1 without anybody to count. */
export function shareUpperBound(part: number, whole: number): number {
  if (whole === 0) return 1;
  const { middle, half } = wilson(part, whole, NORMAL_95);
  return Math.min(1, middle + half);
}

/** The middle of Wilson's interval and half of its width, `z` standard deviations. */
function wilson(part: number, whole: number, z: number) {
  const value = part / whole;
  const shrink = 1 + z ** 2 / whole;
  return {
    value,
    middle: (value + z ** 2 / (2 * whole)) / shrink,
    half: (z / shrink) * Math.sqrt((value * (1 - value)) / whole + z ** 2 / (4 * whole ** 2)),
  };
}
