import type { Caller } from '../../../access/caller.ts';
import type { EvidenceDesk } from '../../../evidence/desk/evidence-desk.ts';
import type { EvidenceJob, EvidenceTask } from '../../../evidence/desk/evidence-task.ts';
import { readable } from '../../../evidence/result.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { DONE, jsonAnswer, operation } from '../../operation/operation.ts';
import { pathText, type RouteContext } from '../../operation/parameters.ts';
import { notFound, refusal } from '../../request/problems.ts';
import {
  EvidenceJobListSchema,
  JOB_EXAMPLE,
  OpenedEvidenceSchema,
  type ShownJob,
} from './evidence-shapes.ts';

export interface EvidenceParts {
  readonly evidence: EvidenceDesk;
  readonly loadedRules: LoadedRules;
}

const UNKNOWN_JOB = refusal('unknownJob', 'The platform has no such job, or it was long ago.', () =>
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
export function shownJob({ task, seenAt: _seen, credential: _whose, ...job }: EvidenceJob): ShownJob {
  const { kind, rules, from, to, asOf } = task;
  return { kind, rules, from, to, asOf, ...NOT_ASKED, ...ofKind(task), ...job };
}

const NOT_ASKED = { against: null, mode: null, vary: null, by: null, budgetPercent: null } as const;

/** What was asked besides rules and time. */
function ofKind(task: EvidenceTask): Partial<ShownJob> {
  switch (task.kind) {
    case 'report':
      return { by: task.by };
    case 'backtest':
      return { against: task.against, mode: task.mode };
    case 'sweep':
      return { vary: task.vary };
    case 'calibration':
    case 'drift':
    case 'experiment':
      return {};
    case 'suggestion':
      return { budgetPercent: 100 * task.budget };
    default:
      return task satisfies never;
  }
}
