import type { ScoredOrders } from '../../statistics/calibration.ts';
import { type ClusteredOrders, scoreFigures } from '../calibrate/score-figures.ts';
import type { ScoreQuality } from './backtest-report.ts';

/** Orders of one cluster of clients that had the same paymentScore when they were first asked for. */
export type ClusteredScore = ClusteredOrders & ScoredOrders;

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
