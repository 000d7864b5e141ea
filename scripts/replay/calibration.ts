/** A paymentScore that was answered before it was known whether the order is paid. */
export interface ScoredOutcome {
  /** 0 to 1. */
  readonly score: number;
  readonly paid: boolean;
}

/** The scores from `from` up to, but without, `to`; the last bin includes 1. */
export interface ReliabilityBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly meanScore: number;
  /** Share of the orders that were paid; equal to meanScore where the score can be taken at its word. */
  readonly paidShare: number;
}

const BINS = 10;

/**
 * How often a paid order had a higher score than an unpaid one, over all such pairs; equal scores count
 * half. 0.5 is guessing, 1 is perfect order. Null without a paid or without an unpaid order.
 */
export function areaUnderCurve(samples: readonly ScoredOutcome[]): number | null {
  const paidCount = samples.filter(({ paid }) => paid).length;
  const unpaidCount = samples.length - paidCount;
  if (paidCount === 0 || unpaidCount === 0) return null;
  let unpaidBelow = 0;
  let wonPairs = 0;
  for (const [, tied] of [...groupByScore(samples)].toSorted(([a], [b]) => a - b)) {
    wonPairs += tied.paid * (unpaidBelow + tied.unpaid / 2);
    unpaidBelow += tied.unpaid;
  }
  return wonPairs / (paidCount * unpaidCount);
}

/** Mean squared distance of the score from what happened (1 paid, 0 unpaid). Null without a sample. */
export function brierScore(samples: readonly ScoredOutcome[]): number | null {
  return mean(samples.map(({ score, paid }) => (score - (paid ? 1 : 0)) ** 2));
}

/** Ten equally wide bins of the score; those that nothing fell into are left out. */
export function reliability(samples: readonly ScoredOutcome[]): readonly ReliabilityBin[] {
  const bins = Map.groupBy(samples, ({ score }) => Math.min(BINS - 1, Math.floor(score * BINS)));
  return [...bins]
    .toSorted(([a], [b]) => a - b)
    .map(([bin, members]) => ({
      from: bin / BINS,
      to: (bin + 1) / BINS,
      count: members.length,
      meanScore: mean(members.map(({ score }) => score)) ?? 0,
      paidShare: mean(members.map(({ paid }) => (paid ? 1 : 0))) ?? 0,
    }));
}

function groupByScore(samples: readonly ScoredOutcome[]): Map<number, { paid: number; unpaid: number }> {
  const groups = new Map<number, { paid: number; unpaid: number }>();
  for (const { score, paid } of samples) {
    const group = groups.get(score) ?? { paid: 0, unpaid: 0 };
    group[paid ? 'paid' : 'unpaid'] += 1;
    groups.set(score, group);
  }
  return groups;
}

function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
