import { type AccessKey, isInstallation } from '../../../access/access-keys.ts';
import { toEpochMs } from '../../../client/instant.ts';
import {
  type EvidenceDesk,
  EvidenceDeskBusy,
  NoArchive,
  PLATFORM_JOBS_MAX,
  WAITING_MAX,
} from '../../../evidence/desk/evidence-desk.ts';
import type { EvidenceJob } from '../../../evidence/desk/evidence-job.ts';
import type { EvidenceTask, NamedRuleSet } from '../../../evidence/desk/evidence-task.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { DONE, jsonAnswer, operation } from '../../operation/operation.ts';
import type { Parameter, RouteContext } from '../../operation/parameters.ts';
import { malformedAt } from '../../operation/request-body.ts';
import { HttpProblem, notFound, refusal, unavailable } from '../../request/problems.ts';
import { soundVersion } from '../rules/rule-version.ts';
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

export const NO_ARCHIVE = refusal(
  'noArchive',
  'There is no archive on this node, so there is nothing to work evidence out from.',
  () =>
    new HttpProblem(
      409,
      'no archive',
      'There is no archive on this node yet: the first decisions are shipped within ten seconds, and with ARCHIVE_DIR=off never.',
    ),
);

export const DESK_BUSY = refusal(
  'evidenceBusy',
  'The node works on one at a time, and as many wait, of all platforms or of this one, as it lets wait.',
  () =>
    unavailable(
      `This node works evidence out one piece at a time, and lets ${WAITING_MAX} wait, of one platform ${PLATFORM_JOBS_MAX} with the one that is under way. Try again when one of them is done, or cancel one.`,
    ),
);

const UNKNOWN_JOB = refusal('unknownJob', 'The platform has no such job, or it was long ago.', () =>
  notFound('There is no such job; what was worked out is kept for seven days. Ask again.'),
);

const JOB_ID: Parameter<string> = {
  name: 'jobId',
  in: 'path',
  required: true,
  description: 'As it was answered when the job was asked for',
  schema: { type: 'string' },
  read: ({ params }) => params['jobId'] ?? '',
};

export const listEvidence = operation({
  method: 'get',
  path: '/v1/platform/evidence',
  operationId: 'listEvidence',
  summary: 'What was worked out of late',
  description: 'Jobs of this platform on all nodes, with how far they are.',
  tag: 'Evidence',
  grant: 'rules',
  answers: jsonAnswer('Newest first', EvidenceJobListSchema, { jobs: [JOB_EXAMPLE] }),
  refusals: [],
  answer: async ({ key }, { evidence }: EvidenceParts) => ({
    jobs: (await evidence.shelf.list(key.platform)).map(shownJob),
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
  answer: async ({ ctx, key }, parts: EvidenceParts) => {
    const job = await requiredJob(ctx, key, parts);
    return { job: shownJob(job), result: await parts.evidence.shelf.result(key.platform, job.jobId) };
  },
});

export const removeEvidence = operation({
  method: 'delete',
  path: '/v1/platform/evidence/{jobId}',
  operationId: 'removeEvidence',
  summary: 'Stop a job, or forget what it came to',
  description:
    'One that is under way ends within a second or two, on whichever node; one that is over is forgotten.',
  tag: 'Evidence',
  grant: 'rules',
  parameters: [JOB_ID],
  answers: DONE,
  refusals: [UNKNOWN_JOB],
  answer: async ({ ctx, key }, parts: EvidenceParts) => {
    await parts.evidence.remove(key, await requiredJob(ctx, key, parts));
  },
});

/** Asks for a task of the key's platform; `*` sees all. */
export async function asked(
  key: AccessKey,
  task: EvidenceTask,
  { evidence }: EvidenceParts,
): Promise<ShownJob> {
  try {
    return shownJob(await evidence.ask(key, task));
  } catch (error) {
    if (error instanceof NoArchive) throw NO_ARCHIVE.problem();
    throw error instanceof EvidenceDeskBusy ? DESK_BUSY.problem() : error;
  }
}

/** The span that a body names. Throws 400 when it ends before it begins. */
export function spanOf(
  { platform }: AccessKey,
  { from, to }: { readonly from?: string | number; readonly to?: string | number },
): Pick<EvidenceTask, 'platform' | 'from' | 'to'> {
  const span = { from: toEpochMs(from ?? null), to: toEpochMs(to ?? null) };
  if (span.from !== null && span.to !== null && span.to <= span.from)
    throw malformedAt('/to', 'must be after from');
  return { platform: isInstallation(platform) ? null : platform, ...span };
}

/** The rule set of a version as it is on this node now. */
export function namedRules(version: string, member: string, { loadedRules }: EvidenceParts): NamedRuleSet {
  const rules = soundVersion(version, member, loadedRules);
  return { ruleVersion: rules.version, digest: rules.digest };
}

async function requiredJob(
  ctx: RouteContext,
  key: AccessKey,
  { evidence }: EvidenceParts,
): Promise<EvidenceJob> {
  const job = await evidence.shelf.get(key.platform, JOB_ID.read(ctx));
  if (job === null) throw UNKNOWN_JOB.problem();
  return job;
}

function shownJob({ task, seenAt: _, ...job }: EvidenceJob): ShownJob {
  const { kind, rules, from, to } = task;
  return { kind, rules, from, to, ...NOT_ASKED, ...ofKind(task), ...job };
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
      return {};
    case 'suggestion':
      return { budgetPercent: 100 * task.budget };
    default:
      return task satisfies never;
  }
}
