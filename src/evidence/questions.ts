import { BACKTEST_MODES, BacktestSchema, shownBacktest } from './backtest/backtest-report.ts';
import { OUTCOME_ASSUMPTIONS } from './backtest/lives.ts';
import { DriftSchema, shownDrift } from './drift-report.ts';
import { ExperimentSchema, shownExperiment } from './experiment/experiment-report.ts';
import {
  choiceOption,
  type Question,
  question,
  recordedRules,
  rulesOrLast,
  textsOption,
  timeOption,
  versionOption,
  versionsOption,
} from './question.ts';
import { ReportSchema, SLICE_NAMES, shownReport } from './report/rule-report.ts';
import { SweepSchema, shownSweep } from './sweep/sweep-report.ts';

const LOOKED_AT = versionOption({
  name: 'version',
  description: 'A rule set, like p2.v11; absent: the one that decided last',
  isArgument: true,
});
const TRIED = versionOption({
  name: 'version',
  description: 'A rule set, released or a draft, like p2.v11',
  isArgument: true,
  isRequired: true,
});
const AGAINST = versionOption({
  name: 'against',
  description: 'compare with this version instead of with what was recorded',
});

const BY = choiceOption({
  name: 'by',
  values: SLICE_NAMES,
  description: 'besides all decisions, each rule by',
});

const REPORT = question({
  kind: 'report',
  title: 'What each rule was worth',
  description: 'what each rule matched, decided and was needed for, and what became of those orders',
  options: [LOOKED_AT, BY],
  example: { version: 'p2.v11', by: 'day' },
  resultName: 'RulesReport',
  result: ReportSchema,
  run: async (asking) => {
    const { report } = await import('./report/report.ts');
    const rules = await rulesOrLast(asking, LOOKED_AT);
    const { evidence, options, onProgress } = asking;
    return report(evidence, { rules, by: BY.read(options), onProgress });
  },
  shown: shownReport,
});

const MODE = choiceOption({
  name: 'mode',
  values: BACKTEST_MODES,
  description:
    'recorded: each decision again on its recorded facts; closed-loop: all inputs again from an empty state',
});
const OUTCOMES = choiceOption({
  name: 'outcomes',
  values: OUTCOME_ASSUMPTIONS,
  description:
    'closed-loop: granted lets only outcomes of orders happen that the version granted, all repeats every recorded one',
});

const BACKTEST = question({
  kind: 'backtest',
  title: 'What a version would have decided',
  description: 'what a version, draft or released, would have decided on what happened',
  options: [TRIED, AGAINST, MODE, OUTCOMES],
  example: { version: 'p2.v11', against: 'p2.v10', mode: 'closed-loop' },
  namesOrders: true,
  resultName: 'BacktestReport',
  result: BacktestSchema,
  run: async ({ evidence, options, rules, onProgress }) => {
    const { backtest } = await import('./backtest/backtest.ts');
    const base = AGAINST.read(options);
    return backtest(evidence, {
      candidate: rules.named(TRIED.read(options) ?? ''),
      against: base === null ? null : rules.named(base),
      mode: MODE.read(options) ?? 'recorded',
      outcomes: OUTCOMES.read(options) ?? 'granted',
      rulesOf: (decided) => recordedRules(rules, decided, 'name the base yourself: --against <version>'),
      onProgress,
    });
  },
  shown: shownBacktest,
});

const VARY = textsOption({
  name: 'vary',
  form: 'PATH=VALUES',
  most: 3,
  description:
    'like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s; several are combined',
  isRequired: true,
});

const SWEEP = question({
  kind: 'sweep',
  title: 'What other values of a constant would have done',
  description: 'replay history with other values of a constant, and print what each choice costs and saves',
  options: [TRIED, VARY, OUTCOMES],
  example: { version: 'p2.v11', vary: ['groups.blocked-by-unpaid-chain.unpaidChain=2..8'] },
  resultName: 'SweepReport',
  result: SweepSchema,
  run: async ({ evidence, options, rules, onProgress }) => {
    const { combinationsOf, parseVariation, sweep } = await import('./sweep/sweep.ts');
    const version = TRIED.read(options) ?? '';
    const files = rules.files(version);
    const variations = VARY.read(options).map((text) => parseVariation(files, text));
    const combinations = combinationsOf(rules.named(version).version, files, variations);
    const outcomes = OUTCOMES.read(options) ?? 'granted';
    return sweep(evidence, {
      combinations,
      version: rules.named(version).version,
      outcomes,
      threads: 1,
      onProgress,
    });
  },
  shown: shownSweep,
});

const WHOSE = versionOption({
  name: 'version',
  description: 'Only decisions of this rule set; absent: of all',
  isArgument: true,
});
const SPLIT = timeOption({
  name: 'split',
  description: 'where the later part begins; without it in the middle of the time',
});

const DRIFT = question({
  kind: 'drift',
  title: 'What has changed from the earlier to the later part of the time',
  description:
    'compare facts, verdicts, paid share and calibration of the later part of the time with the earlier, of all decisions or of those that one version made',
  options: [WHOSE, SPLIT],
  example: {},
  decidedBy: WHOSE,
  resultName: 'Drift',
  result: DriftSchema,
  run: async ({ evidence, options, onProgress }) => {
    const { drift } = await import('./drift.ts');
    return drift(evidence, SPLIT.read(options), onProgress);
  },
  shown: shownDrift,
});

export const VERSIONS = versionsOption({
  name: 'versions',
  description: 'Candidates of the newest trial; absent: all',
  isArgument: true,
});

export const EXPERIMENT = question({
  kind: 'experiment',
  title: 'What the versions on trial are worth',
  description:
    'compare the versions of the newest trial by their clients: orders, money, requisites and waits, with intervals that hold however often somebody looks, and what to do next',
  options: [VERSIONS],
  example: { versions: ['p2.v11'] },
  resultName: 'Experiment',
  result: ExperimentSchema,
  run: async ({ evidence, options, onProgress }) => {
    const { experiment } = await import('./experiment/experiment.ts');
    return experiment(evidence, VERSIONS.read(options), onProgress);
  },
  shown: shownExperiment,
});

/** All that can be asked of recorded decisions, each declared once. */
export const QUESTIONS: readonly Question[] = [REPORT, BACKTEST, SWEEP, DRIFT, EXPERIMENT];

/** By its kind; undefined where there is no such question. */
export function questionOf(kind: string): Question | undefined {
  return QUESTIONS.find((one) => one.kind === kind);
}
