/** @import { ShareInterval } from '../../answers.d.ts' */

/**
 * A figure without a unit and its interval; `–` without one.
 * @param {ShareInterval | null} estimate
 */
export function estimateText(estimate) {
  if (estimate === null) return '–';
  const { value, low, high } = estimate;
  return `${value.toFixed(4)} (${low.toFixed(4)} to ${high.toFixed(4)})`;
}
