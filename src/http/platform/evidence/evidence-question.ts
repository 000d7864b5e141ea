import { type AccessKey, isInstallation } from '../../../access/access-keys.ts';
import type { RuleDesk } from '../../../analysis/desk/rule-desk.ts';
import { toEpochMs } from '../../../client/instant.ts';
import {
  ALL_WAITING_MAX,
  EvidenceDeskBusy,
  NoArchive,
  PLATFORM_WAITING_MAX,
} from '../../../evidence/desk/evidence-desk.ts';
import type { EvidenceTask, NamedRuleSet } from '../../../evidence/desk/evidence-task.ts';
import { Type } from '../../../json-schema.ts';
import type { DraftText } from '../../../rules/folder/draft.ts';
import { instant } from '../../../shapes.ts';
import { jsonAnswer, type Operation, operation } from '../../operation/operation.ts';
import { malformed, malformedAt, type RequestBody } from '../../operation/request-body.ts';
import { HttpProblem, refusal, unavailable } from '../../request/problems.ts';
import { BAD_DRAFT_NAME, DRAFT_UNSOUND } from '../rules/drafts/draft-body.ts';
import { atDesk, DESK_FULL } from '../rules/drafts/draft-turn.ts';
import { soundVersion, UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { broughtDraft, type TriedBody } from './brought-draft.ts';
import { type EvidenceParts, shownJob } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE, type ShownJob } from './evidence-shapes.ts';

const NO_ARCHIVE = refusal(
  'noArchive',
  'There is no archive on this node, so there is nothing to work evidence out from.',
  () =>
    new HttpProblem(
      409,
      'no archive',
      'There is no archive on this node yet: the first decisions are shipped within ten seconds, and with ARCHIVE_DIR=off never.',
    ),
);

const DESK_BUSY = refusal(
  'evidenceBusy',
  'The node works on one at a time, and as many wait, of all platforms or of this one, as it lets wait.',
  () =>
    unavailable(
      `This node works evidence out one piece at a time, for the platforms in turns, and lets ${PLATFORM_WAITING_MAX} of a platform wait, ${ALL_WAITING_MAX} of all. Try again when one of them is done, or cancel one.`,
    ),
);

const SPAN_BACKWARDS = ['/to', 'must be after from'] as const;

/** The members of a body that name the time of the decisions. */
export const SPAN_MEMBERS = { from: Type.Optional(instant), to: Type.Optional(instant) } as const;

interface SpanBody {
  readonly from?: string | number;
  readonly to?: string | number;
}

type Span = Pick<EvidenceTask, 'platform' | 'from' | 'to'>;

type WithoutSpan<Task> = Task extends EvidenceTask ? Omit<Task, keyof Span> : never;

/** The rule set of a version as it is on this node now; throws when the body's member names none. */
type RulesNamed = (version: string, member: string) => NamedRuleSet;

interface QuestionParts extends EvidenceParts {
  readonly desk: RuleDesk;
}

interface EvidenceQuestion<Body> {
  /** What the path ends with. */
  readonly kind: EvidenceTask['kind'];
  readonly operationId: string;
  readonly summary: string;
  /** What the job comes to; a sentence without its end. */
  readonly asksFor: string;
  readonly body: RequestBody<Body>;
  /** The body may bring the files of a draft along, as `files`. */
  readonly takesDraft?: boolean;
  /** In what the job of the example is unlike that of a report. */
  readonly example: Partial<ShownJob>;
  readonly task: (body: Body, rulesNamed: RulesNamed) => WithoutSpan<EvidenceTask>;
}

/** Declares a question that the archive answers: asking it gives a job, and the job has a result in the end. */
export function evidenceQuestion<Body extends SpanBody & TriedBody>({
  kind,
  operationId,
  summary,
  asksFor,
  body: requestBody,
  takesDraft = false,
  example,
  task,
}: EvidenceQuestion<Body>): Operation<QuestionParts> {
  return operation({
    method: 'post',
    path: `/v1/platform/evidence/${kind}`,
    operationId,
    summary,
    description: `Asks for ${asksFor}. It is worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.`,
    tag: 'Evidence',
    grant: 'rules',
    body: requestBody,
    answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
      ...JOB_EXAMPLE,
      kind,
      by: null,
      ...example,
    }),
    refusals: [
      malformed(...SPAN_BACKWARDS),
      UNSOUND_VERSION,
      UNKNOWN_VERSION,
      NO_ARCHIVE,
      DESK_BUSY,
      ...(takesDraft ? [BAD_DRAFT_NAME, DRAFT_UNSOUND, DESK_FULL] : []),
    ],
    answer: ({ key, body }, parts: QuestionParts) => {
      const job = async () => {
        const asked = await body();
        const brought = takesDraft ? await broughtDraft(asked, parts.desk, key.platform) : null;
        const question = task(asked, (version, member) => {
          if (brought !== null && member === 'version') return brought.rules;
          const { version: ruleVersion, digest } = soundVersion(version, member, parts.loadedRules);
          return { ruleVersion, digest };
        });
        return jobFor(key, { ...question, ...spanOf(key, asked) }, parts, brought?.draft ?? null);
      };
      return takesDraft ? atDesk(parts.desk, key, job) : job();
    },
  });
}

/** Null as platform where the key is of the whole installation: it sees all. */
function spanOf({ platform }: AccessKey, { from, to }: SpanBody): Span {
  const span = { from: toEpochMs(from), to: toEpochMs(to) };
  if (span.from !== null && span.to !== null && span.to <= span.from) throw malformedAt(...SPAN_BACKWARDS);
  return { platform: isInstallation(platform) ? null : platform, ...span };
}

async function jobFor(
  key: AccessKey,
  task: EvidenceTask,
  { evidence }: EvidenceParts,
  draft: DraftText | null,
): Promise<ShownJob> {
  try {
    return shownJob(await evidence.ask(key, task, draft));
  } catch (error) {
    if (error instanceof NoArchive) throw NO_ARCHIVE.problem();
    throw error instanceof EvidenceDeskBusy ? DESK_BUSY.problem() : error;
  }
}
