import {
  clientsToGo,
  differenceOf,
  type Moments,
  meanOf,
  NO_MOMENTS,
} from '../../statistics/confidence-sequence.ts';
import type { Estimate } from '../../statistics/intervals.ts';

/** What is counted of each client of an arm. */
export const COUNTED = ['paid', 'unpaid', 'turnedAway', 'requisites', 'waits', 'lostAfterWait'] as const;

/** What the clients of two arms are compared by, each with its total; money currency by currency. */
export type Metric = (typeof COUNTED)[number] | `money.${string}.${'paid' | 'reversed'}`;

/** The clients that were drawn into one arm, whatever version decided for them. */
export interface ArmTotals {
  readonly version: string;
  /** The chance of the draw, 0 to 1. */
  readonly share: number;
  readonly clients: number;
  /** Granted orders without a report. */
  readonly unknown: number;
  readonly totals: ReadonlyMap<Metric, Moments>;
}

/** A metric that no client of the arm has is 0 for all of them. */
export function momentsOf({ totals, clients }: ArmTotals, metric: Metric): Moments {
  return totals.get(metric) ?? { ...NO_MOMENTS, clients };
}

/** Each interval misses the truth at any time in at most this share of experiments. */
const INTERVAL_ALPHA = 0.05;

/** With identical versions, at most this share of experiments ends in a recommendation. */
export const RECOMMENDATION_ERROR_MAX = 0.01;

/**
 * A smaller loss than this share of the active version's is acceptable for a gain elsewhere; also the difference that
 * a trial waits to see.
 */
export const MATTERS_SHARE = 0.05;

/** One metric of one candidate against the active version, per client. */
export interface MetricDifference extends Estimate {
  readonly version: string;
  readonly metric: Metric;
  /**
   * Until a difference of MATTERS_SHARE of the active version's shows in four of five trials; null: nothing to
   * estimate from.
   */
  readonly clientsToGo: number | null;
}

/** What to do, by the figures alone. */
export interface Recommendation {
  /** The version to make active, or that stays when the candidates are taken back; null: go on. */
  readonly version: string | null;
  /** Candidates to take back. */
  readonly takeBack: readonly string[];
  readonly errorBound: number;
}

/** Every difference that is known. */
export function differencesOf(
  active: ArmTotals,
  candidates: readonly ArmTotals[],
): readonly MetricDifference[] {
  return candidates.flatMap((candidate) =>
    metricsOf([active, candidate]).flatMap((metric) => {
      const [base, other] = [momentsOf(active, metric), momentsOf(candidate, metric)];
      const difference = differenceOf(base, other, INTERVAL_ALPHA);
      if (difference === null) return [];
      const toGo = clientsToGo(base, other, INTERVAL_ALPHA, MATTERS_SHARE * meanOf(base));
      return [{ version: candidate.version, metric, ...difference, clientsToGo: toGo }];
    }),
  );
}

/**
 * A candidate is better or worse by what its clients pay, in orders and in each currency, and by requisites that were
 * shown and not paid. For identical versions all of these together are wrong with a chance of at most
 * RECOMMENDATION_ERROR_MAX, whenever somebody looks. Fewer unpaid orders make a candidate better only where a loss of
 * paid orders that matters is ruled out.
 */
export function recommendationOf(active: ArmTotals | null, candidates: readonly ArmTotals[]): Recommendation {
  if (active === null) return { version: null, takeBack: [], errorBound: RECOMMENDATION_ERROR_MAX };
  const judged = candidates.map((candidate) => ({
    candidate,
    is: judge(active, candidate, candidates.length),
  }));
  const best = judged
    .filter(({ is }) => is === 'better')
    .toSorted((a, b) => paidMean(b.candidate) - paidMean(a.candidate))
    .map(({ candidate }) => candidate.version);
  const takeBack = judged.filter(({ is }) => is === 'worse').map(({ candidate }) => candidate.version);
  const isOver = candidates.length > 0 && takeBack.length === candidates.length;
  return {
    version: best[0] ?? (isOver ? active.version : null),
    takeBack,
    errorBound: RECOMMENDATION_ERROR_MAX,
  };
}

function paidMean(arm: ArmTotals): number {
  return meanOf(momentsOf(arm, 'paid'));
}

type Judgement = 'better' | 'worse' | 'open';

function judge(active: ArmTotals, candidate: ArmTotals, candidates: number): Judgement {
  const gains = metricsOf([active, candidate]).filter(
    (metric) => metric === 'paid' || metric.endsWith('.paid'),
  );
  const alpha = RECOMMENDATION_ERROR_MAX / (candidates * (gains.length + 1));
  const differs = (metric: Metric) =>
    differenceOf(momentsOf(active, metric), momentsOf(candidate, metric), alpha);
  const paid = gains.map(differs);
  const isMore = paid.some((one) => one !== null && one.low > 0);
  const isLess = paid.some((one) => one !== null && one.high < 0);
  if (isMore && isLess) return 'open';
  if (isLess) return 'worse';
  const unpaid = differs('unpaid');
  const isMoreUnpaid = unpaid !== null && unpaid.low > 0;
  if (isMoreUnpaid) return isMore ? 'open' : 'worse';
  if (isMore) return 'better';
  const isFewerUnpaid = unpaid !== null && unpaid.high < 0;
  const worst = differs('paid')?.low ?? Number.NEGATIVE_INFINITY;
  return isFewerUnpaid && worst > -MATTERS_SHARE * paidMean(active) ? 'better' : 'open';
}

function metricsOf(arms: readonly ArmTotals[]): readonly Metric[] {
  const money = arms
    .flatMap(({ totals }) => [...totals.keys()])
    .filter((metric) => metric.startsWith('money.'));
  return [...COUNTED, ...[...new Set(money)].toSorted()];
}
