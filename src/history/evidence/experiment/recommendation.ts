import { list, meaning, nullable, type Shape, shape, word } from '#base/shapes.ts';
import { number } from '#history/evidence/presentation.ts';
import {
  computeMean,
  estimateClientsToGo,
  estimateDifference,
  type Moments,
  NO_MOMENTS,
} from '#history/statistics/confidence-sequence.ts';
import type { Estimate } from '#history/statistics/intervals.ts';

/** What is counted of each client of an arm. */
export const COUNTED = [
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

/** What the clients of two arms are compared by, each with its total; money currency by currency, too. */
export type Metric = (typeof COUNTED)[number] | `money.${string}.${'paid' | 'reversed'}`;

export function isMetric(name: string): name is Metric {
  return name.startsWith('money.') || COUNTED.some((one) => one === name);
}

/** The clients that were drawn into one arm, whatever version decided for them. */
export interface ArmTotals {
  readonly version: string;
  /** The chance of the draw, 0 to 1. */
  readonly share: number;
  /** Those that count: what they did cannot change any more. */
  readonly clients: number;
  /** Granted orders without a report. */
  readonly unknown: number;
  readonly totals: ReadonlyMap<Metric, Moments>;
  /** Unreported orders of each client beyond the share of all; null before the end. */
  readonly unreported: Moments | null;
}

/** A metric that no client of the arm has is 0 for all of them. */
export function getMoments({ totals, clients }: ArmTotals, metric: Metric): Moments {
  return totals.get(metric) ?? { ...NO_MOMENTS, clients };
}

/** Each interval misses the truth at any time in at most this share of experiments. */
export const INTERVAL_ALPHA = 0.05;

/** With identical versions, at most this share of experiments ends in a recommendation; all candidates share it. */
export const RECOMMENDATION_ERROR_MAX = 0.01;

/** Of the active version's: the difference that a trial waits to see. */
export const MATTERS_SHARE = 0.05;

/** One metric of one candidate against the active version, per client. */
interface MetricDifference extends Estimate {
  readonly version: string;
  readonly metric: Metric;
  /**
   * Until a difference of MATTERS_SHARE of the active version's shows in four of five trials; null: nothing to
   * estimate from.
   */
  readonly clientsToGo: number | null;
}

export const VETOES = {
  sampleRatio: 'the arms have other shares of the clients than were drawn',
  sharedDevices: 'the arms share devices',
  outcomesStopped: 'outcomes are not reported any more',
  outcomesMissing: 'the arms differ in how many of their orders are without a report',
  money: 'less money lasts',
  reversals: 'more is reversed',
  requisites: 'more requisites are shown and not paid',
} as const;

type VetoName = keyof typeof VETOES;

export const VetoSchema = shape('What speaks against a recommendation', {
  veto: meaning(VETOES, 'Its name'),
  version: nullable(word('Not to become active, whatever its value; null: nothing is recommended at all')),
  why: word('The figures'),
});

export type Veto = Shape<typeof VetoSchema>;

export const RecommendationSchema = shape('What the figures say', {
  version: nullable(word('To make active, or to keep: then all others are to be taken back; null: go on')),
  takeBack: list(word('A version'), 'Worse than the active version'),
  errorBound: number(
    'In at most this share of experiments on versions that are the same something is recommended',
  ),
});

type Recommendation = Shape<typeof RecommendationSchema>;

/** Every difference that is known. */
export function computeDifferences(
  active: ArmTotals,
  candidates: readonly ArmTotals[],
): readonly MetricDifference[] {
  return candidates.flatMap((candidate) =>
    metricsOf([active, candidate]).flatMap((metric) => {
      const [base, other] = [getMoments(active, metric), getMoments(candidate, metric)];
      const difference = estimateDifference(base, other, INTERVAL_ALPHA);
      if (difference === null) return [];
      // By what a recommendation takes, where it is the figure of one.
      const alpha = metric === 'value' ? RECOMMENDATION_ERROR_MAX / candidates.length : INTERVAL_ALPHA;
      const toGo = estimateClientsToGo(base, other, alpha, MATTERS_SHARE * Math.abs(computeMean(base)));
      return [{ version: candidate.version, metric, ...difference, clientsToGo: toGo }];
    }),
  );
}

/** Which costs the objective has. What has none may not get worse unseen. */
type Priced = Readonly<Record<'reversals' | 'requisites', boolean>>;

/** Harm of a candidate beside its value, and reports that are missing in one arm. */
export function findVetoes(
  active: ArmTotals,
  candidates: readonly ArmTotals[],
  priced: Priced,
): readonly Veto[] {
  return candidates.flatMap((candidate) => {
    const differs = (metric: Metric) =>
      estimateDifference(getMoments(active, metric), getMoments(candidate, metric), INTERVAL_ALPHA);
    const isLess = (metric: Metric) => (differs(metric)?.high ?? 0) < 0;
    const isMore = (metric: Metric) => (differs(metric)?.low ?? 0) > 0;
    const { version } = candidate;
    const found = (veto: VetoName, holds: boolean, why: string): readonly Veto[] =>
      holds ? [{ veto, version, why }] : [];
    const a = (metric: Metric) => meanText(getMoments(active, metric), getMoments(candidate, metric));
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

/** "12.1 against 13.4 for each 1,000 clients" */
function meanText(base: Moments, other: Moments): string {
  const [one, two] = [other, base].map((moments) => (1000 * computeMean(moments)).toPrecision(3));
  return `${Number(one)} against ${Number(two)} for each 1,000 clients`;
}

/** Vetoes that say that arms are not comparable: nothing is recommended then, in either direction. */
export const INCOMPARABLE_ARMS: ReadonlySet<VetoName> = new Set([
  'sampleRatio',
  'sharedDevices',
  'outcomesStopped',
  'outcomesMissing',
]);

/**
 * A candidate is better or worse by its value alone: one figure, one rule for both directions. For identical versions
 * all of these together are wrong with a chance of at most RECOMMENDATION_ERROR_MAX, whenever somebody looks.
 */
export function recommend(
  active: ArmTotals | null,
  candidates: readonly ArmTotals[],
  vetoes: readonly Veto[] = [],
): Recommendation {
  const none = { version: null, takeBack: [], errorBound: RECOMMENDATION_ERROR_MAX };
  if (active === null || vetoes.some(({ veto, version }) => version === null && INCOMPARABLE_ARMS.has(veto)))
    return none;
  const alpha = RECOMMENDATION_ERROR_MAX / Math.max(1, candidates.length);
  const judged = candidates
    .filter(
      ({ version }) => !vetoes.some((one) => one.version === version && INCOMPARABLE_ARMS.has(one.veto)),
    )
    .map((candidate) => ({
      candidate,
      difference: estimateDifference(getMoments(active, 'value'), getMoments(candidate, 'value'), alpha),
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

function metricsOf(arms: readonly ArmTotals[]): readonly Metric[] {
  const money = arms
    .flatMap(({ totals }) => [...totals.keys()])
    .filter((metric) => metric.startsWith('money.'));
  return [...COUNTED, ...[...new Set(money)].toSorted()];
}
