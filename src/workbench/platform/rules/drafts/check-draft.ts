import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { declareRefusal, HttpProblem, runRefusingKnownErrors } from '#checkout/http/request/problems.ts';
import type { Fleet } from '#checkout/rollout/fleet.ts';
import { RuleProblemSchema } from '#decision/rules/problem.ts';
import { formatExampleFacts } from '#decision/rules/proof/example.ts';
import {
  createUncheckedVersionSchema,
  type RuleVersion,
  ruleVersionSchema,
} from '#decision/rules/rule-set.ts';
import { WrittenConstantSchema } from '#decision/rules/text/constant.ts';
import { CaseResultsSchema, ChangedLineSchema } from '#workbench/authoring/cases/cases.ts';
import {
  LostCasesOrNullSchema,
  type RuleRemark,
  selectVisibleSharedLists,
} from '#workbench/authoring/desk/examine.ts';
import { DraftRefused } from '#workbench/authoring/draft.ts';
import { createHangUpSignal } from '#workbench/platform/hang-up.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import {
  BAD_VERSION,
  parseBodyVersion,
  RULE_SET_TOO_HEAVY,
  runRefusingTooHeavyWork,
  VERSION_IN_PATH,
} from '#workbench/platform/rules/rule-version.ts';
import { waitUntilLoaded } from '#workbench/rollout/wait-for-nodes.ts';
import {
  createUnsoundDraftProblem,
  DRAFT_BODY_MEMBERS,
  DRAFT_UNSOUND,
  DraftFilesSchema,
  declareDraftBody,
  parseDraftBody,
  RULE_DESK_FULL,
  runAtRuleDesk,
} from './draft-body.ts';

const RemarkSchema = s.shape('A remark about a rule file', {
  ...RuleProblemSchema.properties,
  example: s.nullable(s.plainText('Facts that show it')),
  promise: s.nullable(
    s.plainText(
      'The promise that the rule set breaks, by its name under "meant" in ruleset.yaml',
      'firstRequestWaits',
    ),
  ),
});

export const CheckedDraftSchema = s.named(
  'CheckedDraft',
  s.shape('Check a draft', {
    sound: s.yesNo('False: nodes would refuse it'),
    digest: s.nullable(s.digestText('SHA-256 over its files; null when it has problems')),
    problems: s.list(RemarkSchema, 'The problems of the files; without any, what prevents a release'),
    notes: s.list(RemarkSchema, 'Remarks that do not prevent a release'),
    coverage: s.nullable(CaseResultsSchema),
    lostCases: LostCasesOrNullSchema,
    constants: s.list(
      WrittenConstantSchema,
      'What a backtest or a form may vary, as far as its files can be read',
    ),
  }),
);

const CheckDraftBodySchema = Type.Object({
  ...DRAFT_BODY_MEMBERS,
  from: Type.Optional(
    createUncheckedVersionSchema(
      'The version that it was begun with, whose sections and cases of other platforms its release keeps; absent: they are not looked at',
    ),
  ),
});

const checkDraft = declareOperation({
  route: 'post /v1/platform/rules/drafts/check',
  summary: 'Check a draft',
  description:
    'Checks the files that are sent, as the commands "rules check" and "rules test" do, and says only what the platform may know. Nothing is stored.',
  grant: 'rules',
  body: declareDraftBody('CheckDraftBody', CheckDraftBodySchema),
  answers: declareJsonAnswer(
    'Its problems with their places, and the results of its cases',
    CheckedDraftSchema,
  ),
  refusals: [RULE_SET_TOO_HEAVY, RULE_DESK_FULL],
  answer: ({ ctx, body, caller }, { desk, lists, clock }: RuleParts) =>
    runAtRuleDesk(desk, caller, async (): Promise<s.ValueOf<typeof CheckedDraftSchema>> => {
      const { from, ...members } = await body();
      const draft = {
        ...parseDraftBody(members),
        from: from === undefined ? null : parseBodyVersion('from', from),
      };
      const known = selectVisibleSharedLists(lists.copy, clock(), caller.platform);
      const { digest, problems, notes, ...rest } = await runRefusingTooHeavyWork(() =>
        desk.check(caller.platform, draft, known, createHangUpSignal(ctx)),
      );
      return {
        sound: digest !== null,
        digest,
        problems: problems.map(toRemarkAnswer),
        notes: notes.map(toRemarkAnswer),
        ...rest,
      };
    }),
});

function toRemarkAnswer({ at, message, example, promise }: RuleRemark): s.ValueOf<typeof RemarkSchema> {
  return { at, message, example: example ? formatExampleFacts(example) : null, promise: promise ?? null };
}

