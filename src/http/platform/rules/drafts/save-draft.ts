import type { Audit } from '../../../../access/audit.ts';
import type { RuleDesk } from '../../../../authoring/desk/rule-desk.ts';
import { Type } from '../../../../json-schema.ts';
import type { Fleet } from '../../../../rollout/fleet.ts';
import { isTakenUp, type LoadedRules } from '../../../../rollout/loaded-rules.ts';
import { DraftRefused } from '../../../../rules/folder/draft.ts';
import type { DraftToSave, SavedDraft } from '../../../../rules/folder/save-draft.ts';
import {
  isRuleVersion,
  RULE_VERSION_FORM,
  RULE_VERSION_PATTERN,
  type RuleVersion,
  ruleVersion,
} from '../../../../rules/rule-set.ts';
import { named, type Shape, shape, text, word, yesNo } from '../../../../shapes.ts';
import { DIGEST_EXAMPLE } from '../../../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../../../operation/operation.ts';
import { pathText } from '../../../operation/parameters.ts';
import { badRequest, HttpProblem, refusal } from '../../../request/problems.ts';
import { withinLimits } from '../rule-version.ts';
import { DRAFT_EXAMPLE, DRAFT_FILES, DRAFT_UNSOUND, draftBody, draftUnsound } from './draft-body.ts';
import { atDesk, DESK_FULL } from './draft-turn.ts';

export interface SaveDraftParts {
  readonly desk: RuleDesk;
  readonly fleet: Fleet;
  readonly loadedRules: LoadedRules;
  readonly audit: Audit;
}

const SaveDraftBodySchema = Type.Object({
  from: Type.Optional(
    text(32, 'The version whose files the draft begins with, renamed; absent: `files` are all of them'),
  ),
  files: Type.Optional(DRAFT_FILES),
  values: Type.Optional(
    Type.Record(Type.String({ wellFormed: true }), {
      description: 'Other values of constants, by path as sweeps name them, like ladder.levels[0]',
    }),
  ),
  replaces: Type.Optional(
    text(64, 'The filesDigest of the draft that it replaces; absent: nothing may lie there yet'),
  ),
});

export const SavedDraftSchema = named(
  'SavedDraft',
  shape('A draft as it is kept', {
    version: ruleVersion,
    digest: word('SHA-256 over its files'),
    loaded: yesNo('This node has taken it up; otherwise it does within a few seconds'),
  }),
);

const DRAFT_REFUSED = refusal(
  'draftRefused',
  'It may not be kept like this; nothing was changed.',
  (detail: string) => new HttpProblem(409, 'draft refused', detail),
  'p2.v11 is released and never changes; choose another version',
);

const BAD_VERSION_IN_PATH = refusal(
  'badVersion',
  'The version in the path is not written as one.',
  (version: string) =>
    badRequest(`A version is named ${RULE_VERSION_FORM}, unlike ${JSON.stringify(version.slice(0, 100))}.`),
  'before',
);

const VERSION = pathText('version', 'What the draft is called, like p2.v11', {
  pattern: RULE_VERSION_PATTERN,
});

export const saveDraft = operation({
  method: 'put',
  path: '/v1/platform/rules/versions/{version}',
  operationId: 'saveDraft',
  summary: 'Keeps a draft in RULES_DIR',
  description:
    'On the node that answers; other nodes have it when they share the folder. Only when it is sound, never in place of a released version or of one on trial, and of another draft only when `replaces` names what lies there. A draft decides nothing until it is released.',
  tag: 'Rules',
  grant: 'operate',
  parameters: [VERSION],
  body: draftBody('SaveDraftBody', SaveDraftBodySchema, {
    from: 'p2.v10',
    files: DRAFT_EXAMPLE.files,
    values: { 'ladder.levels[1]': '10m' },
  }),
  answers: jsonAnswer('What is kept now', SavedDraftSchema, {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE,
    loaded: true,
  }),
  refusals: [BAD_VERSION_IN_PATH, DRAFT_REFUSED, DRAFT_UNSOUND, DESK_FULL],
  answer: async ({ ctx, caller, body }, { desk, fleet, loadedRules, audit }: SaveDraftParts) => {
    const version = VERSION.read(ctx);
    if (!isRuleVersion(version)) throw BAD_VERSION_IN_PATH.problem(version);
    const { saved, before } = await atDesk(desk, caller, async () => {
      const draft = { version, ...draftToSave(await body()) };
      await refuseOnTrial(version, fleet);
      return { saved: await kept(() => desk.save(caller.platform, draft)), before: draft.replaces };
    });
    if (!saved.ok) throw draftUnsound(version, 'kept', saved.problems);
    const { digest } = saved;
    await audit.note({
      who: caller.actor.text,
      action: 'draft',
      platform: null,
      subject: version,
      before: before === null ? null : { digest: before },
      after: { digest },
      reason: null,
    });
    return { version, digest, loaded: await isTakenUp(() => loadedRules.get(version)?.digest === digest) };
  },
});

function draftToSave({
  from,
  files = {},
  values = {},
  replaces,
}: Shape<typeof SaveDraftBodySchema>): Omit<DraftToSave, 'version'> {
  return {
    from: from ?? null,
    files: Object.entries(files),
    values: Object.entries(values),
    replaces: replaces ?? null,
  };
}

/** Nothing changes under a trial: its figures are about the files that it began with. */
async function refuseOnTrial(version: RuleVersion, fleet: Fleet): Promise<void> {
  const candidates = (await fleet.read())?.rollout?.candidates ?? [];
  const candidate = candidates.find((one) => one.version === version);
  if (candidate === undefined) return;
  throw DRAFT_REFUSED.problem(
    `${version} is on trial as a ${candidate.mode}; take it back first, or save under another version`,
  );
}

/** 409 for a draft that may not be kept, 422 for one that takes too much work. */
async function kept(save: () => Promise<SavedDraft>): Promise<SavedDraft> {
  try {
    return await withinLimits(save);
  } catch (error) {
    throw error instanceof DraftRefused ? DRAFT_REFUSED.problem(error.message) : error;
  }
}
