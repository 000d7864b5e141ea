import { Type } from '#base/json-schema.ts';
import { chapter, jsonAnswer, operation } from '#checkout/http/operation/operation.ts';
import { versionText } from '#decision/rules/rule-set.ts';
import { RuleDiffSchema } from '#workbench/authoring/diff/rule-diff.ts';
import { hangUp } from '#workbench/platform/hang-up.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { atDesk, DESK_FULL, DRAFT_MEMBERS, draftBody, draftText } from './drafts/draft-body.ts';
import {
  requiredVersion,
  soundVersion,
  TOO_HEAVY,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
  versionInBody,
  withinLimits,
} from './rule-version.ts';

const BEFORE = requiredVersion('before', 'The version to start from');
const AFTER = requiredVersion('after', 'The version that changes it');

const compareRuleFolders = operation({
  route: 'get /v1/platform/rules/diff',
  summary: 'In what two versions differ',
  description:
    'By meaning, with payers whom the two answer differently: as the command `rules diff` shows them. The search for these is ended after some seconds.',
  grant: 'rules',
  parameters: [BEFORE, AFTER],
  answers: jsonAnswer('The differences and examples; both empty when the two decide alike', RuleDiffSchema),
  refusals: [UNSOUND_VERSION, UNKNOWN_VERSION, TOO_HEAVY],
  answer: async ({ ctx, caller }, { loadedRules, desk }: RuleParts) => {
    const before = soundVersion(BEFORE.read(ctx), loadedRules);
    const after = soundVersion(AFTER.read(ctx), loadedRules);
    const diff = await withinLimits(() =>
      desk.compare(caller.platform, before.version, after.version, hangUp(ctx)),
    );
    if (diff === null) throw UNSOUND_VERSION.problem(after.version);
    return diff;
  },
});

const compareDraft = operation({
  route: 'post /v1/platform/rules/drafts/diff',
  summary: 'In what a draft differs from a version',
  description: 'As `compareRuleFolders` does it, for files that lie nowhere yet. Nothing is kept.',
  grant: 'rules',
  body: draftBody(
    'CompareDraftBody',
    Type.Object({ ...DRAFT_MEMBERS, before: versionText('The version to compare it with, like p2.v10') }),
  ),
  answers: jsonAnswer('The differences and examples; both empty when the two decide alike', RuleDiffSchema),
  refusals: [UNSOUND_VERSION, UNKNOWN_VERSION, TOO_HEAVY, DESK_FULL],
  answer: ({ ctx, body, caller }, { loadedRules, desk }: RuleParts) =>
    atDesk(desk, caller, async () => {
      const { before: named, ...draft } = await body();
      const before = soundVersion(versionInBody('before', named), loadedRules);
      const diff = await withinLimits(() =>
        desk.compare(caller.platform, before.version, draftText(draft), hangUp(ctx)),
      );
      if (diff === null) throw UNSOUND_VERSION.problem(draft.version);
      return diff;
    }),
});

export const RULE_DIFF_OPERATIONS = chapter('Rules', { compareRuleFolders, compareDraft });
