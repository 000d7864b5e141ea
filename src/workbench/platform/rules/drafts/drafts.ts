import { Type } from '#base/json-schema.ts';
import { count, list, named, nextPageCursorSchema, shape, text, type ValueOf } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  NO_CONTENT,
} from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import {
  createBadRequestProblem,
  createNotFoundProblem,
  declareRefusal,
  HttpProblem,
  runRefusingKnownErrors as refusedOr,
} from '#checkout/http/request/problems.ts';
import { isPlatformName, PLATFORM_NAME_PATTERN, type PlatformName } from '#decision/payer/client-key.ts';
import { createUncheckedVersionSchema, type RuleVersion } from '#decision/rules/rule-set.ts';
import { ProposalRefused, ProposalSchema, toProposalView } from '#workbench/approvals/proposals.ts';
import {
  DRAFT_DAYS_MAX,
  DRAFTS_MAX,
  DraftChanged,
  type DraftSummary,
  DraftSummarySchema,
  TooManyDrafts,
} from '#workbench/authoring/drafts.ts';
import { EXAMPLE_MOMENT } from '#workbench/openapi/example.ts';
import {
  BAD_PARAMETER,
  cutNewestPage,
  NEWEST_PAGE_PARAMETERS,
  textParameter as parameterText,
} from '#workbench/platform/parameters.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { PROPOSAL_REFUSED } from '#workbench/platform/proposals.ts';
import { BAD_VERSION, parseBodyVersion, VERSION_IN_PATH } from '#workbench/platform/rules/rule-version.ts';
import {
  DRAFT_BODY_BYTES_MAX,
  DraftFilesSchema,
  declareDraftBody,
  RULE_DESK_FULL,
  runAtRuleDesk,
} from './draft-body.ts';

/**
 * The operations on the drafts of a platform that are not in RULES_DIR yet. The store keeps them, each with a
 * revision.
 */

const SummarySchema = named('DraftSummary', DraftSummarySchema);

export const DraftListSchema = named(
  'DraftList',
  shape('The drafts of a platform', {
    drafts: list(SummarySchema, 'Those changed last first'),
    next: nextPageCursorSchema,
    bytesMax: count('The most that a draft takes as JSON'),
  }),
);

export const DraftSchema = named(
  'Draft',
  shape('A draft with its files', { ...DraftSummarySchema.properties, files: DraftFilesSchema }),
);

const IF_MATCH_RULE = 'must be the ETag of the draft, once, like "7"';
const IF_MATCH_FORM = `If-Match ${IF_MATCH_RULE}.`;

const BAD_REVISION = declareRefusal(
  'bad-revision',
  'If-Match is not an ETag of a draft.',
  (detail: string) => createBadRequestProblem(detail, [{ header: 'If-Match', detail: IF_MATCH_RULE }]),
  IF_MATCH_FORM,
);

/** The parameter for the revision that the caller changed. It is null if the caller sent none. */
const IF_MATCH: Parameter<number | null> = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The ETag of the draft that was changed; absent: there is no such draft yet',
  schema: { type: 'string', pattern: '^"[1-9][0-9]{0,14}"$' },
  read: ({ req }) => {
    const given = req.headers['if-match'];
    if (given === undefined) return null;
    const [, digits] = /^"([1-9]\d{0,14})"$/.exec(given) ?? [];
    if (digits !== undefined) return Number(digits);
    throw BAD_REVISION.problem(IF_MATCH_FORM);
  },
};

const UNKNOWN_DRAFT = declareRefusal(
  'unknown-draft',
  'The platform has no such draft.',
  (version: string) =>
    createNotFoundProblem(
      `There is no draft ${version} of this platform: it was discarded, or nobody changed it for ${DRAFT_DAYS_MAX} days.`,
    ),
  'p2.v11',
);

const NOT_PROPOSED = declareRefusal(
  'draft-not-proposed',
  'No proposal to release such a draft of the platform is open.',
  (version: string, platform: string) =>
    createNotFoundProblem(
      `No proposal to release a draft ${version} of ${platform} is open; GET /v1/platform/proposals lists those that are.`,
    ),
  'p2.v11',
  'shop',
);

const DRAFT_CHANGED = declareRefusal(
  'draft-changed',
  'The draft has another revision than If-Match names; nothing was changed.',
  (detail: string) => new HttpProblem(412, 'draft changed', detail),
  formatChanged(
    'p2.v11',
    { changedBy: 'person:248289761001 (ann@example.com)', changedAt: EXAMPLE_MOMENT },
    6,
  ),
);

