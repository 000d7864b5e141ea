import { type BacktestReport, shownBacktest } from './backtest/backtest-report.ts';
import { type Drift, shownDrift } from './drift-report.ts';
import { type Experiment, shownExperiment } from './experiment/experiment-report.ts';
import { type Report, shownReport } from './report/rule-report.ts';
import type { Shown } from './shown.ts';
import { type SweepReport, shownSweep } from './sweep/sweep-report.ts';

/** The result of evidence, by its kind: plain data. */
export type EvidenceResult = Report | BacktestReport | SweepReport | Drift | Experiment;

/** A result with the notes and tables that its reader is shown. */
export function readable<Result extends EvidenceResult>(result: Result): Result & Shown {
  return { ...result, ...shownOf(result) };
}

function shownOf(result: EvidenceResult): Shown {
  switch (result.kind) {
    case 'report':
      return shownReport(result);
    case 'backtest':
      return shownBacktest(result);
    case 'sweep':
      return shownSweep(result);
    case 'drift':
      return shownDrift(result);
    case 'experiment':
      return shownExperiment(result);
    default:
      return result satisfies never;
  }
}
