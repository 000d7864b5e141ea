import { setTimeout as sleep } from 'node:timers/promises';
import { isInstallation } from '../../../access/access-keys.ts';
import type { Caller } from '../../../access/caller.ts';
import { type EvidenceTask, isUnderWay } from '../../../evidence/desk/evidence-task.ts';
import type { Answered } from '../../../evidence/question.ts';
import { VERSIONS as ASKED_VERSIONS, EXPERIMENT } from '../../../evidence/questions.ts';
import {
  isRuleVersion,
  RULE_VERSION_FORM,
  RULE_VERSION_PATTERN,
  type RuleVersion,
} from '../../../rules/rule-set.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { BAD_PARAMETER, queryInstant, queryText } from '../../operation/parameters.ts';
import { hangUp } from '../../request/hang-up.ts';
import { refusal, unavailable } from '../../request/problems.ts';
import { asJob, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, QUEUE_FULL } from './evidence.ts';

/** How long a caller waits for a result at most. */
const WAITS_MAX_MS = 20_000;
const LOOKS_EVERY_MS = 100;

const ONE_VERSION = RULE_VERSION_PATTERN.slice(1, -1);
const VERSIONS = queryText('versions', 'Candidates of the newest trial, like p2.v11,p2.v12; absent: all', {
  pattern: `^${ONE_VERSION}(,${ONE_VERSION})*$`,
});
const AS_OF = queryInstant('asOf', 'What was known at this moment; absent: now');

const NOT_YET = refusal(
  'experiment-not-yet',
  'It takes longer, or others are worked on first; the same question leads to the same work.',
  () => unavailable('The experiment is being worked out; ask again.'),
);

export const readExperiment = operation({
  method: 'get',
  path: '/v1/platform/experiment',
  operationId: 'readExperiment',
  summary: 'What the versions on trial are worth',
  description:
    'What "rules experiment" prints: orders, money, requisites and waits of the clients of each version of the newest trial, how they differ from the active one, and what is recommended. Worked out from the archive; for ten minutes the same question has the same answer.',
  tag: 'Evidence',
  grant: 'rules',
  parameters: [VERSIONS, AS_OF],
  answers: jsonAnswer('By arm', EXPERIMENT.schema),
  refusals: [BAD_PARAMETER, NO_ARCHIVE, DESK_BUSY, QUEUE_FULL, NOT_YET],
  answer: async ({ ctx, caller }, parts: EvidenceParts) => {
    const task: EvidenceTask = {
      kind: EXPERIMENT.kind,
      options: { [ASKED_VERSIONS.name]: versionsOf(VERSIONS.read(ctx)) },
      ruleSets: {},
      asOf: AS_OF.read(ctx),
      platform: isInstallation(caller.platform) ? null : caller.platform,
      from: null,
      to: null,
    };
    const hungUp = hangUp(ctx);
    const { jobId } = await asJob(caller, task, parts, null, hungUp);
    const result = await awaited(jobId, caller, parts, hungUp);
    if (result === null) throw NOT_YET.problem();
    return result;
  },
});

function versionsOf(text: string | null): readonly RuleVersion[] {
  return (text?.split(',') ?? []).map((version) => {
    if (isRuleVersion(version)) return version;
    throw BAD_PARAMETER.problem(`The parameter versions must name versions: ${RULE_VERSION_FORM}.`);
  });
}

/** The result of a job; null when that takes longer or somebody stopped it. Throws when it fails. */
async function awaited(
  jobId: string,
  { platform }: Pick<Caller, 'platform'>,
  { evidence: { jobStore } }: EvidenceParts,
  hungUp: AbortSignal,
): Promise<Answered | null> {
  const deadline = performance.now() + WAITS_MAX_MS;
  while (performance.now() < deadline) {
    const job = await jobStore.get(platform, jobId);
    if (job?.state === 'done') return jobStore.result(job);
    if (job === null || job.state === 'cancelled') return null;
    if (!isUnderWay(job)) throw new Error(job.trouble ?? 'the experiment failed');
    await sleep(LOOKS_EVERY_MS);
    hungUp.throwIfAborted();
  }
  return null;
}
