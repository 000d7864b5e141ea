/** Sum of signal weights, rounded, so that weights of 0.7 and 0.1 reach a threshold of 0.8. */
export function totalWeight(weights: readonly number[]): number {
  return Math.round(weights.reduce((total, weight) => total + weight, 0) * 1e6) / 1e6;
}
