import { RuleDiffSchema } from '../../../../analysis/diff/rule-diff.ts';
import { Type } from '../../../../json-schema.ts';
import { jsonAnswer, operation } from '../../../operation/operation.ts';
import { DIFF_EXAMPLE, type RuleDiffParts } from '../rule-diff.ts';
import {
  soundVersion,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
  versionText,
  withinLimits,
} from '../rule-version.ts';
import { BAD_DRAFT_NAME, DRAFT_EXAMPLE, DRAFT_MEMBERS, draftBody, draftText } from './draft-body.ts';
import { atDesk, DESK_FULL } from './draft-turn.ts';

export const compareDraft = operation({
  method: 'post',
  path: '/v1/platform/rules/drafts/diff',
  operationId: 'compareDraft',
  summary: 'In what a draft differs from a version',
  description: 'As `compareRuleFolders` does it, for files that lie nowhere yet. Nothing is kept.',
  tag: 'Rules',
  grant: 'rules',
  body: draftBody(
    'CompareDraftBody',
    Type.Object({ ...DRAFT_MEMBERS, before: versionText('The version to compare it with, like p2.v10') }),
    { ...DRAFT_EXAMPLE, before: 'p2.v10' },
  ),
  answers: jsonAnswer(
    'The differences and examples; both empty when the two decide alike',
    RuleDiffSchema,
    DIFF_EXAMPLE,
  ),
  refusals: [BAD_DRAFT_NAME, UNSOUND_VERSION, UNKNOWN_VERSION, DESK_FULL],
  answer: ({ body, key }, { loadedRules, desk }: RuleDiffParts) =>
    atDesk(desk, key, async () => {
      const { before: named, ...draft } = await body();
      const before = soundVersion(named, 'before', loadedRules);
      const diff = await withinLimits(() => desk.compare(key.platform, before.version, draftText(draft)));
      if (diff === null) throw UNSOUND_VERSION.problem(draft.version);
      return diff;
    }),
});
