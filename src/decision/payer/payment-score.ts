/** How the share of paid outcomes is smoothed: with `weight` imaginary outcomes at the rate `prior`. */
export interface Smoothing {
  /** Between 0 and 1. */
  readonly prior: number;
  /** Above 0. */
  readonly weight: number;
}

/**
 * Computes the probability of a successful payment with 4 decimals (interface, section 2.2, paymentScore rules). A
 * client without a final outcome has exactly 0.5, whatever the prior, because the interface says so. The probability
 * never falls when a paid outcome is added.
 */
export function computePaymentScore(paidCount: number, finalCount: number, smoothing: Smoothing): number {
  if (finalCount === 0) return 0.5;
  const ratio = (paidCount + smoothing.weight * smoothing.prior) / (finalCount + smoothing.weight);
  return Math.round(ratio * 10_000) / 10_000;
}

export function formatPaymentScore(score: number): string {
  return score.toFixed(4);
}
