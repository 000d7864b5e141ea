import { bootstrapInterval, type Estimate } from '../../statistics/bootstrap.ts';
import {
  areaUnderCurve,
  brierScore,
  calibrationError,
  type ReliabilityBin,
  reliability,
  type ScoredOrders,
} from '../../statistics/calibration.ts';
import { type ShareInterval, shareInterval } from '../../statistics/share-interval.ts';

/** How well a score told what became of orders; intervals by drawing clients again. Null where nothing can be said. */
export interface ScoreFigures {
  readonly orders: number;
  readonly brier: Estimate | null;
  readonly auc: Estimate | null;
  readonly calibrationError: Estimate | null;
  readonly reliability: readonly ReliabilityRow[];
}

/** A tenth of the scores, and the share of its orders that were paid with its interval. */
export interface ReliabilityRow extends Omit<ReliabilityBin, 'paidShare'> {
  readonly paidShare: ShareInterval;
}

/** Orders of one kind, by what they came to. */
export interface ClusteredOrders {
  /** Of the clients: the orders of one client hang together, clusters do not. */
  readonly cluster: number;
  readonly paid: number;
  readonly unpaid: number;
}

/** A score for orders of one kind. */
type Scoring<Group> = (group: Group) => number;

/** How well `scoring` told what became of the orders. */
export function scoreFigures<Group extends ClusteredOrders>(
  groups: readonly Group[],
  scoring: Scoring<Group>,
): ScoreFigures {
  const scored = new ClusteredScores(groups, scoring);
  const estimate = (figure: Figure) =>
    bootstrapInterval(scored.clusters, (drawn) => figure(scored.drawn(drawn)));
  return {
    orders: groups.reduce((sum, { paid, unpaid }) => sum + paid + unpaid, 0),
    brier: estimate(brierScore),
    auc: estimate(areaUnderCurve),
    calibrationError: estimate(calibrationError),
    reliability: reliability(scored.drawn(new Uint32Array(scored.clusters).fill(1))).map((bin) => ({
      ...bin,
      paidShare: shareInterval(Math.round(bin.paidShare * bin.count), bin.count) ?? NO_SHARE,
    })),
  };
}

/** By how much the figure of one scoring exceeds that of another on the same orders. */
export function differenceOf<Group extends ClusteredOrders>(
  groups: readonly Group[],
  figure: Figure,
  scoring: Scoring<Group>,
  than: Scoring<Group>,
): Estimate | null {
  const [one, other] = [new ClusteredScores(groups, scoring), new ClusteredScores(groups, than)];
  return bootstrapInterval(one.clusters, (drawn) => {
    const a = figure(one.drawn(drawn));
    const b = figure(other.drawn(drawn));
    return a === null || b === null ? null : a - b;
  });
}

type Figure = (scored: readonly ScoredOrders[]) => number | null;

const NO_SHARE: ShareInterval = { value: 0, low: 0, high: 1 };

/** Orders by score and cluster, in plain arrays: they are summed up again for each of hundreds of draws. */
class ClusteredScores<Group extends ClusteredOrders> {
  /** Clusters that there are, numbered without gaps. */
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
