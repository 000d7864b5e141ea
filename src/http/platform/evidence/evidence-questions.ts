import { isInstallation } from '../../../access/access-keys.ts';
import type { Caller } from '../../../access/caller.ts';
import type { RuleDesk } from '../../../authoring/desk/rule-desk.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import { toEpochMs } from '../../../client/instant.ts';
import { BACKTEST_MODES } from '../../../evidence/backtest/backtest-report.ts';
import { OUTCOME_ASSUMPTIONS } from '../../../evidence/backtest/lives.ts';
import {
  ALL_WAITING_MAX,
  EvidenceDeskBusy,
  NoArchive,
  PLATFORM_WAITING_MAX,
} from '../../../evidence/desk/evidence-desk.ts';
import type { EvidenceTask, NamedRuleSet } from '../../../evidence/desk/evidence-task.ts';
import { SLICE_NAMES } from '../../../evidence/report/rule-report.ts';
import { Type } from '../../../json-schema.ts';
import type { DraftText } from '../../../rules/folder/draft.ts';
import { choice, instant, text } from '../../../shapes.ts';
import {
  jsonAnswer,
  jsonBody,
  type Operation,
  operation,
  type RequestBody,
} from '../../operation/operation.ts';
import { HttpProblem, MALFORMED_BODY, refusal, unavailable } from '../../request/problems.ts';
import {
  atDesk,
  DESK_FULL,
  DRAFT_FILES,
  DRAFT_UNSOUND,
  draftBody,
  draftText,
  draftUnsound,
} from '../rules/drafts/draft-body.ts';
import {
  soundVersion,
  TOO_HEAVY,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
  versionText,
  withinLimits,
} from '../rules/rule-version.ts';
import {
  EvidenceJobSchema,
  type EvidenceParts,
  JOB_EXAMPLE,
  type ShownJob,
  shownJob,
} from './evidence-jobs.ts';

/** The members of a body that asks about a version as it lies on this node, or about a draft that is stored nowhere. */
const TRIED_MEMBERS = {
  version: versionText('A rule set, draft or released, like p2.v11'),
  files: Type.Optional({
    ...DRAFT_FILES,
    description:
      'Absent: as it lies in RULES_DIR. The texts of a draft that lies nowhere, by path: they are checked, and kept in the memory of this node for as long as the work takes',
  }),
} as const;

interface TriedBody {
  readonly version?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** A draft that came along, and the name by which a task knows it. */
interface BroughtDraft {
  readonly rules: NamedRuleSet;
  readonly draft: DraftText;
}

/** The draft that a body brings along; null when it brings none. One that is not sound is answered with 422. */
async function broughtDraft(
  { version, files }: TriedBody,
  desk: RuleDesk,
  owner: PlatformName,
): Promise<BroughtDraft | null> {
  if (version === undefined || files === undefined) return null;
  const draft = draftText({ version, files });
  const { digest, problems } = await withinLimits(() => desk.check(owner, draft, null));
  if (digest === null) throw draftUnsound(draft.version, 'tried', problems);
  return { rules: { ruleVersion: draft.version, digest }, draft };
}

export const NO_ARCHIVE = refusal(
  'no-archive',
  "There is no archive on this node, or not this store's, so there is nothing to work evidence out from.",
  (why: string) => new HttpProblem(409, 'no archive', why),
  'There is no archive on this node yet: the first decisions are shipped within ten seconds.',
);

export const DESK_BUSY = refusal(
  'evidence-busy',
  'The node works on one at a time, and as many wait, of all platforms or of this one, as it lets wait.',
  () =>
    unavailable(
      `This node works evidence out one piece at a time, for the platforms in turns, and lets ${PLATFORM_WAITING_MAX} of a platform wait, ${ALL_WAITING_MAX} of all. Try again when one of them is done, or cancel one.`,
    ),
);

const SPAN_BACKWARDS = ['/to', 'must be after from'] as const;

/** The members of a body that name the time of the decisions. */
const SPAN_MEMBERS = {
  from: Type.Optional(instant),
  to: Type.Optional(instant),
  asOf: Type.Optional({
    ...instant,
    description: 'What was known then: only decisions and reports that had come by this time',
  }),
} as const;

interface SpanBody {
  readonly from?: string | number;
  readonly to?: string | number;
  readonly asOf?: string | number;
}

type Span = Pick<EvidenceTask, 'platform' | 'from' | 'to' | 'asOf'>;

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
  /** What the job results in; a sentence without its full stop. */
  readonly asksFor: string;
  readonly body: RequestBody<Body>;
  /** The body may bring the files of a draft along, as `files`. */
  readonly takesDraft?: boolean;
  /** How the job of the example differs from that of a report. */
  readonly example: Partial<ShownJob>;
  readonly task: (body: Body, rulesNamed: RulesNamed) => WithoutSpan<EvidenceTask>;
}

