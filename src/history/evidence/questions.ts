import { BacktestReportSchema, presentBacktest } from './backtest/backtest-report.ts';
import { DriftReportSchema, presentDrift } from './drift-report.ts';
import { createExperimentPresentation, ExperimentSchema } from './experiment/experiment-report.ts';
import { OBJECTIVE_OPTIONS, readObjectiveOrNull, TRIAL_OBJECTIVE_OPTIONS } from './objective-options.ts';
import {
  choiceOption,
  declareQuestion,
  type Question,
  requireNamedOrLastRules,
  requireRecordedRules,
  textsOption,
  timeOption,
  versionOption,
  versionsOption,
} from './question.ts';
import { presentWorthReport, SLICE_NAMES, WorthReportSchema } from './report/worth-report.ts';

const LOOKED_AT = versionOption({
  name: 'version',
  description: 'A rule set, like p2.v11; without it: the one that decided last',
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
  description: 'the version to compare with; without it a backtest compares with the versions that decided',
});

const BY = choiceOption({
  name: 'by',
  values: SLICE_NAMES,
  description: 'also show the results of each rule by this',
});

const REPORT = declareQuestion({
  kind: 'report',
  title: 'Results of each rule',
  description: 'show what each rule matched, decided and was needed for, and what became of those orders',
  options: [LOOKED_AT, AGAINST, BY, ...OBJECTIVE_OPTIONS],
  example: { version: 'p2.v11', by: 'day' },
  namesOrders: true,
  resultName: 'RulesReport',
  result: WorthReportSchema,
  run: async (asking) => {
    const { reportRuleWorth: report } = await import('./report/report.ts');
    const rules = await requireNamedOrLastRules(asking, LOOKED_AT);
    const { evidence, options, onProgress } = asking;
    const base = AGAINST.read(options);
    const against = base === null ? null : asking.rules.named(base);
    const objective = readObjectiveOrNull(options);
    const judgedBy = objective === null ? {} : { objective };
    const { recorded } = asking.rules;
    return report(evidence, { rules, against, by: BY.read(options), ...judgedBy, recorded, onProgress });
  },
  shown: presentWorthReport,
});

const VARY = textsOption({
  name: 'vary',
  form: 'PATH=VALUES',
  most: 3,
  description:
    'try other values of a constant, too, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s; several constants are combined',
});

const BACKTEST = declareQuestion({
  kind: 'backtest',
  title: 'What a version would have decided',
  description:
    'show what a version, draft or released, would have granted and refused, replayed from an empty state',
  options: [TRIED, AGAINST, VARY],
  reads: 'span',
  example: { version: 'p2.v11', vary: ['groups.blocked-by-unpaid-chain.unpaidChain=2..8'] },
  namesOrders: true,
  resultName: 'BacktestReport',
  result: BacktestReportSchema,
  run: async ({ evidence, options, rules, onProgress }) => {
    const { runBacktest: backtest } = await import('./backtest/backtest.ts');
    const { createVariedRuleSets: variationsOf } = await import('./backtest/variations.ts');
    const name = TRIED.read(options) ?? '';
    const version = rules.named(name);
    const vary = VARY.read(options);
    const others = vary.length === 0 ? null : variationsOf(version, rules.files(name), vary);
    const base = AGAINST.read(options);
    return backtest(evidence, {
      tried: others ?? [{ rules: version, values: {} }],
      against: base === null ? null : rules.named(base),
      rulesOf: (decided) =>
        requireRecordedRules(rules, decided, 'name the base yourself: --against <version>'),
      onProgress,
    });
  },
  shown: presentBacktest,
});

const WHOSE = versionOption({
  name: 'version',
  description: 'Only decisions of this rule set; without it: all decisions',
  isArgument: true,
});
const SPLIT = timeOption({
  name: 'split',
  description: 'when the later part begins; without it: in the middle of the time',
});

const DRIFT = declareQuestion({
  kind: 'drift',
  title: 'What changed over time',
  description:
    'compare facts, verdicts, paid share and calibration of the later part of the time with the earlier, of all decisions or of those that one version made',
  options: [WHOSE, SPLIT],
  example: {},
  decidedBy: WHOSE,
  resultName: 'Drift',
  result: DriftReportSchema,
  run: async ({ evidence, options, onProgress }) => {
    const { measureDriftBetweenPeriods: drift } = await import('./drift.ts');
    return drift(evidence, SPLIT.read(options), onProgress);
  },
  shown: presentDrift,
});

export const EXPERIMENT_VERSIONS_OPTION = versionsOption({
  name: 'versions',
  description: 'Candidates of the newest trial; without it: all',
  isArgument: true,
});

export const EXPERIMENT_QUESTION = declareQuestion({
  kind: 'experiment',
  title: 'Results of the versions on trial',
  description:
    'compare the versions of the newest trial by their clients: orders, money, requisites and waits, with intervals that hold at every look, and say what to do next',
  options: [EXPERIMENT_VERSIONS_OPTION, ...TRIAL_OBJECTIVE_OPTIONS],
  example: { versions: ['p2.v11'] },
  resultName: 'Experiment',
  result: ExperimentSchema,
  run: async ({ evidence, options, onProgress }) => {
    const { compareVersionsOnTrial: experiment } = await import('./experiment/experiment.ts');
    return experiment(
      evidence,
      EXPERIMENT_VERSIONS_OPTION.read(options),
      onProgress,
      readObjectiveOrNull(options),
    );
  },
  shown: createExperimentPresentation,
});

/** All questions about recorded decisions, each declared once. */
export const QUESTIONS: readonly Question[] = [REPORT, BACKTEST, DRIFT, EXPERIMENT_QUESTION];

/** Finds a question by its kind. Returns undefined if there is no such question. */
export function findQuestion(kind: string): Question | undefined {
  return QUESTIONS.find((one) => one.kind === kind);
}
