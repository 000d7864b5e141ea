import { Type } from '#base/json-schema.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { createUncheckedVersionSchema } from '#decision/rules/rule-set.ts';
import { RuleDiffSchema } from '#workbench/authoring/diff/rule-diff.ts';
import { createHangUpSignal } from '#workbench/platform/hang-up.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import {
  DRAFT_BODY_MEMBERS,
  declareDraftBody,
  parseDraftBody,
  RULE_DESK_FULL,
  runAtRuleDesk,
} from './drafts/draft-body.ts';
import {
  parseBodyVersion,
  RULE_SET_TOO_HEAVY,
  requiredVersionParameter,
  requireSoundRuleSet,
  runRefusingTooHeavyWork,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
} from './rule-version.ts';

const BEFORE = requiredVersionParameter('before', 'The version to start from');
const AFTER = requiredVersionParameter('after', 'The version that changes it');

const compareRuleFolders = declareOperation({
  route: 'get /v1/platform/rules/diff',
  summary: 'What differs between two versions',
  description:
    'Compares two versions by meaning, with example payers whom they answer differently, like the command `rules diff`. The search for examples ends after a few seconds.',
  grant: 'rules',
  parameters: [BEFORE, AFTER],
  answers: declareJsonAnswer(
    'The differences and examples; both are empty when the versions decide alike',
    RuleDiffSchema,
  ),
  refusals: [UNSOUND_VERSION, UNKNOWN_VERSION, RULE_SET_TOO_HEAVY],
  answer: async ({ ctx, caller }, { loadedRules, desk }: RuleParts) => {
    const before = requireSoundRuleSet(BEFORE.read(ctx), loadedRules);
    const after = requireSoundRuleSet(AFTER.read(ctx), loadedRules);
    const diff = await runRefusingTooHeavyWork(() =>
      desk.compare(caller.platform, before.version, after.version, createHangUpSignal(ctx)),
    );
    if (diff === null) throw UNSOUND_VERSION.problem(after.version);
    return diff;
  },
});

const compareDraft = declareOperation({
  route: 'post /v1/platform/rules/drafts/diff',
  summary: 'Compare a draft with a version',
  description:
    'Compares the files that are sent, as `compareRuleFolders` does for stored versions. Nothing is stored.',
  grant: 'rules',
  body: declareDraftBody(
    'CompareDraftBody',
    Type.Object({
      ...DRAFT_BODY_MEMBERS,
      before: createUncheckedVersionSchema('The version to compare it with, like p2.v10'),
    }),
  ),
  answers: declareJsonAnswer(
    'The differences and examples; both are empty when the versions decide alike',
    RuleDiffSchema,
  ),
  refusals: [UNSOUND_VERSION, UNKNOWN_VERSION, RULE_SET_TOO_HEAVY, RULE_DESK_FULL],
  answer: ({ ctx, body, caller }, { loadedRules, desk }: RuleParts) =>
    runAtRuleDesk(desk, caller, async () => {
      const { before: named, ...draft } = await body();
      const before = requireSoundRuleSet(parseBodyVersion('before', named), loadedRules);
      const diff = await runRefusingTooHeavyWork(() =>
        desk.compare(caller.platform, before.version, parseDraftBody(draft), createHangUpSignal(ctx)),
      );
      if (diff === null) throw UNSOUND_VERSION.problem(draft.version);
      return diff;
    }),
});

export const RULE_DIFF_OPERATIONS = createTaggedOperations('Rules', { compareRuleFolders, compareDraft });
