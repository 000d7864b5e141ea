import { Type } from 'typebox';
import type { RuleDesk } from '../../../analysis/desk/rule-desk.ts';
import { DIFF_PARTS, DIFFERENCE_KINDS } from '../../../analysis/diff/rule-difference.ts';
import { clientGroup } from '../../../client/client-group.ts';
import { isBot } from '../../../decision/decision.ts';
import { factValue } from '../../../facts/fact.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { ruleVersion, verdict } from '../../../rules/rule-set.ts';
import { choice, list, named, shape, word, yesNo } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import type { Parameter } from '../../operation/parameters.ts';
import { BAD_VERSION, soundVersion, UNKNOWN_VERSION, UNSOUND_VERSION, withinLimits } from './rule-version.ts';

export interface RuleDiffParts {
  readonly loadedRules: LoadedRules;
  readonly desk: RuleDesk;
}

const ExampleAnswerSchema = shape('What a version answers', {
  verdict,
  rule: word('That gave it'),
  clientGroup,
  isBot,
});

export const RuleDiffSchema = named(
  'RuleDiff',
  shape('In what two versions differ', {
    before: ruleVersion,
    after: ruleVersion,
    differences: list(
      shape('One thing that is decided otherwise', {
        part: choice(DIFF_PARTS, 'Where'),
        name: word('A rule, a condition, a setting, a level, a list or a platform'),
        kind: choice(DIFFERENCE_KINDS, 'How'),
        text: word('For people'),
      }),
      'Part by part; comments, layout and descriptions do not count',
    ),
    examples: list(
      shape('A payer whom the two answer differently', {
        facts: Type.Record(Type.String(), factValue, {
          description: 'By label; those not named are as of an ordinary first request',
        }),
        before: ExampleAnswerSchema,
        after: ExampleAnswerSchema,
      }),
      'One for each way of differing at once, ten at most. Found by search: none does not prove that there is none',
    ),
    searched: yesNo('False: time was up before everything was tried, so there may be further examples'),
  }),
);

const BEFORE = versionParameter('before', 'The version to start from');
const AFTER = versionParameter('after', 'The version that changes it');

export const DIFF_EXAMPLE = {
  before: 'p2.v10',
  after: 'p2.v11',
  differences: [
    {
      part: 'verdicts',
      name: 'asked-too-early',
      kind: 'changed',
      text: 'asked-too-early: waitRemainingSeconds > 0 -> > 2',
    },
  ],
  examples: [
    {
      facts: { waitRemainingSeconds: 1 },
      before: { verdict: 'WAIT', rule: 'asked-too-early', clientGroup: 'NEW', isBot: false },
      after: { verdict: 'GET_NEW', rule: 'otherwise', clientGroup: 'NEW', isBot: false },
    },
  ],
  searched: true,
} as const;

export const compareRuleFolders = operation({
  method: 'get',
  path: '/v1/platform/rules/diff',
  operationId: 'compareRuleFolders',
  summary: 'In what two versions differ',
  description:
    'By meaning, with payers whom the two answer differently at once: as the command `rules diff` shows them. The search for these is ended after some seconds.',
  tag: 'Rules',
  grant: 'rules',
  parameters: [BEFORE, AFTER],
  answers: jsonAnswer(
    'The differences and examples; both empty when the two decide alike',
    RuleDiffSchema,
    DIFF_EXAMPLE,
  ),
  refusals: [BAD_VERSION, UNKNOWN_VERSION],
  answer: async ({ ctx, key }, { loadedRules, desk }: RuleDiffParts) => {
    const before = soundVersion(BEFORE.read(ctx), BEFORE.name, loadedRules);
    const after = soundVersion(AFTER.read(ctx), AFTER.name, loadedRules);
    const diff = await withinLimits(() => desk.compare(key.platform, before.version, after.version));
    if (diff === null) throw UNSOUND_VERSION.problem(after.version);
    return diff;
  },
});

function versionParameter(name: string, description: string): Parameter<string | string[] | undefined> {
  return {
    name,
    in: 'query',
    required: true,
    description,
    schema: { type: 'string' },
    read: ({ query }) => query[name],
  };
}
