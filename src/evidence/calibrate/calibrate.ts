import type { PlatformName } from '../../client/client-key.ts';
import { paymentScore, type Smoothing } from '../../client/payment-score.ts';
import { type RuleSet, settingsOf } from '../../rules/rule-set.ts';
import { brierScore, calibrationError } from '../../statistics/calibration.ts';
import type { Evidence } from '../source/evidence.ts';
import type { Calibration, SmoothingQuality } from './calibration.ts';
import { bestSmoothing } from './fit-smoothing.ts';
import { differenceOf, paidShareOf, scoreFigures } from './score-figures.ts';
import { type ScoredGroup, scoredOrders } from './scored-orders.ts';

export interface CalibrateAsk {
  readonly rules: RuleSet;
  /** Whose settings are looked at; null for those that hold for all platforms. */
  readonly platform: PlatformName | null;
  /** Where the later part begins, epoch ms; null for the middle of the time. */
  readonly splitAt: number | null;
  readonly onProgress?: (done: number, of: number) => void;
}

/**
 * Finds the smoothing of paymentScore that fits the earlier part of the evidence best, and says what it is worth on
 * the later part. The prior moves only if the earlier part shows that this is better.
 */
export async function calibrate(evidence: Evidence, ask: CalibrateAsk): Promise<Calibration> {
  const { rules, platform, onProgress } = ask;
  const { span } = evidence;
  const splitAt = ask.splitAt ?? Math.round(((span.from ?? 0) + (span.to ?? 0)) / 2);
  const { groups, unknown } = await scoredOrders(evidence, splitAt, onProgress);
  const earlier = groups.filter(({ later }) => !later);
  const later = groups.filter((group) => group.later);
  const now = platform === null ? rules.settings.smoothing : settingsOf(rules, platform).smoothing;
  const best = fitted(earlier, now);
  const change =
    best === null
      ? null
      : {
          brier: differenceOf(later, brierScore, scoringOf(best), scoringOf(now)),
          calibrationError: differenceOf(later, calibrationError, scoringOf(best), scoringOf(now)),
        };
  const newOnes = later.filter(({ finalBefore }) => finalBefore === 0);
  return {
    kind: 'calibration',
    version: rules.version,
    digest: rules.digest,
    ...span,
    splitAt,
    orders: {
      earlier: ordersOf(earlier),
      later: ordersOf(later),
      unknown: unknown.earlier + unknown.later,
    },
    before: smoothingQuality(later, now),
    after: best === null ? null : smoothingQuality(later, best),
    change,
    holds: change !== null && change.brier !== null && change.brier.high < 0,
    newClients: {
      paid: sumOf(newOnes, 'paid'),
      unpaid: sumOf(newOnes, 'unpaid'),
      paidShare: paidShareOf(newOnes),
    },
    byVersion: [...Map.groupBy(groups, ({ ruleVersion }) => ruleVersion)].map(([version, some]) => ({
      version,
      ...scoreFigures(some, ({ recordedScore }) => recordedScore),
    })),
  };
}

/** The best weight with the prior as it is, or prior and weight where both together are better beyond chance. */
function fitted(earlier: readonly ScoredGroup[], now: Smoothing): Smoothing | null {
  const weightOnly = bestSmoothing(earlier, now.prior);
  const both = bestSmoothing(earlier, null);
  if (weightOnly === null || both === null) return both;
  const gain = differenceOf(earlier, brierScore, scoringOf(both), scoringOf(weightOnly));
  return gain !== null && gain.high < 0 ? both : weightOnly;
}

function smoothingQuality(groups: readonly ScoredGroup[], smoothing: Smoothing): SmoothingQuality {
  const known = groups.filter(({ finalBefore }) => finalBefore > 0);
  return {
    smoothing,
    ...scoreFigures(groups, scoringOf(smoothing)),
    calibrationErrorOfKnown: scoreFigures(known, scoringOf(smoothing)).calibrationError,
  };
}

function scoringOf(smoothing: Smoothing): (group: ScoredGroup) => number {
  return ({ paidBefore, finalBefore }) => paymentScore(paidBefore, finalBefore, smoothing);
}

function ordersOf(groups: readonly ScoredGroup[]): number {
  return sumOf(groups, 'paid') + sumOf(groups, 'unpaid');
}

function sumOf(groups: readonly ScoredGroup[], what: 'paid' | 'unpaid'): number {
  return groups.reduce((sum, group) => sum + group[what], 0);
}
