import { type DuckRow, numberOf, numbersOf, textOf } from '../../archive/duck.ts';
import { ORDER_KEY_SQL } from '../../archive/order-fate.ts';
import type { PlatformName } from '../../client/client-key.ts';
import { paymentScore, type Smoothing } from '../../client/payment-score.ts';
import { type RuleSet, settingsOf } from '../../rules/rule-set.ts';
import { brierScore, calibrationError, type ScoredOrders } from '../../statistics/calibration.ts';
import type { Evidence } from '../source/evidence.ts';
import { clusterOf } from '../source/order-clusters.ts';
import { clientPasses } from '../source/shared-devices.ts';
import type { Calibration, SmoothingQuality } from './calibration.ts';
import { differenceOf, type JudgedOrders, paidShareOf, scoreFigures } from './score-figures.ts';

interface CalibrateAsk {
  readonly rules: RuleSet;
  /** The platform whose settings are calibrated; null for those of all platforms. */
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
 * Of the smoothings that the interface allows, the one whose scores lie nearest to the outcomes, by Brier score. A
 * given `prior` is kept. Null without an order.
 */
export function bestSmoothing(groups: readonly ScoredGroup[], prior: number | null): Smoothing | null {
  const all = (prior === null ? PRIORS : [prior]).flatMap((one) =>
    WEIGHTS.map((weight) => ({ prior: one, weight })),
  );
  // Thousands of groups come from some hundred histories.
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

/** Orders of the same kind: what was known of their clients when they were first asked for, and how they ended. */
export interface ScoredGroup extends JudgedOrders {
  /** First asked for at the split or after it. */
  readonly later: boolean;
  readonly ruleVersion: string;
  readonly recordedScore: number;
  readonly paidBefore: number;
  readonly finalBefore: number;
}

/** How many orders have no known outcome, and which fates the others have. */
interface ScoredEvidence {
  readonly groups: readonly ScoredGroup[];
  /** How many were first asked for before the split, and since. */
  readonly unknown: { readonly earlier: number; readonly later: number };
}

/** Decisions of a pass over the evidence. */
const PASS_DECISIONS_MAX = 1_000_000;

/**
 * The orders that ended paid or unpaid, by what their first decision knew of the client. An order that began before
 * the evidence counts from its first decision within it.
 */
export async function scoredOrders(
  { duck, span }: Evidence,
  splitAt: number,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<ScoredEvidence> {
  const groups: ScoredGroup[] = [];
  const unknown = { earlier: 0, later: 0 };
  const passes = clientPasses(span.decisions, PASS_DECISIONS_MAX);
  for (const [pass, clients] of passes.entries()) {
    onProgress(pass, passes.length);
    const rows = await duck.rows(`
      SELECT cluster, first_at >= make_timestamp_ms(${splitAt}) AS later, rule_version, "recordedScore", "paidBefore",
        "finalBefore", granted, count(*) FILTER (fate = 'PAID') AS paid, count(*) FILTER (fate = 'UNPAID') AS unpaid,
        count(*) FILTER (fate = 'UNKNOWN') AS unknown
      FROM (
        SELECT ${ORDER_KEY_SQL} AS order_key, ${clusterOf('any_value(client_hash)')} AS cluster,
          min(decided_at) AS first_at, arg_min(rule_version, seq) AS rule_version,
          arg_min(payment_score, seq)::DOUBLE AS "recordedScore",
          arg_min(fact_paidCount, seq) AS "paidBefore", arg_min(fact_finalCount, seq) AS "finalBefore"
        FROM decisions WHERE ${clients} GROUP BY order_key
      ) JOIN (SELECT order_key, fate, granted FROM orders WHERE ${clients}) USING (order_key)
      GROUP BY ALL ORDER BY ALL`);
    for (const row of rows) {
      const group = groupOf(row);
      unknown[group.later ? 'later' : 'earlier'] += numberOf(row['unknown']) ?? 0;
      if (group.paid + group.unpaid > 0) groups.push(group);
    }
  }
  return { groups, unknown };
}

function groupOf(row: DuckRow): ScoredGroup {
  const numbers = { cluster: 0, recordedScore: 0, paidBefore: 0, finalBefore: 0, paid: 0, unpaid: 0 };
  const known = numbersOf(row, numbers);
  return {
    ...known,
    later: row['later'] === true,
    ruleVersion: textOf(row['rule_version']) ?? '',
    hasHistory: known.finalBefore > 0,
    granted: row['granted'] === true,
  };
}
