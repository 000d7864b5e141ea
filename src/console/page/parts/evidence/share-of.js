/** @import { ShareInterval } from '../../answers.d.ts' */

/** The 97.5 % point of the normal distribution. */
const NORMAL_975 = 1.959963984540054;

/**
 * The share with its 95 % interval by Wilson, of counts that came without one. Null without clients.
 * @param {number} part
 * @param {number} whole
 * @returns {ShareInterval | null}
 */
export function shareOf(part, whole) {
  if (whole === 0) return null;
  const z2 = NORMAL_975 ** 2;
  const value = part / whole;
  const middle = (value + z2 / (2 * whole)) / (1 + z2 / whole);
  const half =
    (NORMAL_975 / (1 + z2 / whole)) * Math.sqrt((value * (1 - value)) / whole + z2 / (4 * whole ** 2));
  return { value, low: part === 0 ? 0 : middle - half, high: part === whole ? 1 : middle + half };
}
