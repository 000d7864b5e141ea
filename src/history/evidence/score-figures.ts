import { count, list, shape, type ValueOf } from '#base/shapes.ts';
import { ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import { toNumbersByColumn } from '#history/archive/query-engine.ts';
import {
  computeAreaUnderCurve,
  computeBrierScore,
  computeCalibrationGapsByBin,
  computeReliability,
  getBinIndexOfScore,
  type ScoreCounts,
} from '#history/statistics/calibration.ts';
import { type Estimate, estimateByBootstrap, estimateShareByCluster } from '#history/statistics/intervals.ts';
import { certainIntervalSchema, createNullableIntervalSchema, createNumberSchema } from './presentation.ts';
import type { Evidence } from './source/evidence.ts';
import { aggregateByOutcomeSql, clusterSql } from './source/order-sums.ts';
import { listClientBatchConditions } from './source/shared-devices.ts';

const ReliabilityRowSchema = shape('A tenth of the scores', {
  from: createNumberSchema('The lowest score'),
  to: createNumberSchema('The highest, itself not in it'),
  count: count('Orders with a score in it'),
  meanScore: createNumberSchema('Of these orders'),
  paidShare: certainIntervalSchema,
});

/**
 * Intervals are estimated by a bootstrap, which draws clusters of clients with replacement. An interval is null if it
 * cannot be estimated, for example for a single client.
 */
export const ScoreFiguresSchema = shape(
  'How well the paymentScore that granted orders had when they were first asked for told what became of them',
  {
    orders: count('Granted orders, paid or unpaid'),
    brier: createNullableIntervalSchema('Brier score'),
    auc: createNullableIntervalSchema('How often a paid order had a higher score than an unpaid one'),
    calibrationError: createNullableIntervalSchema('How far scores lie from the paid share, on average'),
    reliability: list(ReliabilityRowSchema, 'By tenths of the scores'),
  },
);

type ScoreFigures = ValueOf<typeof ScoreFiguresSchema>;

/**
 * Orders with the same score in the same cluster of clients. The orders of one client depend on each other. Clusters
 * do not depend on each other.
 */
export interface ClusterScoreCounts {
  readonly score: number;
  readonly cluster: number;
  readonly paid: number;
  readonly unpaid: number;
}

/**
 * Orders with the same score and cluster that were first asked for on the same side of the split in time. All of them
 * were granted, or none.
 */
interface ScoredGroup extends ClusterScoreCounts {
  readonly unknown: number;
  /** Whether the orders were first asked for at the split or after it. */
  readonly later: boolean;
  /** Whether the orders were granted. An order that was never granted can still be paid. */
  readonly granted: boolean;
}

/** The most decisions that one batch takes. */
const BATCH_DECISIONS_MAX = 1_000_000;

/**
 * Counts orders by the score that their first decision recorded. An order that began before the chosen time span is
 * counted with its first decision in the span.
 */
export async function readScoreCounts(
  { duck, span }: Evidence,
  splitAt: number,
): Promise<readonly ScoredGroup[]> {
  const groups: ScoredGroup[] = [];
  for (const clients of listClientBatchConditions(span.decisions, BATCH_DECISIONS_MAX)) {
    const rows = await duck.rows(`
      SELECT cluster, first_at >= make_timestamp_ms(${splitAt}) AS later, score, granted, ${aggregateByOutcomeSql('count(*)')}
      FROM (
        SELECT ${ORDER_KEY_SQL} AS order_key, ${clusterSql('any_value(client_hash)')} AS cluster,
          min(decided_at) AS first_at, arg_min(payment_score, seq)::DOUBLE AS score
        FROM decisions WHERE ${clients} GROUP BY order_key
      ) JOIN (SELECT order_key, status, granted FROM orders WHERE ${clients}) USING (order_key)
      GROUP BY cluster, later, score, granted ORDER BY ALL`);
    for (const row of rows)
      groups.push({
        ...toNumbersByColumn(row, NO_GROUP),
        later: row['later'] === true,
        granted: row['granted'] === true,
      });
  }
  return groups;
}

const NO_GROUP = { cluster: 0, score: 0, paid: 0, unpaid: 0, unknown: 0 };

/** Measures how well the scores predicted the outcomes of the orders. */
export function computeScoreFigures(groups: readonly ClusterScoreCounts[]): ScoreFigures {
  const draws = new ScoreDraws(groups);
  const all = draws.orders(new Uint32Array(draws.clusters).fill(1));
  const seen = computeCalibrationGapsByBin(all);
  // All figures of a resample are computed together, because a resample costs more than the figures.
  const figures = (times: Uint32Array) => {
    const orders = draws.orders(times);
    const gaps = computeCalibrationGapsByBin(orders);
    const known =
      gaps === null || seen === null ? [null, null] : [sumAbsolute(gaps), sumAbsolute(gaps, seen)];
    return [computeBrierScore(orders), computeAreaUnderCurve(orders), ...known];
  };
  // With a single client all resamples are equal.
  const drawn = draws.clusters < 2 ? [] : estimateByBootstrap(draws.clusters, figures);
  const [brier = null, auc = null, error = null, distance = null] = drawn;
  const byBin = Map.groupBy(groups, ({ score }) => getBinIndexOfScore(score));
  return {
    orders: countOrders(groups),
    brier,
    auc,
    calibrationError: estimateCalibrationError(error, distance),
    reliability: computeReliability(all).map((bin) => ({
      ...bin,
      paidShare: estimatePaidShare(byBin.get(getBinIndexOfScore(bin.from)) ?? []) ?? NO_SHARE,
    })),
  };
}

/**
 * Estimates the calibration error with its interval. The percentile interval of the resamples cannot be used. Chance
 * moves a bin away from the score more often than towards it. So the error of the orders is larger than the true
 * error, and the error of a resample is larger still. The lower end is the error minus the distance between the
 * resamples and the orders, summed over the bins. The true error cannot be lower. The upper end is the error plus the
 * amount by which it exceeds a low percentile of the resamples (the basic bootstrap of Davison and Hinkley, Bootstrap
 * methods and their application, 1997).
 */
function estimateCalibrationError(error: Estimate | null, distance: Estimate | null): Estimate | null {
  if (error === null || distance === null) return null;
  const { value, low } = error;
  return { value, low: Math.max(0, value - distance.high), high: Math.max(value, 2 * value - low) };
}

function sumAbsolute(gaps: readonly number[], less: readonly number[] = []): number {
  return gaps.reduce((sum, gap, bin) => sum + Math.abs(gap - (less[bin] ?? 0)), 0);
}

export function countOrders(groups: readonly ClusterScoreCounts[]): number {
  return groups.reduce((sum, { paid, unpaid }) => sum + paid + unpaid, 0);
}

/**
 * Estimates the share of the orders that were paid, with an interval by client. Returns null if there are no orders.
 */
export function estimatePaidShare(groups: readonly ClusterScoreCounts[]): Estimate | null {
  // The clusters are sorted, so that sums are the same to the last digit.
  const clusters = [...Map.groupBy(groups, ({ cluster }) => cluster)].toSorted(([a], [b]) => a - b);
  return estimateShareByCluster(
    clusters.map(([, some]) => ({
      part: some.reduce((sum, { paid }) => sum + paid, 0),
      whole: countOrders(some),
    })),
  );
}

const NO_SHARE: Estimate = { value: 0, low: 0, high: 1 };

/** Keeps orders by score and cluster in plain arrays, because they are summed for each of hundreds of resamples. */
class ScoreDraws {
  /** How many clusters have orders. The clusters are numbered without gaps. */
  readonly clusters: number;
  readonly #scores: readonly number[];
  readonly #rows: { readonly cluster: Int32Array; readonly score: Int32Array; readonly counts: Float64Array };

  constructor(groups: readonly ClusterScoreCounts[]) {
    this.#scores = [...new Set(groups.map(({ score }) => score))].toSorted((a, b) => a - b);
    const places = new Map(this.#scores.map((score, place) => [score, place]));
    const numbers = new Map(
      [...new Set(groups.map(({ cluster }) => cluster))].map((cluster, place) => [cluster, place]),
    );
    this.clusters = numbers.size;
    this.#rows = {
      cluster: Int32Array.from(groups, ({ cluster }) => numbers.get(cluster) ?? 0),
      score: Int32Array.from(groups, ({ score }) => places.get(score) ?? 0),
      counts: Float64Array.from(groups.flatMap(({ paid, unpaid }) => [paid, unpaid])),
    };
  }

  /** Sums the orders by score. Each cluster is added as often as it was drawn. */
  orders(times: Uint32Array): readonly ScoreCounts[] {
    const { cluster, score, counts } = this.#rows;
    const sums = new Float64Array(2 * this.#scores.length);
    for (let row = 0; row < score.length; row++) {
      const drawn = times[cluster[row] ?? 0] ?? 0;
      const place = 2 * (score[row] ?? 0);
      sums[place] = (sums[place] ?? 0) + drawn * (counts[2 * row] ?? 0);
      sums[place + 1] = (sums[place + 1] ?? 0) + drawn * (counts[2 * row + 1] ?? 0);
    }
    return this.#scores.map((value, place) => ({
      score: value,
      paid: sums[2 * place] ?? 0,
      unpaid: sums[2 * place + 1] ?? 0,
    }));
  }
}
