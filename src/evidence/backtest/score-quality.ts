import type { ScoredOrders } from '../../statistics/calibration.ts';
import { type JudgedOrders, scoreFigures } from '../calibrate/score-figures.ts';
import type { ScoreQuality } from './backtest-report.ts';

/** Orders of one cluster of clients that had the same paymentScore when they were first asked for. */
export type ClusteredScore = JudgedOrders & ScoredOrders;

export function scoreQuality(scored: readonly ClusteredScore[]): ScoreQuality {
  const { orders, auc, aucOfGranted, brier, calibrationError } = scoreFigures(scored, ({ score }) => score);
  return {
    orders,
    auc: auc?.value ?? null,
    brier: brier?.value ?? null,
    calibrationError: calibrationError?.value ?? null,
    aucOfGranted,
    intervals: { auc, brier, calibrationError },
  };
}
