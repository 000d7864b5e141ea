import { bootstrapInterval, type Estimate } from '../../statistics/bootstrap.ts';
import {
  areaUnderCurve,
  brierScore,
  byScore,
  calibrationError,
  type ReliabilityBin,
  reliability,
  type ScoredOrders,
} from '../../statistics/calibration.ts';
import { type ShareInterval, shareInterval } from '../../statistics/share-interval.ts';
import { CLUSTERS, type ScoredGroup } from './scored-orders.ts';

/** How well a score told what became of orders; intervals by drawing clients again. Null where nothing can be said. */
export interface ScoreQuality {
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

/** A score for orders of one kind. */
export type Scoring = (group: ScoredGroup) => number;

/** How well `scoring` told what became of the orders. */
export function scoreQuality(groups: readonly ScoredGroup[], scoring: Scoring): ScoreQuality {
  const scored = scoredWith(groups, scoring);
  const draws = new ClusterDraws(groups);
  const estimate = (figure: (some: readonly ScoredOrders[]) => number | null) =>
    bootstrapInterval(draws.clusters, (drawn) => figure(byScore(draws.drawnOf(scored, drawn))));
  return {
    orders: groups.reduce((sum, { paid, unpaid }) => sum + paid + unpaid, 0),
    brier: estimate(brierScore),
    auc: estimate(areaUnderCurve),
    calibrationError: estimate(calibrationError),
    reliability: reliability(scored).map((bin) => ({
      ...bin,
      paidShare: shareInterval(Math.round(bin.paidShare * bin.count), bin.count) ?? NO_SHARE,
    })),
  };
}

/** By how much the figure of one scoring exceeds that of another on the same orders. */
export function differenceOf(
  groups: readonly ScoredGroup[],
  figure: (some: readonly ScoredOrders[]) => number | null,
  scoring: Scoring,
  than: Scoring,
): Estimate | null {
  const draws = new ClusterDraws(groups);
  const [one, other] = [scoredWith(groups, scoring), scoredWith(groups, than)];
  return bootstrapInterval(draws.clusters, (drawn) => {
    const a = figure(byScore(draws.drawnOf(one, drawn)));
    const b = figure(byScore(draws.drawnOf(other, drawn)));
    return a === null || b === null ? null : a - b;
  });
}

const NO_SHARE: ShareInterval = { value: 0, low: 0, high: 1 };

function scoredWith(groups: readonly ScoredGroup[], scoring: Scoring): readonly ScoredOrders[] {
  return groups.map((group) => ({ score: scoring(group), paid: group.paid, unpaid: group.unpaid }));
}

/** The clusters that there are, numbered without gaps. */
class ClusterDraws {
  readonly clusters: number;
  readonly #clusterOf: readonly number[];

  constructor(groups: readonly ScoredGroup[]) {
    const places = new Int32Array(CLUSTERS).fill(-1);
    let clusters = 0;
    this.#clusterOf = groups.map(({ cluster }) => {
      const known = places[cluster] ?? -1;
      if (known >= 0) return known;
      places[cluster] = clusters;
      return clusters++;
    });
    this.clusters = clusters;
  }

  /** The orders as often as their clusters were drawn. */
  drawnOf(scored: readonly ScoredOrders[], drawn: Uint32Array): readonly ScoredOrders[] {
    return scored.flatMap(({ score, paid, unpaid }, place) => {
      const times = drawn[this.#clusterOf[place] ?? 0] ?? 0;
      return times === 0 ? [] : [{ score, paid: paid * times, unpaid: unpaid * times }];
    });
  }
}
