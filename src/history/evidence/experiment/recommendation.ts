import { describedChoice, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { createNumberSchema } from '#history/evidence/presentation.ts';
import {
  computeMean,
  estimateClientsToGo,
  estimateDifference,
  NO_VALUE_SUMS,
  type ValueSums,
} from '#history/statistics/confidence-sequence.ts';
import type { Estimate } from '#history/statistics/intervals.ts';

/** The metrics that every client of an arm has. */
export const COMPARED_METRICS = [
  'value',
  'amount',
  'reversedAmount',
  'paid',
  'unpaid',
  'turnedAway',
  'reversals',
  'requisites',
  'unpaidRequisites',
  'waits',
  'lostAfterWait',
] as const;

/** A metric by which the clients of two arms are compared. Money has a metric for each currency. */
export type Metric = (typeof COMPARED_METRICS)[number] | `money.${string}.${'paid' | 'reversed'}`;

export function isMetric(name: string): name is Metric {
  return name.startsWith('money.') || COMPARED_METRICS.some((one) => one === name);
}

/** The clients that were drawn into one arm, whichever version decided for them. */
export interface ArmTotals {
  readonly version: string;
  /** The chance of the draw, from 0 to 1. */
  readonly share: number;
  /** How many clients count. A client counts once its figures cannot change any more. */
  readonly clients: number;
  /** How many granted orders have no report. */
  readonly unknown: number;
  readonly totals: ReadonlyMap<Metric, ValueSums>;
  /**
   * Sums over the clients. A client's figure is its orders without a report, minus the number expected from the share
   * over all arms. Computed only for the last look (the newest moment at which the arms are compared). Null for
   * earlier looks.
   */
  readonly unreported: ValueSums | null;
}

/** Returns the sums of a metric. A metric without sums is 0 for all clients of the arm. */
export function getMetricSums({ totals, clients }: ArmTotals, metric: Metric): ValueSums {
  return totals.get(metric) ?? { ...NO_VALUE_SUMS, clients };
}

/** The largest share of experiments in which an interval ever misses the true difference. */
export const INTERVAL_ALPHA = 0.05;

/**
 * If versions are identical, at most this share of experiments ends in a recommendation. The limit is divided among
 * the candidates of an experiment.
 */
export const RECOMMENDATION_ERROR_MAX = 0.01;

/** The difference that a trial is large enough to show, as a share of the active version's mean. */
export const DETECTABLE_SHARE = 0.05;

/** The difference between a candidate and the active version in one metric, per client. */
interface MetricDifference extends Estimate {
  readonly version: string;
  readonly metric: Metric;
  /**
   * How many more clients are needed until a difference of DETECTABLE_SHARE would show in four of five trials. Null if
   * it cannot be estimated.
   */
  readonly clientsToGo: number | null;
}

export const VETOES = {
  sampleRatio: 'the shares of clients in the arms differ from the draw',
  sharedDevices: 'the arms share devices',
  outcomesStopped: 'outcomes are no longer reported',
  outcomesMissing: 'the arms differ in the share of orders without a report',
  money: 'less money lasts',
  reversals: 'more is reversed',
  requisites: 'more requisites are shown and not paid',
} as const;

type VetoName = keyof typeof VETOES;

export const VetoSchema = shape('What speaks against a recommendation', {
  veto: describedChoice(VETOES, 'Its name'),
  version: nullable(
    plainText('Not to become active, whatever its value; null: nothing is recommended at all'),
  ),
  why: plainText('The figures'),
});

export type Veto = ValueOf<typeof VetoSchema>;

export const RecommendationSchema = shape('What the figures say', {
  version: nullable(
    plainText('To make active, or to keep: then all others are to be taken back; null: go on'),
  ),
  takeBack: list(plainText('A version'), 'Worse than the active version'),
  errorBound: createNumberSchema(
    'In at most this share of experiments on versions that are the same something is recommended',
  ),
});

type Recommendation = ValueOf<typeof RecommendationSchema>;

/** Computes every difference that can be estimated. */
export function computeDifferences(
  active: ArmTotals,
  candidates: readonly ArmTotals[],
): readonly MetricDifference[] {
  return candidates.flatMap((candidate) =>
    listMetrics([active, candidate]).flatMap((metric) => {
      const [base, other] = [getMetricSums(active, metric), getMetricSums(candidate, metric)];
      const difference = estimateDifference(base, other, INTERVAL_ALPHA);
      if (difference === null) return [];
      // The value has the stricter bound RECOMMENDATION_ERROR_MAX, because the value alone decides the
      // recommendation.
      const alpha = metric === 'value' ? RECOMMENDATION_ERROR_MAX / candidates.length : INTERVAL_ALPHA;
      const toGo = estimateClientsToGo(base, other, alpha, DETECTABLE_SHARE * Math.abs(computeMean(base)));
      return [{ version: candidate.version, metric, ...difference, clientsToGo: toGo }];
    }),
  );
}

/**
 * Whether the objective has a price for reversals and for requisites. A metric without a price has a veto instead, so
 * that it cannot get worse unnoticed.
 */
type Priced = Readonly<Record<'reversals' | 'requisites', boolean>>;

/**
 * Finds the vetoes on candidates. A candidate gets one if it does harm in another metric than its value, or if too
 * many reports are missing in one arm.
 */
export function findVetoes(
  active: ArmTotals,
  candidates: readonly ArmTotals[],
  priced: Priced,
): readonly Veto[] {
  return candidates.flatMap((candidate) => {
    const differs = (metric: Metric) =>
      estimateDifference(getMetricSums(active, metric), getMetricSums(candidate, metric), INTERVAL_ALPHA);
    const isLess = (metric: Metric) => (differs(metric)?.high ?? 0) < 0;
    const isMore = (metric: Metric) => (differs(metric)?.low ?? 0) > 0;
    const { version } = candidate;
    const found = (veto: VetoName, holds: boolean, why: string): readonly Veto[] =>
      holds ? [{ veto, version, why }] : [];
    const a = (metric: Metric) => meanText(getMetricSums(active, metric), getMetricSums(candidate, metric));
    const missing =
      active.unreported !== null &&
      candidate.unreported !== null &&
      isApart(estimateDifference(active.unreported, candidate.unreported, RECOMMENDATION_ERROR_MAX));
    return [
      ...found('money', isLess('amount'), `lasting money ${a('amount')}`),
      ...found(
        'reversals',
        !priced.reversals && (isMore('reversals') || isMore('reversedAmount')),
        `reversals ${a('reversals')}, their money ${a('reversedAmount')}`,
      ),
      ...found(
        'requisites',
        !priced.requisites && isMore('unpaidRequisites'),
        `unpaid requisites ${a('unpaidRequisites')}`,
      ),
      ...found(
        'outcomesMissing',
        missing,
        `${candidate.unknown} of ${version}, ${active.unknown} of ${active.version}`,
      ),
    ];
  });
}

function isApart(difference: Estimate | null): boolean {
  return difference !== null && (difference.low > 0 || difference.high < 0);
}

/** Formats two means like "12.1 against 13.4 for each 1,000 clients". */
function meanText(base: ValueSums, other: ValueSums): string {
  const [one, two] = [other, base].map((moments) => (1000 * computeMean(moments)).toPrecision(3));
  return `${Number(one)} against ${Number(two)} for each 1,000 clients`;
}

/**
 * The vetoes which say that arms cannot be compared. If there is one of them, nothing is recommended in either
 * direction.
 */
export const VETOES_AGAINST_COMPARISON: ReadonlySet<VetoName> = new Set([
  'sampleRatio',
  'sharedDevices',
  'outcomesStopped',
  'outcomesMissing',
]);

/**
 * Recommends a version by the value alone. Other figures can only veto a recommendation. The same rule decides what
 * is better and what is worse. For identical versions the chance of any wrong recommendation is at most
 * RECOMMENDATION_ERROR_MAX, whenever somebody looks.
 */
export function recommendVersion(
  active: ArmTotals | null,
  candidates: readonly ArmTotals[],
  vetoes: readonly Veto[] = [],
): Recommendation {
  const none = { version: null, takeBack: [], errorBound: RECOMMENDATION_ERROR_MAX };
  if (
    active === null ||
    vetoes.some(({ veto, version }) => version === null && VETOES_AGAINST_COMPARISON.has(veto))
  )
    return none;
  const alpha = RECOMMENDATION_ERROR_MAX / Math.max(1, candidates.length);
  const judged = candidates
    .filter(
      ({ version }) =>
        !vetoes.some((one) => one.version === version && VETOES_AGAINST_COMPARISON.has(one.veto)),
    )
    .map((candidate) => ({
      candidate,
      difference: estimateDifference(
        getMetricSums(active, 'value'),
        getMetricSums(candidate, 'value'),
        alpha,
      ),
    }));
  const [best] = judged
    .filter(({ candidate, difference }) =>
      difference === null
        ? false
        : difference.low > 0 && !vetoes.some(({ version }) => version === candidate.version),
    )
    .toSorted((a, b) => (b.difference?.value ?? 0) - (a.difference?.value ?? 0));
  const takeBack = judged
    .filter(({ difference }) => difference !== null && difference.high < 0)
    .map(({ candidate }) => candidate.version);
  const isOver = candidates.length > 0 && takeBack.length === candidates.length;
  return { ...none, version: best?.candidate.version ?? (isOver ? active.version : null), takeBack };
}

function listMetrics(arms: readonly ArmTotals[]): readonly Metric[] {
  const money = arms
    .flatMap(({ totals }) => [...totals.keys()])
    .filter((metric) => metric.startsWith('money.'));
  return [...COMPARED_METRICS, ...[...new Set(money)].toSorted()];
}
