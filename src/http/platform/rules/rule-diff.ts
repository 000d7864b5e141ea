import type { RuleDesk } from '../../../analysis/desk/rule-desk.ts';
import { ANSWER_MEMBERS, ASKED_FOR } from '../../../analysis/diff/answer.ts';
import { DIFF_PARTS, DIFFERENCE_KINDS } from '../../../analysis/diff/differences.ts';
import { clientGroup } from '../../../client/client-group.ts';
import { isBot } from '../../../decision/decision.ts';
import { factValue } from '../../../facts/fact.ts';
import { Type } from '../../../json-schema.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { ruleVersion, verdict } from '../../../rules/rule-set.ts';
import { choice, count, list, named, nullable, shape, word, yesNo } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import {
  BAD_VERSION,
  soundVersion,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
  versionInQuery,
  withinLimits,
} from './rule-version.ts';

export interface RuleDiffParts {
  readonly loadedRules: LoadedRules;
  readonly desk: RuleDesk;
}

const AnswerSchema = shape('What a version answers', {
  verdict: nullable(verdict),
  rule: nullable(word('That gave the verdict; null of a score')),
  waitSeconds: nullable(count('As the ladder alone has it; null without WAIT')),
  ladder: nullable(word('Where the client stands on it afterwards; null of a score')),
  requisite: yesNo('Whether the bound requisite, or its acceptors, are named'),
  clientGroup,
  isBot,
  paymentScore: word('As scores and records have it'),
  payLimitValue: nullable(list(word('Like EUR:250.00'), 'Of a score; null where answers have none')),
  heldOut: list(word('A rule, and the share of the clients'), 'What kept a rule from applying; of a verdict'),
  text: word('All of this, for people'),
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
        request: choice(ASKED_FOR, 'What is asked for'),
        differsIn: list(choice(ANSWER_MEMBERS, 'A part of the answer'), 'Of the nine that are compared'),
        facts: Type.Record(factValue, {
          description: 'By label; those not named are as of an ordinary first request',
        }),
        before: AnswerSchema,
        after: AnswerSchema,
      }),
      'One for each way of differing, ten at most, the simplest first',
    ),
    searched: yesNo(
      'True: everything was tried, so without examples nobody is answered differently, now or later',
    ),
    note: word('For people: what the examples are, or that there are none'),
  }),
);

const BEFORE = versionInQuery('before', 'The version to start from');
const AFTER = versionInQuery('after', 'The version that changes it');

const EXAMPLE_ANSWER = {
  ...{ requisite: false, clientGroup: 'NEW', isBot: false },
  ...{ paymentScore: '0.5000', payLimitValue: null, heldOut: [] },
} as const;

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
      request: 'verdict',
      differsIn: ['verdict', 'wait', 'ladder'],
      facts: { waitRemainingSeconds: 1, ladderLevel: 1 },
      before: {
        ...EXAMPLE_ANSWER,
        verdict: 'WAIT',
        rule: 'asked-too-early',
        waitSeconds: 300,
        ladder: 'level 2',
        text: 'WAIT 300 s by asked-too-early, NEW, no bot, level 2',
      },
      after: {
        ...EXAMPLE_ANSWER,
        verdict: 'GET_NEW',
        rule: 'otherwise',
        waitSeconds: null,
        ladder: 'level 1 with an attempt open',
        text: 'GET_NEW by otherwise, NEW, no bot, level 1 with an attempt open',
      },
    },
  ],
  searched: true,
  note: 'Answered differently, for example (facts not named are those of an ordinary first request).',
} as const;

export const compareRuleFolders = operation({
  method: 'get',
  path: '/v1/platform/rules/diff',
  operationId: 'compareRuleFolders',
  summary: 'In what two versions differ',
  description:
    'By meaning, with payers whom the two answer differently: as the command `rules diff` shows them. The search for these is ended after some seconds.',
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
