import { BACKTEST_MODES, BacktestSchema } from '../../../evidence/backtest/backtest-report.ts';
import { CalibrationSchema } from '../../../evidence/calibrate/calibration.ts';
import { JOB_STATES, TASK_KINDS } from '../../../evidence/desk/evidence-task.ts';
import { DriftSchema } from '../../../evidence/drift-report.ts';
import { ExperimentSchema } from '../../../evidence/experiment/experiment-report.ts';
import { ReportSchema } from '../../../evidence/report/rule-report.ts';
import { SHOWN_MEMBERS } from '../../../evidence/shown.ts';
import { SuggestionSchema } from '../../../evidence/suggest/suggestion.ts';
import { SweepSchema } from '../../../evidence/sweep/sweep-report.ts';
import { type TObject, type TProperties, Type } from '../../../json-schema.ts';
import { ruleVersion } from '../../../rules/rule-set.ts';
import {
  choice,
  count,
  epochMs,
  list,
  named,
  nullable,
  oneOf,
  percent,
  type Shape,
  shape,
  word,
} from '../../../shapes.ts';
import { AT_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';

const ruleSet = shape('A rule set by its files', { ruleVersion, digest: word('Over its files') });

export const EvidenceJobSchema = named(
  'EvidenceJob',
  shape('Something that is worked out from the archive', {
    jobId: word('Leads to it, and to its result, for seven days'),
    platform: word('Whose it is; * is the owner of the installation'),
    kind: choice(TASK_KINDS, 'What it is'),
    rules: nullable(ruleSet),
    against: nullable(ruleSet),
    mode: nullable(choice(BACKTEST_MODES, 'Of a backtest')),
    vary: nullable(list(word('PATH=VALUES'), 'Of a sweep')),
    by: nullable(word('Of a report: the slices that each rule is shown by')),
    budgetPercent: nullable(percent('Of a suggestion: the paid orders that may be refused besides')),
    from: nullable(epochMs('Decisions from this time on; null: from the first')),
    to: nullable(epochMs('Decisions before this time; null: to the last')),
    asOf: nullable(epochMs('What was known then; null: all that is known')),
    state: choice(JOB_STATES, 'How far it is'),
    askedBy: word('Who asked, as the audit names it'),
    askedAt: epochMs('When it was asked for'),
    startedAt: nullable(epochMs('When its turn came')),
    endedAt: nullable(epochMs('When it was over')),
    progress: nullable(shape('How far the work is', { done: count('Decisions'), of: count('All') })),
    trouble: nullable(word('Why it failed; null unless it did')),
  }),
);

export type ShownJob = Shape<typeof EvidenceJobSchema>;

export const EvidenceJobListSchema = named(
  'EvidenceJobList',
  shape('What was asked for of late', { jobs: list(EvidenceJobSchema, 'Newest first; at most 40 are kept') }),
);

export const ShownExperimentSchema = shown('Experiment', ExperimentSchema);

/** A result by its kind, with the notes and tables that its reader is shown. */
const ResultSchema = oneOf(
  'kind',
  {
    report: shown('RulesReport', ReportSchema),
    backtest: shown('BacktestReport', BacktestSchema),
    sweep: shown('SweepReport', SweepSchema),
    suggestion: shown('Suggestion', SuggestionSchema),
    calibration: shown('Calibration', CalibrationSchema),
    drift: shown('Drift', DriftSchema),
    experiment: ShownExperimentSchema,
  },
  'What the command of that name (rules report, backtest, sweep, suggest, calibrate, drift, experiment) prints with --json',
);

function shown<P extends TProperties>(name: string, result: TObject<P>) {
  return named(name, Type.Object({ ...result.properties, ...SHOWN_MEMBERS }));
}

export const OpenedEvidenceSchema = named(
  'OpenedEvidence',
  shape('A job with its result', {
    job: EvidenceJobSchema,
    result: Type.Union([ResultSchema, Type.Null()], { description: 'Null unless it is done' }),
  }),
);

export const JOB_EXAMPLE = {
  jobId: '0b7c61ff-3a0e',
  platform: 'shop',
  kind: 'report',
  rules: { ruleVersion: 'p2.v11', digest: DIGEST_EXAMPLE },
  against: null,
  mode: null,
  vary: null,
  by: 'day',
  budgetPercent: null,
  from: AT_EXAMPLE - 7 * 86_400_000,
  to: null,
  asOf: null,
  state: 'running',
  askedBy: 'key 3f9a0c51d2e7 of risk-team',
  askedAt: AT_EXAMPLE,
  startedAt: AT_EXAMPLE + 1,
  endedAt: null,
  progress: { done: 120_000, of: 1_000_000 },
  trouble: null,
} as const;