/** Declares a question that the archive answers: asking it gives a job, and the job has a result in the end. */
function evidenceQuestion<Body extends SpanBody & TriedBody>({
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
      UNSOUND_VERSION,
      UNKNOWN_VERSION,
      NO_ARCHIVE,
      DESK_BUSY,
      ...(takesDraft ? [DRAFT_UNSOUND, TOO_HEAVY, DESK_FULL] : []),
    ],
    answer: ({ caller, body }, parts: QuestionParts) => {
      const job = async () => {
        const asked = await body();
        const brought = takesDraft ? await broughtDraft(asked, parts.desk, caller.platform) : null;
        const question = task(asked, (version, member) => {
          if (brought !== null && member === 'version') return brought.rules;
          const { version: ruleVersion, digest } = soundVersion(version, member, parts.loadedRules);
          return { ruleVersion, digest };
        });
        return jobFor(caller, { ...question, ...spanOf(caller, asked) }, parts, brought?.draft ?? null);
      };
      return takesDraft ? atDesk(parts.desk, caller, job) : job();
    },
  });
}

/** Null for a key of the whole installation, which sees all platforms. */
function spanOf({ platform }: Caller, { from, to, asOf }: SpanBody): Span {
  const span = { from: toEpochMs(from), to: toEpochMs(to), asOf: toEpochMs(asOf) };
  if (span.from !== null && span.to !== null && span.to <= span.from)
    throw MALFORMED_BODY.problem(...SPAN_BACKWARDS);
  return { platform: isInstallation(platform) ? null : platform, ...span };
}

/** The job for a task, as the caller sees it. Throws when there is no archive, or the desk is full. */
export async function jobFor(
  caller: Caller,
  task: EvidenceTask,
  { evidence }: EvidenceParts,
  draft: DraftText | null = null,
): Promise<ShownJob> {
  try {
    return shownJob(await evidence.ask(caller, task, draft));
  } catch (error) {
    if (error instanceof NoArchive) throw NO_ARCHIVE.problem(error.message);
    throw error instanceof EvidenceDeskBusy ? DESK_BUSY.problem() : error;
  }
}

const RuleReportBodySchema = Type.Object({
  version: versionText('A rule set, like p2.v11'),
  ...SPAN_MEMBERS,
  by: Type.Optional(choice(SLICE_NAMES, 'Besides all decisions, each rule by')),
});

export const askRuleReport = evidenceQuestion({
  kind: 'report',
  operationId: 'askRuleReport',
  summary: 'What each rule was worth',
  asksFor: 'what "rules report" prints',
  body: jsonBody('RuleReportBody', RuleReportBodySchema, {
    version: 'p2.v11',
    from: '2026-11-01T00:00:00Z',
    by: 'day',
  }),
  example: { by: 'day' },
  task: ({ version, by = null }, rulesNamed) => ({
    kind: 'report',
    rules: rulesNamed(version, 'version'),
    by,
  }),
});

