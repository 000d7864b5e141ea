import { paymentScore, type Smoothing } from '../../client/payment-score.ts';
import { brierScore, type ScoredOrders } from '../../statistics/calibration.ts';
import type { ScoredGroup } from './scored-orders.ts';

/** Round numbers, because they are written into a file that people read. */
const PRIORS = Array.from({ length: 21 }, (_, step) => step / 20);
const WEIGHTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50];

/** The orders by the score that a smoothing gives their clients. */
export function scoredBy(groups: readonly ScoredGroup[], smoothing: Smoothing): readonly ScoredOrders[] {
  return groups.map(({ paidBefore, finalBefore, paid, unpaid }) => ({
    score: paymentScore(paidBefore, finalBefore, smoothing),
    paid,
    unpaid,
  }));
}

/**
 * Of the smoothings that keep to the interface, the one whose scores lie nearest to what happened, by Brier score.
 * `prior` is kept when it is given. Null without an order.
 */
export function bestSmoothing(groups: readonly ScoredGroup[], prior: number | null): Smoothing | null {
  const all = (prior === null ? PRIORS : [prior]).flatMap((one) =>
    WEIGHTS.map((weight) => ({ prior: one, weight })),
  );
  // Thousands of groups tell of some hundred histories.
  const histories = sameHistory(groups);
  let best: { readonly smoothing: Smoothing; readonly brier: number } | null = null;
  for (const smoothing of all.filter(keepsInterface)) {
    const brier = brierScore(scoredBy(histories, smoothing));
    if (brier !== null && (best === null || brier < best.brier)) best = { smoothing, brier };
  }
  return best?.smoothing ?? null;
}

/**
 * Whether a client's first paid order does not lower the 0.5000 that every new client has, nor its first unpaid
 * one raise it: from there on the formula itself never does.
 */
export function keepsInterface({ prior, weight }: Smoothing): boolean {
  return weight * Math.abs(prior - 0.5) <= 0.5;
}

function sameHistory(groups: readonly ScoredGroup[]): readonly ScoredGroup[] {
  const byHistory = Map.groupBy(groups, ({ paidBefore, finalBefore }) => `${paidBefore}/${finalBefore}`);
  return [...byHistory.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const sum = (of: 'paid' | 'unpaid') => same.reduce((total, group) => total + group[of], 0);
    return [{ ...first, paid: sum('paid'), unpaid: sum('unpaid') }];
  });
}