export const RewrittenCasesSchema = s.named(
  'RewrittenCases',
  s.shape('Update the waits that cases expect', {
    files: DraftFilesSchema,
    lines: s.list(ChangedLineSchema, 'What changes in them'),
    left: s.count('Cases that fail by more than the length of a wait; they are not changed'),
  }),
);

const rewriteCases = declareOperation({
  route: 'post /v1/platform/rules/drafts/cases',
  summary: 'Update the waits that cases expect',
  description:
    'Returns the changed case files as "rules test --update" writes them, with comments and layout kept. A draft that has problems gets none. Nothing is stored.',
  grant: 'rules',
  body: declareDraftBody('RewriteCasesBody', Type.Object(DRAFT_BODY_MEMBERS)),
  answers: declareJsonAnswer('The files that change, with each changed line', RewrittenCasesSchema),
  refusals: [RULE_SET_TOO_HEAVY, RULE_DESK_FULL],
  answer: ({ ctx, body, caller }, { desk }: RuleParts) =>
    runAtRuleDesk(desk, caller, async (): Promise<s.ValueOf<typeof RewrittenCasesSchema>> => {
      const draft = parseDraftBody(await body());
      const rewritten = await runRefusingTooHeavyWork(() =>
        desk.rewriteCases(caller.platform, draft, createHangUpSignal(ctx)),
      );
      const { files = new Map(), lines = [], left = [] } = rewritten ?? {};
      return { files: Object.fromEntries(files), lines, left: left.length };
    }),
});

const SaveDraftBodySchema = Type.Object({
  files: DraftFilesSchema,
  replaces: Type.Optional(
    s.text(64, 'The filesDigest of the draft that is replaced; absent: there must be no such folder yet'),
  ),
});

export const SavedDraftSchema = s.named(
  'SavedDraft',
  s.shape('A draft as it is kept', {
    version: ruleVersionSchema,
    digest: s.digestText('SHA-256 over its files'),
    loaded: s.yesNo('True: this node has loaded it; otherwise it does so within a few seconds'),
  }),
);

const DRAFT_REFUSED = declareRefusal(
  'draft-refused',
  'The draft cannot be stored like this; nothing was changed.',
  (detail: string) => new HttpProblem(409, 'draft refused', detail),
  'p2.v11 is released and never changes; choose another version',
);

const saveDraft = declareOperation({
  route: 'put /v1/platform/rules/versions/{version}',
  summary: 'Store a draft in RULES_DIR',
  description:
    'Stores the draft on the node that answers; other nodes have it if they share the folder. The draft must have no problems. It never replaces a released version or one on trial, and another draft only if `replaces` names its files. A draft decides nothing until it is released.',
  grant: 'operate',
  parameters: [VERSION_IN_PATH],
  body: declareDraftBody('SaveDraftBody', SaveDraftBodySchema),
  answers: declareJsonAnswer('The stored draft', SavedDraftSchema),
  refusals: [BAD_VERSION, DRAFT_REFUSED, DRAFT_UNSOUND, RULE_SET_TOO_HEAVY, RULE_DESK_FULL],
  answer: async ({ ctx, caller, body }, { desk, fleet, loadedRules, audit }: RuleParts) => {
    const version = VERSION_IN_PATH.read(ctx);
    const { saved, before } = await runAtRuleDesk(desk, caller, async () => {
      const { files, replaces = null } = await body();
      const draft = { version, files: Object.entries(files), replaces };
      await refuseOnTrial(version, fleet);
      const save = () => runRefusingTooHeavyWork(() => desk.save(caller.platform, draft));
      const saved = await runRefusingKnownErrors(save, DRAFT_REFUSED.problem, DraftRefused);
      return { saved, before: draft.replaces };
    });
    if (!saved.ok) throw createUnsoundDraftProblem(version, 'kept', saved.problems);
    const { digest } = saved;
    const change = { before: before && { digest: before }, after: { digest } };
    await audit.note({ who: caller.actor.text, action: 'draft', subject: version, ...change });
    return {
      version,
      digest,
      loaded: await waitUntilLoaded(() => loadedRules.findByVersion(version)?.digest === digest),
    };
  },
});

/** Refuses a change of a version on trial, because the trial's figures are about the files with which it began. */
async function refuseOnTrial(version: RuleVersion, fleet: Fleet): Promise<void> {
  const candidates = (await fleet.read())?.rollout?.candidates ?? [];
  const candidate = candidates.find((one) => one.version === version);
  if (candidate === undefined) return;
  throw DRAFT_REFUSED.problem(
    `${version} is on trial as a ${candidate.mode}; roll it back first, or save under another version`,
  );
}

export const DRAFT_FILE_OPERATIONS = createTaggedOperations('Rules', { checkDraft, rewriteCases, saveDraft });
