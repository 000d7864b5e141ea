import {
  areaUnderCurve,
  binOf,
  brierScore,
  calibrationGaps,
  reliability,
  type ScoredOrders,
} from '../../statistics/calibration.ts';
import {
  bootstrapInterval,
  bootstrapIntervals,
  clusteredInterval,
  type Estimate,
} from '../../statistics/intervals.ts';
import { OrderClusters } from '../source/order-clusters.ts';
import type { ReliabilityRow, ScoreFigures } from './calibration.ts';

export interface ClusteredOrders {
  /** The cluster of the client: the orders of one client depend on each other, clusters do not. */
  readonly cluster: number;
  readonly paid: number;
  readonly unpaid: number;
}

export interface JudgedOrders extends ClusteredOrders {
  /** Their clients had a final outcome when they were first asked for. */
  readonly hasHistory: boolean;
  readonly granted: boolean;
}

type Scoring<Group> = (group: Group) => number;

/** How well `scoring` predicted what became of the orders. */
export function scoreFigures<Group extends JudgedOrders>(
  groups: readonly Group[],
  scoring: Scoring<Group>,
): ScoreFigures {
  const scored = new ClusteredScores(groups, scoring);
  const seen = calibrationGaps(scored.all());
  // All figures of one draw together, because drawing costs more than the figures.
  const [brier = null, auc = null, error = null, distance = null] = scored.intervals((orders) => {
    const gaps = calibrationGaps(orders);
    const known = gaps === null || seen === null ? [null, null] : [total(gaps), total(gaps, seen)];
    return [brierScore(orders), areaUnderCurve(orders), ...known];
  });
  return {
    orders: groups.reduce((sum, { paid, unpaid }) => sum + paid + unpaid, 0),
    brier,
    auc,
    aucOfGranted: {
      withHistory: aucOf(
        groups.filter(({ hasHistory, granted }) => hasHistory && granted),
        scoring,
      ),
      withoutHistory: aucOf(
        groups.filter(({ hasHistory, granted }) => !hasHistory && granted),
        scoring,
      ),
    },
    calibrationError: calibrationErrorOf(error, distance),
    reliability: reliabilityRows(groups, scoring, scored),
  };
}

function aucOf<Group extends ClusteredOrders>(groups: readonly Group[], scoring: Scoring<Group>) {
  const scored = new ClusteredScores(groups, scoring);
  const [auc = null] = scored.intervals((orders) => [areaUnderCurve(orders)]);
  return auc;
}

/**
 * The calibration error with its interval. The error of a draw is larger than that of the orders, as theirs is larger than
 * the true one: chance moves a bin away from the score more often than towards it. So the interval is not that of the
 * draws. Its lower end is the error less how far draws lie from the orders, bin by bin, which the error can at most be
 * off by; its upper end is what the draws exceed the error by, taken off (the basic bootstrap of Davison and Hinkley,
 * Bootstrap methods and their application, 1997).
 */
function calibrationErrorOf(error: Estimate | null, distance: Estimate | null): Estimate | null {
  if (error === null || distance === null) return null;
  const { value, low } = error;
  return { value, low: Math.max(0, value - distance.high), high: Math.max(value, 2 * value - low) };
}

function total(gaps: readonly number[], less: readonly number[] = []): number {
  return gaps.reduce((sum, gap, bin) => sum + Math.abs(gap - (less[bin] ?? 0)), 0);
}

function reliabilityRows<Group extends ClusteredOrders>(
  groups: readonly Group[],
  scoring: Scoring<Group>,
  scored: ClusteredScores<Group>,
): readonly ReliabilityRow[] {
  const byBin = Map.groupBy(groups, (group) => binOf(scoring(group)));
  const bins = reliability(scored.all());
  return bins.map((bin) => ({
    ...bin,
    paidShare: paidShareOf(byBin.get(binOf(bin.from)) ?? []) ?? NO_SHARE,
  }));
}

/** Share of the orders that were paid, with its interval by client; null without an order. */
export function paidShareOf(groups: readonly ClusteredOrders[]): Estimate | null {
  const clusters = new OrderClusters();
  for (const { cluster, paid, unpaid } of groups) clusters.add(cluster, paid, unpaid);
  return clusteredInterval(clusters.counts('paid'));
}

/** By how much the figure of one scoring exceeds that of another on the same orders. */
export function differenceOf<Group extends ClusteredOrders>(
  groups: readonly Group[],
  figure: Figure,
  scoring: Scoring<Group>,
  than: Scoring<Group>,
): Estimate | null {
  const [one, other] = [new ClusteredScores(groups, scoring), new ClusteredScores(groups, than)];
  return one.interval((drawn) => {
    const a = figure(one.drawn(drawn));
    const b = figure(other.drawn(drawn));
    return a === null || b === null ? null : a - b;
  });
}

type Figure = (scored: readonly ScoredOrders[]) => number | null;

const NO_SHARE: Estimate = { value: 0, low: 0, high: 1 };

/** Orders by score and cluster, in plain arrays: they are summed up for each of hundreds of draws. */
class ClusteredScores<Group extends ClusteredOrders> {
  /** The clusters in use, numbered without gaps. */
  readonly clusters: number;
  readonly #scores: readonly number[];
  readonly #rows: { readonly cluster: Int32Array; readonly score: Int32Array; readonly counts: Float64Array };

  constructor(groups: readonly Group[], scoring: Scoring<Group>) {
    const scores = groups.map(scoring);
    this.#scores = [...new Set(scores)].toSorted((a, b) => a - b);
    const places = new Map(this.#scores.map((score, place) => [score, place]));
    const numbers = new Map(
      [...new Set(groups.map(({ cluster }) => cluster))].map((cluster, place) => [cluster, place]),
    );
    this.clusters = numbers.size;
    this.#rows = {
      cluster: Int32Array.from(groups, ({ cluster }) => numbers.get(cluster) ?? 0),
      score: Int32Array.from(scores, (score) => places.get(score) ?? 0),
      counts: Float64Array.from(groups.flatMap(({ paid, unpaid }) => [paid, unpaid])),
    };
  }

  /** By drawing clients again; null where there is one only, who cannot be drawn in different ways. */
  interval(figure: (drawn: Uint32Array) => number | null): Estimate | null {
    return this.clusters < 2 ? null : bootstrapInterval(this.clusters, figure);
  }

  /** The same of several figures of the orders that were drawn. */
  intervals(
    figures: (orders: readonly ScoredOrders[]) => readonly (number | null)[],
  ): readonly (Estimate | null)[] {
    return this.clusters < 2 ? [] : bootstrapIntervals(this.clusters, (drawn) => figures(this.drawn(drawn)));
  }

  all(): readonly ScoredOrders[] {
    return this.drawn(new Uint32Array(this.clusters).fill(1));
  }

  /** The orders by score, as often as their clusters were drawn. */
  drawn(times: Uint32Array): readonly ScoredOrders[] {
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
