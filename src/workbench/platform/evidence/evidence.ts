import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
  NO_CONTENT,
} from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import {
  createNotFoundProblem,
  createTooManyRequestsProblem,
  createUnavailableProblem,
  declareRefusal,
  HttpProblem,
  MALFORMED_BODY,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { isRuleVersion, type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import type { DraftText } from '#decision/rules/text/draft-text.ts';
import type { Question } from '#history/evidence/question.ts';
import { QUESTIONS } from '#history/evidence/questions.ts';
import { ProposalRefused } from '#workbench/approvals/proposals.ts';
import {
  ALL_WAITING_MAX,
  EvidenceDeskBusy,
  NoArchive,
  PLATFORM_WAITING_MAX,
} from '#workbench/evidence/evidence-desk.ts';
import { type EvidenceJob, JOB_STATES } from '#workbench/evidence/evidence-task.ts';
import { createHangUpSignal } from '#workbench/platform/hang-up.ts';
import { declareKindBody } from '#workbench/platform/kind-body.ts';
import { pathParameter } from '#workbench/platform/parameters.ts';
import type { EvidenceParts } from '#workbench/platform/parts.ts';
import { PROPOSAL_REFUSED } from '#workbench/platform/proposals.ts';
import {
  createUnsoundDraftProblem,
  DRAFT_UNSOUND,
  parseDraftBody,
} from '#workbench/platform/rules/drafts/draft-body.ts';
import {
  parseBodyVersion,
  RULE_SET_TOO_HEAVY,
  requireSoundRuleSet,
  runRefusingTooHeavyWork,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
} from '#workbench/platform/rules/rule-version.ts';

const KINDS = QUESTIONS.map(({ kind }) => kind);

export const EvidenceJobSchema = s.named(
  'EvidenceJob',
  s.shape('A job that computes evidence from the archive', {
    jobId: s.plainText('Id of the job; it finds the job and its result for seven days', '0b7c61ff-3a0e'),
    platform: s.plainText('The platform that asked; * is the owner of the installation', 'shop'),
    kind: s.choice(KINDS, 'What was asked'),
    options: Type.Record(Type.Unknown(), {
      description: 'The other options of the question, by their names in the body',
    }),
    ruleSets: s.list(
      s.shape('A rule set by its files', {
        ruleVersion: ruleVersionSchema,
        digest: s.digestText('Digest of its files'),
      }),
      'The rule sets that the question names, as they were when it was asked',
    ),
    from: s.nullable(s.epochMs('Decisions from this time on; null: from the first')),
    to: s.nullable(s.epochMs('Decisions before this time; null: to the last')),
    asOf: s.nullable(s.epochMs('What was known then; null: all that is known')),
    state: s.choice(JOB_STATES, 'Its progress'),
    askedBy: s.plainText('Who asked, as the audit names it', 'key 3f9a0c51d2e7 of risk-team'),
    askedAt: s.epochMs('When it was asked for'),
    startedAt: s.nullable(s.epochMs('When work on it began')),
    endedAt: s.nullable(s.epochMs('When it ended')),
    progress: s.nullable(s.shape('Progress of the work', { done: s.count('Decisions'), of: s.count('All') })),
    trouble: s.nullable(s.plainText('Why it failed; null unless it did')),
  }),
);

export type EvidenceJobView = s.ValueOf<typeof EvidenceJobSchema>;

const QuestionSchema = s.shape('A question that can be asked, described for a form', {
  kind: s.choice(KINDS, 'As the body names it'),
  title: s.plainText('In words', 'Results of each rule'),
  options: s.list(
    s.shape('An option of the question', {
      name: s.plainText('As the body has it', 'version'),
      kind: s.choice(['version', 'versions', 'choice', 'text', 'texts', 'time', 'number'], 'What it takes'),
      description: s.plainText(
        'What it says',
        'A rule set, like p2.v11; without it: the one that decided last',
      ),
      isRequired: s.yesNo('It must be there'),
      values: s.list(s.plainText('A value'), 'The allowed values of a choice'),
      form: s.nullable(s.plainText('How a value is written')),
    }),
    'Besides the time',
  ),
});

export const EvidenceJobListSchema = s.named(
  'EvidenceJobList',
  s.shape('The questions that can be asked, and recent jobs', {
    questions: s.list(QuestionSchema, 'All of them'),
    jobs: s.list(EvidenceJobSchema, 'Newest first; at most 40 are kept'),
  }),
);

const OpenedEvidenceSchema = s.named(
  'OpenedEvidence',
  s.shape('A job with its result', {
    job: EvidenceJobSchema,
    result: Type.Union(
      [
        s.oneOf(
          'kind',
          Object.fromEntries(QUESTIONS.map(({ kind, schema }) => [kind, schema])),
          'What the command "rules" of that kind prints with --json',
        ),
        Type.Null(),
      ],
      { description: 'Null unless it is done' },
    ),
  }),
);

const NO_ARCHIVE = declareRefusal(
  'no-archive',
  'This node has no archive, or one of another store, so it cannot compute evidence.',
  (why: string) => new HttpProblem(409, 'no archive', why),
  'This node has no archive, because ARCHIVE_DIR is off.',
);

const DESK_BUSY = declareRefusal(
  'evidence-busy',
  'The node answers one question at a time, and its queue for all platforms is full.',
  () =>
    createUnavailableProblem(
      `This node answers one question at a time, for the platforms in turn, and ${ALL_WAITING_MAX} are already waiting. Try again when one of them is done.`,
    ),
);

const QUEUE_FULL = declareRefusal('evidence-queue-full', 'The queue of the platform is full.', () =>
  createTooManyRequestsProblem(
    `A node answers one question at a time, and at most ${PLATFORM_WAITING_MAX} of one platform may wait. Try again when one of yours is done, or cancel one.`,
    10,
  ),
);

const SPAN_BACKWARDS = ['/to', 'must be after from'] as const;

const SPAN_MEMBERS = {
  from: Type.Optional(s.requestInstantSchema),
  to: Type.Optional(s.requestInstantSchema),
  asOf: Type.Optional({
    ...s.requestInstantSchema,
    description: 'What was known then: only decisions and reports that had come by this time',
  }),
} as const;

const BODY = declareKindBody(
  'EvidenceBody',
  'kind',
  Object.fromEntries(
    QUESTIONS.map(({ kind, options, example }) => [
      kind,
      {
        name: `${kind[0]?.toUpperCase()}${kind.slice(1)}Body`,
        schema: Type.Object({
          kind: s.literal(kind),
          ...Object.fromEntries(
            options.map((one) => [one.name, one.isRequired ? one.schema : Type.Optional(one.schema)]),
          ),
          ...SPAN_MEMBERS,
        }),
        example: { kind, ...example },
      },
    ]),
  ),
);

const askEvidence = declareOperation({
  route: 'post /v1/platform/evidence',
  summary: 'Ask a question about recorded decisions',
  description:
    'Computes what the "rules" command of the same kind prints. The work runs on the archive, in a process of its own. A version may be one in RULES_DIR, or a draft of the platform. The owner of the installation may also name a draft whose release a platform proposes; it is asked as it would be released. The same question within ten minutes returns the same job.',
  grant: 'rules',
  body: BODY,
  answers: declareJsonAnswer('The job: new, under way or done', EvidenceJobSchema),
  refusals: [
    UNSOUND_VERSION,
    UNKNOWN_VERSION,
    DRAFT_UNSOUND,
    PROPOSAL_REFUSED,
    RULE_SET_TOO_HEAVY,
    NO_ARCHIVE,
    DESK_BUSY,
    QUEUE_FULL,
  ],
  answer: async ({ ctx, caller, body }, parts: EvidenceParts) => {
    const { kind, value } = await body();
    const question = QUESTIONS.find((one) => one.kind === kind);
    if (question === undefined) throw new Error(`no question ${kind} was declared`);
    return requestJob(caller, question, value, parts, createHangUpSignal(ctx));
  },
});

/** Returns the job for a question, as the caller sees it. Throws if there is no archive, or if too many jobs wait. */
async function requestJob(
  caller: Caller,
  question: Question,
  given: Readonly<Record<string, unknown>>,
  parts: EvidenceParts,
  hungUp: AbortSignal,
): Promise<EvidenceJobView> {
  const asked = question.options.filter(({ name }) => given[name] !== undefined);
  const options = Object.fromEntries(asked.map(({ name }) => [name, given[name]]));
  const { ruleSets, draft } = await findNamedRules(caller, asked, options, parts, hungUp);
  // If the caller hung up, nobody would learn of the job.
  hungUp.throwIfAborted();
  const task = { kind: question.kind, options, ruleSets, ...readSpan(caller, given) };
  try {
    return toJobView(await parts.evidence.findOrAddJob(caller, task, draft));
  } catch (error) {
    if (error instanceof NoArchive) throw NO_ARCHIVE.problem(error.message);
    if (error instanceof EvidenceDeskBusy) throw (error.isOfOwn ? QUEUE_FULL : DESK_BUSY).problem();
    throw error;
  }
}

/**
 * Finds the rule sets that options name, with the digests of their files. Throws if there is no such rule set, or if
 * it is not sound.
 */
async function findNamedRules(
  caller: Caller,
  asked: Question['options'],
  options: Readonly<Record<string, unknown>>,
  parts: EvidenceParts,
  hungUp: AbortSignal,
) {
  const ruleSets: Record<string, string> = {};
  let draft: DraftText | null = null;
  for (const { name, kind } of asked) {
    const version = options[name];
    if (kind === 'versions') requireVersions(name, version);
    if (kind !== 'version' || typeof version !== 'string') continue;
    const named = parseBodyVersion(name, version);
    const kept = await readDraft(caller, named, parts, hungUp);
    if (kept === null) ruleSets[version] = requireSoundRuleSet(named, parts.loadedRules).digest;
    else [draft, ruleSets[version]] = [kept.draft, kept.digest];
  }
  return { ruleSets, draft };
}

/** Throws 400 with a pointer to the first text of a member that is no version. */
function requireVersions(member: string, versions: unknown): void {
  if (!Array.isArray(versions)) return;
  for (const [index, version] of versions.entries()) parseBodyVersion(`${member}/${index}`, String(version));
}

/**
 * Reads a draft of the platform. For the installation, reads also a draft whose release is proposed. Returns null if
 * there is no such draft.
 */
async function readDraft(
  { platform }: Caller,
  version: RuleVersion,
  { desk, drafts, approvals }: EvidenceParts,
  hungUp: AbortSignal,
): Promise<{ readonly draft: DraftText; readonly digest: string } | null> {
  const own = await drafts.open(platform, version);
  const openProposed = () =>
    runRefusingKnownErrors(
      () => approvals.openProposedDraft(null, version),
      PROPOSAL_REFUSED.problem,
      ProposalRefused,
    );
  const opened = own ?? (isInstallation(platform) ? await openProposed() : null);
  if (opened === null) return null;
  const draft = parseDraftBody({ version, files: opened.files });
  const begun = { ...draft, from: null };
  const { digest, problems } = await runRefusingTooHeavyWork(() => desk.check(platform, begun, null, hungUp));
  if (digest === null) throw createUnsoundDraftProblem(draft.version, 'tried', problems);
  return { draft, digest };
}

/** Reads platform and time span of a question. The platform is null for a key of the whole installation, which sees all. */
function readSpan({ platform }: Caller, given: Readonly<Record<string, unknown>>) {
  const span = {
    from: toEpochMs(given['from']),
    to: toEpochMs(given['to']),
    asOf: toEpochMs(given['asOf']),
  };
  if (span.from !== null && span.to !== null && span.to <= span.from)
    throw MALFORMED_BODY.problem(...SPAN_BACKWARDS);
  return { platform: isInstallation(platform) ? null : platform, ...span };
}

const UNKNOWN_JOB = declareRefusal(
  'unknown-job',
  'The platform has no such job, or it is older than seven days.',
  () =>
    createNotFoundProblem('There is no such job; results are kept for seven days. Ask the question again.'),
);

const JOB_ID = pathParameter('jobId', 'The jobId of the answer that started the job');

const SHOWN_QUESTIONS = QUESTIONS.map(({ kind, title, options }) => ({
  kind,
  title,
  options: options.map(({ name, kind, description, isRequired, values, form }) => {
    return { name, kind, description, isRequired, values, form };
  }),
}));

const listEvidence = declareOperation({
  route: 'get /v1/platform/evidence',
  summary: 'List recent evidence jobs',
  description:
    'Lists the jobs of this platform on all nodes with their progress; the owner of the installation also sees the running jobs of all platforms.',
  grant: 'rules',
  answers: declareJsonAnswer('Newest first', EvidenceJobListSchema),
  answer: async ({ caller }, { evidence }: EvidenceParts) => ({
    questions: SHOWN_QUESTIONS,
    jobs: (await evidence.jobStore.listVisible(caller.platform)).map(toJobView),
  }),
});

const readEvidence = declareOperation({
  route: 'get /v1/platform/evidence/{jobId}',
  summary: 'Read the progress and result of a job',
  description:
    'Any node answers, whichever node does the work. Jobs are kept for seven days, also across restarts.',
  grant: 'rules',
  parameters: [JOB_ID],
  answers: declareJsonAnswer('The job; with its result when it is done', OpenedEvidenceSchema),
  refusals: [UNKNOWN_JOB],
  answer: async ({ ctx, caller }, parts: EvidenceParts) => {
    const job = await requireJob(ctx, caller, parts);
    // The result is stored a moment before its job is marked as done, but it is shown only from then on. A user who
    // removed the job in between would cancel it instead of deleting it.
    const isDone = job.state === 'done';
    const result = isDone ? await parts.evidence.jobStore.findResult(job) : null;
    return { job: toJobView(job), result };
  },
});

const removeEvidence = declareOperation({
  route: 'delete /v1/platform/evidence/{jobId}',
  summary: 'Stop a job, or delete its result',
  description:
    'A running job ends within two seconds, on whichever node it runs; a finished job is deleted. The owner of the installation may stop running jobs of any platform.',
  grant: 'rules',
  parameters: [JOB_ID],
  answers: NO_CONTENT,
  refusals: [UNKNOWN_JOB],
  answer: async ({ ctx, caller }, parts: EvidenceParts) => {
    await parts.evidence.stopOrDeleteJob(await requireJob(ctx, caller, parts));
  },
});

async function requireJob(
  ctx: RouteContext,
  caller: Caller,
  { evidence }: EvidenceParts,
): Promise<EvidenceJob> {
  const job = await evidence.jobStore.findVisible(caller.platform, JOB_ID.read(ctx));
  if (job === null) throw UNKNOWN_JOB.problem();
  return job;
}

function toJobView({
  task,
  seenAt: _seen,
  credential: _whose,
  oldestRead: _read,
  ...job
}: EvidenceJob): EvidenceJobView {
  const { ruleSets, platform: _of, ...asked } = task;
  const named = Object.entries(ruleSets).flatMap(([version, digest]) =>
    isRuleVersion(version) ? [{ ruleVersion: version, digest }] : [],
  );
  return { ...asked, ...job, ruleSets: named };
}

export const EVIDENCE_OPERATIONS = createTaggedOperations('Evidence', {
  askEvidence,
  listEvidence,
  readEvidence,
  removeEvidence,
});