const TOO_MANY = declareRefusal(
  'too-many-drafts',
  'The platform has the most drafts that are allowed; nothing was changed.',
  (platform: string) =>
    new HttpProblem(
      409,
      'too many drafts',
      `${platform} has ${DRAFTS_MAX} drafts, the most that are allowed. Discard one that is no longer needed.`,
    ),
  'shop',
);

function formatChanged(
  version: string,
  now: Pick<DraftSummary, 'changedBy' | 'changedAt'> | null,
  basis: number | null,
): string {
  if (now === null)
    return `${version} was discarded meanwhile. Save yours under another name, or give it up.`;
  const when = new Date(now.changedAt).toISOString();
  if (basis === null)
    return `There is already a draft ${version}, changed by ${now.changedBy} at ${when}. Open it, or choose another name.`;
  return `${version} was changed by ${now.changedBy} at ${when}. Open it again, or save yours under another name.`;
}

const listDrafts = declareOperation({
  route: 'get /v1/platform/rules/drafts',
  summary: 'List the drafts of a platform',
  description: `Lists drafts of the platform without their files. A draft decides nothing, and is deleted when nobody changes it for ${DRAFT_DAYS_MAX} days.`,
  grant: 'rules',
  parameters: NEWEST_PAGE_PARAMETERS,
  answers: declareJsonAnswer('A page', DraftListSchema),
  answer: async ({ ctx, caller }, { drafts }: RuleParts): Promise<ValueOf<typeof DraftListSchema>> => {
    const { page, next } = cutNewestPage(
      ctx,
      await drafts.list(caller.platform),
      ({ changedAt, version }) => [changedAt, version],
    );
    return { drafts: page, next, bytesMax: DRAFT_BODY_BYTES_MAX };
  },
});

const PLATFORM = parameterText(
  'platform',
  'The platform whose proposed draft is read as it would be released; only with a key of the whole installation',
  { pattern: PLATFORM_NAME_PATTERN },
);

const readDraft = declareOperation({
  route: 'get /v1/platform/rules/drafts/{version}',
  summary: 'A draft with its files',
  description:
    'Returns the draft as it was last saved. The owner of the installation gets a proposed draft as it would be released: with the sections and cases of other platforms, taken from the version that it was begun with.',
  grant: 'rules',
  parameters: [VERSION_IN_PATH, PLATFORM],
  answers: withETag(declareJsonAnswer('The draft', DraftSchema)),
  refusals: [BAD_VERSION, UNKNOWN_DRAFT, NOT_PROPOSED, PROPOSAL_REFUSED],
  answer: async ({ ctx, caller }, { drafts, approvals }: RuleParts): Promise<ValueOf<typeof DraftSchema>> => {
    const version = VERSION_IN_PATH.read(ctx);
    const other = readOtherPlatform(PLATFORM.read(ctx), caller);
    const opened =
      other === null
        ? await drafts.open(caller.platform, version)
        : await refusedOr(
            () => approvals.openProposedDraft(other, version),
            PROPOSAL_REFUSED.problem,
            ProposalRefused,
          );
    if (opened === null)
      throw other === null ? UNKNOWN_DRAFT.problem(version) : NOT_PROPOSED.problem(version, other);
    ctx.set('ETag', `"${opened.draft.revision}"`);
    return { ...opened.draft, files: opened.files };
  },
});

/** Reads the platform of a named draft. Returns null for a draft of the caller's own platform. */
function readOtherPlatform(named: string | null, { platform }: Caller): PlatformName | null {
  if (named === null || named === platform) return null;
  if (!isInstallation(platform))
    throw BAD_PARAMETER.problem('The parameter platform is for keys of the whole installation.');
  if (isPlatformName(named)) return named;
  throw BAD_PARAMETER.problem('The parameter platform must be the name of a platform.');
}

const WriteBodySchema = Type.Object({
  from: createUncheckedVersionSchema('The version that the draft was begun with'),
  files: DraftFilesSchema,
});

