import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { createChapter, declareJsonAnswer, declareOperation } from '#checkout/http/operation/operation.ts';
import { declareRefusal, HttpProblem, refuseKnownErrors } from '#checkout/http/request/problems.ts';
import type { Fleet } from '#checkout/rollout/fleet.ts';
import { ProblemSchema } from '#decision/rules/problem.ts';
import { formatExample } from '#decision/rules/proof/example.ts';
import { type RuleVersion, ruleVersion, versionTextSchema } from '#decision/rules/rule-set.ts';
import { ConstantSchema } from '#decision/rules/text/constant.ts';
import { ChangedLineSchema, RuleCoverageSchema } from '#workbench/authoring/cases/cases.ts';
import { findKnownLists, lostCasesMember, type Remark } from '#workbench/authoring/desk/examine.ts';
import { DraftRefused } from '#workbench/authoring/draft.ts';
import { createHangUpSignal } from '#workbench/platform/hang-up.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import {
  BAD_VERSION,
  parseBodyVersion,
  runWithinLimits,
  TOO_HEAVY,
  VERSION_IN_PATH,
} from '#workbench/platform/rules/rule-version.ts';
import { waitUntilTakenUp } from '#workbench/rollout/wait-for-nodes.ts';
import {
  DESK_FULL,
  DRAFT_FILES,
  DRAFT_MEMBERS,
  DRAFT_UNSOUND,
  declareDraftBody,
  refuseUnsoundDraft,
  runAtDesk,
  toDraftText,
} from './draft-body.ts';

const RemarkSchema = s.shape('A remark about a rule file', {
  ...ProblemSchema.properties,
  example: s.nullable(s.word('Facts that show it')),
  promise: s.nullable(
    s.word('The promise that it breaks, as ruleset.yaml names it under "meant"', 'firstRequestWaits'),
  ),
});

export const CheckedDraftSchema = s.named(
  'CheckedDraft',
  s.shape('The remarks about a draft', {
    sound: s.yesNo('False: nodes would refuse it'),
    digest: s.nullable(s.digestWord('SHA-256 over its files; null when it is not sound')),
    problems: s.list(RemarkSchema, 'Why it is not sound; otherwise what prevents its release'),
    notes: s.list(RemarkSchema, 'Worth knowing, and no obstacle'),
    coverage: s.nullable(RuleCoverageSchema),
    lostCases: lostCasesMember,
    constants: s.list(ConstantSchema, 'What a backtest or a form may vary, as far as its files can be read'),
  }),
);

const CheckDraftBodySchema = Type.Object({
  ...DRAFT_MEMBERS,
  from: Type.Optional(
    versionTextSchema(
      'The version that it was begun with, whose sections and cases of other platforms its release keeps; absent: they are not looked at',
    ),
  ),
});

const checkDraft = declareOperation({
  route: 'post /v1/platform/rules/drafts/check',
  summary: 'The remarks about a draft',
  description:
    'As the commands "rules check" and "rules test" tell it, about files that lie nowhere yet, in words that the platform may read. Nothing is kept.',
  grant: 'rules',
  body: declareDraftBody('CheckDraftBody', CheckDraftBodySchema),
  answers: declareJsonAnswer('Its problems with their places, and what its cases say', CheckedDraftSchema),
  refusals: [TOO_HEAVY, DESK_FULL],
  answer: ({ ctx, body, caller }, { desk, lists, clock }: RuleParts) =>
    runAtDesk(desk, caller, async (): Promise<s.Shape<typeof CheckedDraftSchema>> => {
      const { from, ...members } = await body();
      const draft = {
        ...toDraftText(members),
        from: from === undefined ? null : parseBodyVersion('from', from),
      };
      const known = findKnownLists(lists.copy, clock(), caller.platform);
      const { digest, problems, notes, ...rest } = await runWithinLimits(() =>
        desk.check(caller.platform, draft, known, createHangUpSignal(ctx)),
      );
      return {
        sound: digest !== null,
        digest,
        problems: problems.map(told),
        notes: notes.map(told),
        ...rest,
      };
    }),
});

function told({ at, message, example, promise }: Remark): s.Shape<typeof RemarkSchema> {
  return { at, message, example: example ? formatExample(example) : null, promise: promise ?? null };
}

export const RewrittenCasesSchema = s.named(
  'RewrittenCases',
  s.shape('The cases of a draft with the lengths of waits that it gives now', {
    files: DRAFT_FILES,
    lines: s.list(ChangedLineSchema, 'What changes in them'),
    left: s.count('Cases that fail by more than the length of a wait, and stay as they are'),
  }),
);

