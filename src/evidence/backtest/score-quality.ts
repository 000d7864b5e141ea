import type { ScoredOrders } from '../../statistics/calibration.ts';
import { type ClusteredOrders, type ScoreFigures, scoreFigures } from '../calibrate/score-figures.ts';

/** Orders of one cluster of clients that had the same paymentScore when they were first asked for. */
export type ClusteredScore = ClusteredOrders & ScoredOrders;

/** How well the paymentScore that orders had when they were first asked for told what became of them. */
export interface ScoreQuality {
  /** Paid and unpaid orders. */
  readonly orders: number;
  /** Each is null when there is nothing to tell it from. */
  readonly auc: number | null;
  readonly brier: number | null;
  readonly calibrationError: number | null;
  /** The same with 95 % intervals, by drawing clients again. */
  readonly intervals: Pick<ScoreFigures, 'auc' | 'brier' | 'calibrationError'>;
}

export function scoreQuality(scored: readonly ClusteredScore[]): ScoreQuality {
  const { orders, auc, brier, calibrationError } = scoreFigures(scored, ({ score }) => score);
  return {
    orders,
    auc: auc?.value ?? null,
    brier: brier?.value ?? null,
    calibrationError: calibrationError?.value ?? null,
    intervals: { auc, brier, calibrationError },
  };
}
