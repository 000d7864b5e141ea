import { backtest } from '../../../src/evidence/backtest/backtest.ts';
import type { BacktestReport } from '../../../src/evidence/backtest/backtest-report.ts';
import { variationsOf } from '../../../src/evidence/backtest/variations.ts';
import { drift } from '../../../src/evidence/drift.ts';
import type { Drift } from '../../../src/evidence/drift-report.ts';
import { experiment } from '../../../src/evidence/experiment/experiment.ts';
import type { Experiment } from '../../../src/evidence/experiment/experiment-report.ts';
import { report } from '../../../src/evidence/report/report.ts';
import type { Report } from '../../../src/evidence/report/rule-report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import type { Workplace } from '../backtest/backtest-history.ts';
import { all } from './lived-evidence.ts';

export type Figures = Report | BacktestReport | Drift | Experiment;

/** The output of most commands; null: of all that is known. */
export function figuresOf(
  place: Workplace,
  looked: EvidencePlace,
  asOf: number | null,
): Promise<readonly Figures[]> {
  const rules = place.rules('p2.v10');
  return withEvidence({ ...all(looked), asOf }, async (evidence) => [
    await report(evidence, { rules, against: place.rules('p2.v13'), by: 'week' }),
    await backtest(evidence, {
      tried: [{ rules: place.rules('p2.v13'), values: {} }],
      against: rules,
      rulesOf: () => rules,
    }),
    await drift(evidence, null),
    await experiment(evidence, []),
  ]);
}

/** The same of variations, which take longer. */
export function replayedFiguresOf(
  place: Workplace,
  looked: EvidencePlace,
  asOf: number | null,
): Promise<readonly Figures[]> {
  const files = readRuleFiles(`${place.rulesDir}/p2.v10`, []) ?? new Map();
  const rules = place.rules('p2.v10');
  const tried = variationsOf(rules, files, ['groups.blocked-by-unpaid-chain.unpaidChain=2,3']);
  return withEvidence({ ...all(looked), asOf }, async (evidence) => [
    await backtest(evidence, { tried, against: null, rulesOf: () => rules }),
  ]);
}