const rewriteCases = declareOperation({
  route: 'post /v1/platform/rules/drafts/cases',
  summary: 'The cases of a draft with the lengths of waits that it gives now',
  description:
    'As "rules test --update" writes them: the case files that change, comments and layout kept. A draft that is not sound has none. Nothing is kept.',
  grant: 'rules',
  body: declareDraftBody('RewriteCasesBody', Type.Object(DRAFT_MEMBERS)),
  answers: declareJsonAnswer('The files that change, and line by line in what', RewrittenCasesSchema),
  refusals: [TOO_HEAVY, DESK_FULL],
  answer: ({ ctx, body, caller }, { desk }: RuleParts) =>
    runAtDesk(desk, caller, async (): Promise<s.Shape<typeof RewrittenCasesSchema>> => {
      const draft = toDraftText(await body());
      const rewritten = await runWithinLimits(() =>
        desk.rewriteCases(caller.platform, draft, createHangUpSignal(ctx)),
      );
      const { files = new Map(), lines = [], left = [] } = rewritten ?? {};
      return { files: Object.fromEntries(files), lines, left: left.length };
    }),
});

const SaveDraftBodySchema = Type.Object({
  files: DRAFT_FILES,
  replaces: Type.Optional(
    s.text(64, 'The filesDigest of the draft that it replaces; absent: nothing may lie there yet'),
  ),
});

export const SavedDraftSchema = s.named(
  'SavedDraft',
  s.shape('A draft as it is kept', {
    version: ruleVersion,
    digest: s.digestWord('SHA-256 over its files'),
    loaded: s.yesNo('This node has taken it up; otherwise it does within a few seconds'),
  }),
);

const DRAFT_REFUSED = declareRefusal(
  'draft-refused',
  'It may not be kept like this; nothing was changed.',
  (detail: string) => new HttpProblem(409, 'draft refused', detail),
  'p2.v11 is released and never changes; choose another version',
);

const saveDraft = declareOperation({
  route: 'put /v1/platform/rules/versions/{version}',
  summary: 'Keeps a draft in RULES_DIR',
  description:
    'On the node that answers; other nodes have it when they share the folder. Only when it is sound, never in place of a released version or of one on trial, and of another draft only when `replaces` names what lies there. A draft decides nothing until it is released.',
  grant: 'operate',
  parameters: [VERSION_IN_PATH],
  body: declareDraftBody('SaveDraftBody', SaveDraftBodySchema),
  answers: declareJsonAnswer('What is kept now', SavedDraftSchema),
  refusals: [BAD_VERSION, DRAFT_REFUSED, DRAFT_UNSOUND, TOO_HEAVY, DESK_FULL],
  answer: async ({ ctx, caller, body }, { desk, fleet, loadedRules, audit }: RuleParts) => {
    const version = VERSION_IN_PATH.read(ctx);
    const { saved, before } = await runAtDesk(desk, caller, async () => {
      const { files, replaces = null } = await body();
      const draft = { version, files: Object.entries(files), replaces };
      await refuseOnTrial(version, fleet);
      const save = () => runWithinLimits(() => desk.save(caller.platform, draft));
      const saved = await refuseKnownErrors(save, DRAFT_REFUSED.problem, DraftRefused);
      return { saved, before: draft.replaces };
    });
    if (!saved.ok) throw refuseUnsoundDraft(version, 'kept', saved.problems);
    const { digest } = saved;
    const change = { before: before && { digest: before }, after: { digest } };
    await audit.note({ who: caller.actor.text, action: 'draft', subject: version, ...change });
    return {
      version,
      digest,
      loaded: await waitUntilTakenUp(() => loadedRules.get(version)?.digest === digest),
    };
  },
});

/** Nothing changes under a trial: its figures are about the files that it began with. */
async function refuseOnTrial(version: RuleVersion, fleet: Fleet): Promise<void> {
  const candidates = (await fleet.read())?.rollout?.candidates ?? [];
  const candidate = candidates.find((one) => one.version === version);
  if (candidate === undefined) return;
  throw DRAFT_REFUSED.problem(
    `${version} is on trial as a ${candidate.mode}; take it back first, or save under another version`,
  );
}

export const CHECK_OPERATIONS = createChapter('Rules', { checkDraft, rewriteCases, saveDraft });
