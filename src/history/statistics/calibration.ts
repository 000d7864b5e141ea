/** Counts of the orders that had the same paymentScore: how many were paid, and how many were not. */
export interface ScoreCounts {
  /** The score, from 0 to 1. */
  readonly score: number;
  readonly paid: number;
  readonly unpaid: number;
}

const BINS = 10;

/**
 * Computes the area under the ROC curve: over all pairs of a paid and an unpaid order, the share in which the paid
 * order had the higher score. A pair with equal scores counts half (Hanley and McNeil, The meaning and use of the
 * area under a ROC curve, 1982). 0.5 is guessing, and 1 is perfect. Returns null if there is no paid or no unpaid
 * order.
 */
export function computeAreaUnderCurve(scored: readonly ScoreCounts[]): number | null {
  let unpaidBelow = 0;
  let paidCount = 0;
  let wonPairs = 0;
  for (const { paid, unpaid } of mergeCountsOfEqualScores(scored)) {
    wonPairs += paid * (unpaidBelow + unpaid / 2);
    unpaidBelow += unpaid;
    paidCount += paid;
  }
  return paidCount === 0 || unpaidBelow === 0 ? null : wonPairs / (paidCount * unpaidBelow);
}

/**
 * Computes the mean squared distance between the score and the outcome, which is 1 for paid and 0 for unpaid (Brier,
 * Verification of forecasts expressed in terms of probability, 1950). Returns null if there are no orders.
 */
export function computeBrierScore(scored: readonly ScoreCounts[]): number | null {
  const errors = sumOver(scored, ({ score, paid, unpaid }) => paid * (1 - score) ** 2 + unpaid * score ** 2);
  const orders = sumOver(scored, countKnown);
  return orders === 0 ? null : errors / orders;
}

export function getBinIndexOfScore(score: number): number {
  return Math.min(BINS - 1, Math.floor(score * BINS));
}

/**
 * Groups the orders into ten bins of equal width by score, and omits empty bins. A bin has the scores from `from` up
 * to, but without, `to`. The last bin also has the score 1. For a calibrated score, the paid share of a bin equals
 * its mean score.
 */
export function computeReliability(scored: readonly ScoreCounts[]) {
  const withOrders = scored.filter((some) => countKnown(some) > 0);
  const bins = Map.groupBy(withOrders, ({ score }) => getBinIndexOfScore(score));
  return [...bins]
    .toSorted(([a], [b]) => a - b)
    .map(([bin, members]) => {
      const count = sumOver(members, countKnown);
      return {
        from: bin / BINS,
        to: (bin + 1) / BINS,
        count,
        meanScore: sumOver(members, (some) => some.score * countKnown(some)) / count,
        paidShare: sumOver(members, ({ paid }) => paid) / count,
      };
    });
}

export type ReliabilityBin = ReturnType<typeof computeReliability>[number];

/**
 * Computes for each bin how far its scores lie above its paid share, weighted by the bin's orders. The absolute
 * values add up to the expected calibration error (Naeini, Cooper and Hauskrecht, Obtaining well calibrated
 * probabilities using Bayesian binning, 2015). If all are 0, the score can be read as a probability. Returns null if
 * there are no orders.
 */
export function computeCalibrationGapsByBin(scored: readonly ScoreCounts[]): readonly number[] | null {
  const orders = sumOver(scored, countKnown);
  if (orders === 0) return null;
  const gaps = Array.from({ length: BINS }, () => 0);
  for (const { score, paid, unpaid } of scored) {
    const bin = getBinIndexOfScore(score);
    gaps[bin] = (gaps[bin] ?? 0) + (score * (paid + unpaid) - paid) / orders;
  }
  return gaps;
}

/** Merges the counts of equal scores and sorts them from the lowest score to the highest. */
export function mergeCountsOfEqualScores(scored: readonly ScoreCounts[]): readonly ScoreCounts[] {
  return [...Map.groupBy(scored, ({ score }) => score)]
    .toSorted(([a], [b]) => a - b)
    .map(([score, same]) => ({
      score,
      paid: sumOver(same, ({ paid }) => paid),
      unpaid: sumOver(same, ({ unpaid }) => unpaid),
    }));
}

function countKnown({ paid, unpaid }: ScoreCounts): number {
  return paid + unpaid;
}

function sumOver<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
