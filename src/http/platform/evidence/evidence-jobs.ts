import type { Caller } from '../../../access/caller.ts';
import { BACKTEST_MODES, BacktestSchema } from '../../../evidence/backtest/backtest-report.ts';
import type { EvidenceDesk } from '../../../evidence/desk/evidence-desk.ts';
import {
  type EvidenceJob,
  type EvidenceTask,
  JOB_STATES,
  TASK_KINDS,
} from '../../../evidence/desk/evidence-task.ts';
import { DriftSchema } from '../../../evidence/drift-report.ts';
import { ExperimentSchema } from '../../../evidence/experiment/experiment-report.ts';
import { ReportSchema } from '../../../evidence/report/rule-report.ts';
import { readable } from '../../../evidence/result.ts';
import { SHOWN_MEMBERS } from '../../../evidence/shown.ts';
import { SweepSchema } from '../../../evidence/sweep/sweep-report.ts';
import { type TObject, type TProperties, Type } from '../../../json-schema.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { ruleVersion } from '../../../rules/rule-set.ts';
import {
  choice,
  count,
  epochMs,
  list,
  named,
  nullable,
  oneOf,
  type Shape,
  shape,
  word,
} from '../../../shapes.ts';
import { AT_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { DONE, jsonAnswer, operation } from '../../operation/operation.ts';
import { pathText, type RouteContext } from '../../operation/parameters.ts';
import { notFound, refusal } from '../../request/problems.ts';

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
    drift: shown('Drift', DriftSchema),
    experiment: ShownExperimentSchema,
  },
  'What the command of that name (rules report, backtest, sweep, drift, experiment) prints with --json',
);

function shown<P extends TProperties>(name: string, result: TObject<P>) {
  return named(name, Type.Object({ ...result.properties, ...SHOWN_MEMBERS }));
}

const OpenedEvidenceSchema = named(
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

export interface EvidenceParts {
  readonly evidence: EvidenceDesk;
  readonly loadedRules: LoadedRules;
}

const UNKNOWN_JOB = refusal('unknown-job', 'The platform has no such job, or it was long ago.', () =>
  notFound('There is no such job; what was worked out is kept for seven days. Ask again.'),
);

const JOB_ID = pathText('jobId', 'As it was answered when the job was asked for');

export const listEvidence = operation({
  method: 'get',
  path: '/v1/platform/evidence',
  operationId: 'listEvidence',
  summary: 'What was worked out of late',
  description:
    'Jobs of this platform on all nodes, with how far they are; for the owner of the installation also what is under way of all others.',
  tag: 'Evidence',
  grant: 'rules',
  answers: jsonAnswer('Newest first', EvidenceJobListSchema, { jobs: [JOB_EXAMPLE] }),
  refusals: [],
  answer: async ({ caller }, { evidence }: EvidenceParts) => ({
    jobs: (await evidence.shelf.seenBy(caller.platform)).map(shownJob),
  }),
});

export const readEvidence = operation({
  method: 'get',
  path: '/v1/platform/evidence/{jobId}',
  operationId: 'readEvidence',
  summary: 'How far a job is, and what it came to',
  description: 'Any node answers, whichever works on it. Kept for seven days, across restarts.',
  tag: 'Evidence',
  grant: 'rules',
  parameters: [JOB_ID],
  answers: jsonAnswer('The job; with its result when it is done', OpenedEvidenceSchema, {
    job: JOB_EXAMPLE,
    result: null,
  }),
  refusals: [UNKNOWN_JOB],
  answer: async ({ ctx, caller }, parts: EvidenceParts) => {
    const job = await requiredJob(ctx, caller, parts);
    // The result is kept a moment before its job is done; whoever removed it then would cancel the job instead of forgetting it.
    const isDone = job.state === 'done';
    const result = isDone ? await parts.evidence.shelf.result(job) : null;
    return { job: shownJob(job), result: result === null ? null : readable(result) };
  },
});

export const removeEvidence = operation({
  method: 'delete',
  path: '/v1/platform/evidence/{jobId}',
  operationId: 'removeEvidence',
  summary: 'Stop a job, or forget what it came to',
  description:
    'One that is under way ends within a second or two, on whichever node; one that is over is forgotten. The owner of the installation stops what is under way of any platform.',
  tag: 'Evidence',
  grant: 'rules',
  parameters: [JOB_ID],
  answers: DONE,
  refusals: [UNKNOWN_JOB],
  answer: async ({ ctx, caller }, parts: EvidenceParts) => {
    await parts.evidence.remove(await requiredJob(ctx, caller, parts));
  },
});

async function requiredJob(
  ctx: RouteContext,
  caller: Caller,
  { evidence }: EvidenceParts,
): Promise<EvidenceJob> {
  const job = await evidence.shelf.get(caller.platform, JOB_ID.read(ctx));
  if (job === null) throw UNKNOWN_JOB.problem();
  return job;
}

/** A job as the platform API shows it. */
export function shownJob({
  task,
  seenAt: _seen,
  credential: _whose,
  oldestRead: _read,
  ...job
}: EvidenceJob): ShownJob {
  const { kind, rules, from, to, asOf } = task;
  return { kind, rules, from, to, asOf, ...NOT_ASKED, ...ofKind(task), ...job };
}

const NOT_ASKED = { against: null, mode: null, vary: null, by: null } as const;

/** What was asked besides rules and time. */
function ofKind(task: EvidenceTask): Partial<ShownJob> {
  switch (task.kind) {
    case 'report':
      return { by: task.by };
    case 'backtest':
      return { against: task.against, mode: task.mode };
    case 'sweep':
      return { vary: task.vary };
    case 'drift':
    case 'experiment':
      return {};
    default:
      return task satisfies never;
  }
}