const BacktestBodySchema = Type.Object({
  ...TRIED_MEMBERS,
  against: Type.Optional(versionText('Compare with this version instead of with what was recorded')),
  mode: Type.Optional(choice(BACKTEST_MODES, 'Absent: recorded')),
  outcomes: Type.Optional(
    choice(OUTCOME_ASSUMPTIONS, 'In closed-loop, which recorded outcomes happen; absent: granted'),
  ),
  ...SPAN_MEMBERS,
});

export const askBacktest = evidenceQuestion({
  kind: 'backtest',
  operationId: 'askBacktest',
  summary: 'What a version would have decided',
  asksFor: 'what "rules backtest" prints',
  takesDraft: true,
  body: draftBody('BacktestBody', BacktestBodySchema, {
    version: 'p2.v11',
    mode: 'closed-loop',
    from: '2026-11-01T00:00:00Z',
  }),
  example: { mode: 'closed-loop' },
  task: ({ version, against, mode = 'recorded', outcomes = 'granted' }, rulesNamed) => ({
    kind: 'backtest',
    rules: rulesNamed(version, 'version'),
    against: against === undefined ? null : rulesNamed(against, 'against'),
    mode,
    outcomes,
  }),
});

const SweepBodySchema = Type.Object({
  ...TRIED_MEMBERS,
  vary: Type.Array(text(200, 'PATH=VALUES, as the command takes them'), { minItems: 1, maxItems: 3 }),
  outcomes: Type.Optional(choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happen; absent: granted')),
  ...SPAN_MEMBERS,
});

const VARY_EXAMPLE = ['groups.blocked-by-unpaid-chain.unpaidChain=2..8'];

export const askSweep = evidenceQuestion({
  kind: 'sweep',
  operationId: 'askSweep',
  summary: 'What other values of a constant would have done',
  asksFor:
    'what "rules sweep" prints; a constant or value that cannot be tried is told as the trouble of the job',
  takesDraft: true,
  body: draftBody('SweepBody', SweepBodySchema, { version: 'p2.v11', vary: VARY_EXAMPLE }),
  example: { vary: VARY_EXAMPLE },
  task: ({ version, vary, outcomes = 'granted' }, rulesNamed) => ({
    kind: 'sweep',
    rules: rulesNamed(version, 'version'),
    vary,
    outcomes,
  }),
});

const DriftBodySchema = Type.Object({
  version: Type.Optional(versionText('Only decisions of this rule set; absent: of all')),
  ...SPAN_MEMBERS,
});

export const askDrift = evidenceQuestion({
  kind: 'drift',
  operationId: 'askDrift',
  summary: 'What has changed from the earlier to the later part of the time',
  asksFor: 'what "rules drift" prints',
  body: jsonBody('DriftBody', DriftBodySchema, { from: '2026-11-01T00:00:00Z' }),
  example: { rules: null },
  task: ({ version }, rulesNamed) => ({
    kind: 'drift',
    rules: version === undefined ? null : rulesNamed(version, 'version'),
  }),
});

const ExperimentBodySchema = Type.Object({
  versions: Type.Optional(
    Type.Array(versionText('A candidate of the newest trial'), { maxItems: 10, description: 'Absent: all' }),
  ),
  ...SPAN_MEMBERS,
});

export const askExperiment = evidenceQuestion({
  kind: 'experiment',
  operationId: 'askExperiment',
  summary: 'What the versions on trial are worth',
  asksFor: 'what "rules experiment" prints, as a job; GET /v1/platform/experiment waits for the same',
  body: jsonBody('ExperimentBody', ExperimentBodySchema, { versions: ['p2.v11'] }),
  example: { rules: null },
  task: ({ versions = [] }, rulesNamed) => ({
    kind: 'experiment',
    rules: null,
    versions: versions.map((version) => rulesNamed(version, 'versions').ruleVersion),
  }),
});