const writeDraft = declareOperation({
  route: 'put /v1/platform/rules/drafts/{version}',
  summary: 'Save a draft',
  description: `Saves the draft in the store, not in RULES_DIR, whether it has problems or not. It is saved only if its revision is still the one in If-Match; without If-Match, only if there is no such draft yet. A platform may have ${DRAFTS_MAX} drafts.`,
  grant: 'rules',
  parameters: [VERSION_IN_PATH, IF_MATCH],
  body: declareDraftBody('WriteDraftBody', WriteBodySchema),
  answers: withETag(declareJsonAnswer('The draft as it is stored now', SummarySchema)),
  refusals: [BAD_VERSION, BAD_REVISION, DRAFT_CHANGED, TOO_MANY, RULE_DESK_FULL],
  answer: async ({ ctx, caller, body }, { desk, drafts }: RuleParts): Promise<DraftSummary> => {
    const version = VERSION_IN_PATH.read(ctx);
    const basis = IF_MATCH.read(ctx);
    const { platform, actor } = caller;
    const draft = await runAtRuleDesk(desk, caller, async () => {
      const { from, files } = await body();
      const written = { version, from: parseBodyVersion('from', from), files };
      return refuseKnownDraftErrors(version, platform, basis, () =>
        drafts.write(platform, written, basis, actor.text),
      );
    });
    ctx.set('ETag', `"${draft.revision}"`);
    return draft;
  },
});

const proposeDraft = declareOperation({
  route: 'post /v1/platform/rules/drafts/{version}/proposal',
  summary: 'Propose the release of a draft',
  description:
    'Proposes the draft to the operators of the installation, who see what it would change, and release or reject it, whether APPROVALS is required or not. The draft must have the revision in If-Match, no problems, and cases that pass. The release keeps the sections and cases of other platforms from the version that the draft was begun with.',
  grant: 'rules',
  parameters: [VERSION_IN_PATH, { ...IF_MATCH, required: true }],
  body: declareJsonBody('ProposeDraftBody', Type.Object({ reason: text(1000, 'Why', 'fewer waits') })),
  answers: declareJsonAnswer('The proposal, which waits for an operator', ProposalSchema),
  refusals: [BAD_VERSION, BAD_REVISION, PROPOSAL_REFUSED, RULE_DESK_FULL],
  answer: async ({ ctx, caller, body }, { approvals, desk }: RuleParts) => {
    const version = VERSION_IN_PATH.read(ctx);
    const revision = IF_MATCH.read(ctx);
    if (revision === null) throw BAD_REVISION.problem(IF_MATCH_FORM);
    const { platform, actor } = caller;
    const asked = { version, platform, revision, ...(await body()) };
    const propose = () => runAtRuleDesk(desk, caller, () => approvals.proposeDraft(asked, actor));
    return toProposalView(await refusedOr(propose, PROPOSAL_REFUSED.problem, ProposalRefused));
  },
});

const discardDraft = declareOperation({
  route: 'delete /v1/platform/rules/drafts/{version}',
  summary: 'Discard a draft',
  description:
    'Deletes the draft if its revision is still the one in If-Match. Folders in RULES_DIR are not touched.',
  grant: 'rules',
  parameters: [VERSION_IN_PATH, { ...IF_MATCH, required: true }],
  answers: NO_CONTENT,
  refusals: [BAD_VERSION, BAD_REVISION, DRAFT_CHANGED],
  answer: async ({ ctx, caller }, { drafts, audit }: RuleParts) => {
    const version = VERSION_IN_PATH.read(ctx);
    const basis = IF_MATCH.read(ctx);
    if (basis === null) throw BAD_REVISION.problem(IF_MATCH_FORM);
    const { platform, actor } = caller;
    const { revision, changedBy } = await refuseKnownDraftErrors(version, platform, basis, () =>
      drafts.discard(platform, version, basis),
    );
    const before = { revision, changedBy };
    await audit.note({ who: actor.text, action: 'draft', platform, subject: version, before });
  },
});

function withETag(answers: ReturnType<typeof declareJsonAnswer>) {
  return { 200: { ...answers[200], headers: ['ETag'] as const } };
}

async function refuseKnownDraftErrors<T>(
  version: RuleVersion,
  platform: string,
  basis: number | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DraftChanged) throw DRAFT_CHANGED.problem(formatChanged(version, error.now, basis));
    throw error instanceof TooManyDrafts ? TOO_MANY.problem(platform) : error;
  }
}

export const DRAFT_OPERATIONS = createTaggedOperations('Rules', {
  listDrafts,
  readDraft,
  writeDraft,
  discardDraft,
  proposeDraft,
});
