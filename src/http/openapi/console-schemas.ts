import { type TSchema, Type } from 'typebox';
import { OPERATIONS } from '../../access/access-keys.ts';
import type { FactDomain } from '../../facts/fact.ts';
import { choice } from '../request/schemas.ts';
import { DecisionSchema, RulesAccountSchema } from './schemas.ts';
import {
  clientGroup,
  count,
  epochMs,
  factValue,
  isBot,
  list,
  location,
  nullable,
  percent,
  ref,
  ruleVersion,
  shape,
  verdict,
  word,
  yesNo,
} from './words.ts';

/** The shapes of what the console asks for besides what other programs need. */

export const SessionSchema = shape('What an access key may do', {
  platform: word('Whose clients, orders and decisions it sees'),
  keyId: word('As `keys list` shows it; not the key'),
  owner: nullable(word('The person or team that answers for the key; null when it was issued without one')),
  operations: list(choice(OPERATIONS, 'An operation'), 'What was granted'),
  expiresAt: nullable(word('RFC 3339; null: it does not expire')),
});

const VerdictMinuteSchema = shape('What the platform was answered within a minute', {
  at: epochMs('Its beginning'),
  verdicts: shape('By verdict', {
    GET_NEW: count('New requisites'),
    GET_SAME_STICKY: count('Bound requisites'),
    WAIT: count('Waits'),
    BLOCK: count('Refusals'),
  }),
  groups: shape('By client group', {
    NEW: count('NEW'),
    STICKY: count('STICKY'),
    PAYING: count('PAYING'),
    TRUSTED: count('TRUSTED'),
    BLOCKED: count('BLOCKED'),
  }),
  bots: count('isBot true'),
  waits: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'Waits imposed, by level of the ladder; levels without one are left out',
  }),
});

const milliseconds = (description: string) => Type.Number({ minimum: 0, description });

const RequestMinuteSchema = shape('How this node answered all callers within a minute', {
  at: epochMs('Its beginning'),
  requests: count('score and verdict'),
  refused: count('Of these with 4xx'),
  failed: count('Of these with 5xx'),
  latencyMs: nullable(
    shape('Milliseconds, to within a quarter; null in a minute without any', {
      p50: milliseconds('Half were at most this'),
      p95: milliseconds('95 % were at most this'),
      p99: milliseconds('99 % were at most this'),
    }),
  ),
});

export const LastHourSchema = shape('The last hour of this node; a restart begins it anew', {
  verdicts: list(VerdictMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
  requests: list(RequestMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
});

export const RuleFolderSchema = shape('A rule set on this node', {
  version: ruleVersion,
  sound: yesNo('False: it has problems, and decides nothing'),
  released: yesNo('False for a draft, and for one that is not sound'),
  digest: nullable(word('SHA-256 over its files; null when it is not sound')),
  description: word("The analyst's words; empty when it is not sound"),
});

export const RuleFolderListSchema = shape('The rule sets on this node', {
  versions: list(ref('RuleFolder', RuleFolderSchema), 'Newest first'),
});

const LadderSettingsSchema = shape('Waits of the cooldown ladder', {
  levelsMs: list(Type.Integer({ minimum: 1 }), 'Wait of level 1, 2 and so on, in milliseconds'),
  resetAfterMs: Type.Integer({
    minimum: 1,
    description: 'A client who asks for nothing this long starts afresh',
  }),
});

const domain = Type.Unsafe<FactDomain>({
  description: 'What values the fact can have',
  oneOf: [
    shape('A number', {
      type: choice(['number'] as const, 'Always "number"'),
      integer: yesNo('Whole numbers only'),
      min: Type.Number(),
      max: Type.Number(),
    }),
    shape('true or false', { type: choice(['boolean'] as const, 'Always "boolean"') }),
    shape('One of some words', {
      type: choice(['enum'] as const, 'Always "enum"'),
      values: list(Type.String(), 'The words'),
    }),
    shape('A text', { type: choice(['text'] as const, 'Always "text"') }),
  ],
});

const share = (description: string) =>
  shape(description, { tested: count('Of them'), total: count('All'), percent: percent('Rounded down') });

const problems = list(
  shape('What is wrong in a rule file', { at: location, message: word('What, and what would be right') }),
  'In the order of reading',
);

const CoverageSchema = shape('What the cases of the version say', {
  problems,
  passed: count('Cases'),
  failed: count('Cases'),
  coverage: shape('What the cases exercise', {
    rules: share('Rules that decided in a case'),
    conditions: share('Conditions seen both true and false'),
    untestedRules: list(
      shape('A rule that decided in no case', {
        name: word('Of the rule'),
        at: location,
        asked: yesNo('Cases asked it; otherwise an earlier rule always answered first'),
      }),
      'In the order of asking',
    ),
    oneSidedConditions: list(
      shape('A condition seen only one way', {
        rule: word('Of the rule'),
        condition: word('As written'),
        at: location,
        missing: choice(['true', 'false', 'true and false'] as const, 'What no case has shown'),
      }),
      'In the order of asking',
    ),
  }),
});

const HitsSchema = shape('How often each rule held, over the newest decisions made with this very digest', {
  platform: word('Whose decisions'),
  decisions: count('Decisions that were looked at'),
  rules: list(
    shape('A rule', {
      file: word('Where it stands'),
      name: word('Of the rule'),
      line: Type.Integer({ minimum: 1, description: 'From 1' }),
      held: count('Its conditions held'),
      decided: count('It also decided: no earlier rule held'),
    }),
    'By file, in the order of asking',
  ),
});

export const OpenedRuleFolderSchema = shape('A rule set with its files', {
  ...RuleFolderSchema.properties,
  files: list(
    shape('A file', { path: word('Below the folder'), text: word('As it stands') }),
    'All but release.json',
  ),
  problems,
  ladder: nullable(LadderSettingsSchema),
  platforms: list(
    shape('A platform with a ladder of its own', { name: word('Its name'), ladder: LadderSettingsSchema }),
    'Empty when there is none',
  ),
  rules: list(
    shape('A rule', {
      name: word('Its name'),
      at: location,
      gives: Type.Unsafe<string | number>({
        type: ['string', 'number'],
        description: 'A group, a weight or a verdict',
      }),
    }),
    'By file, in the order of asking',
  ),
  facts: list(
    shape('A fact that the rules ask for', {
      label: word('With its window, like "verdicts(10m)"'),
      domain,
      unit: nullable(word('Of its values; null: none')),
      description: word('What it counts'),
    }),
    'What may be given as `facts` to what-if',
  ),
  hits: nullable(HitsSchema),
  coverage: nullable(CoverageSchema),
});

const ExampleAnswerSchema = shape('What a version answers', {
  verdict,
  rule: word('That gave it'),
  clientGroup,
  isBot,
});

export const RuleDiffSchema = shape('In what two versions differ', {
  before: ruleVersion,
  after: ruleVersion,
  differences: list(
    shape('One thing that is decided otherwise', {
      part: choice(
        ['settings', 'ladder', 'platforms', 'limits', 'groups', 'bot-signals', 'verdicts'] as const,
        'Where',
      ),
      name: word('A rule, a condition, a setting, a level or a platform'),
      kind: choice(['added', 'removed', 'changed', 'renamed', 'reprioritised'] as const, 'How'),
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
});

export const WhatIfAnswersSchema = shape('What each version would answer', {
  answers: list(
    shape('What a version would answer', {
      version: ruleVersion,
      digest: word('Over its files'),
      decision: ref('Decision', DecisionSchema),
      rules: nullable(ref('RulesAccount', RulesAccountSchema)),
    }),
    'In the order of `versions`',
  ),
});

/** The names under which the document keeps these schemas. */
export type ConsoleSchemaName =
  | 'LastHour'
  | 'OpenedRuleFolder'
  | 'RuleDiff'
  | 'RuleFolder'
  | 'RuleFolderList'
  | 'Session'
  | 'WhatIfAnswers';

export const CONSOLE_SCHEMAS: Readonly<Record<ConsoleSchemaName, TSchema>> = {
  LastHour: LastHourSchema,
  OpenedRuleFolder: OpenedRuleFolderSchema,
  RuleDiff: RuleDiffSchema,
  RuleFolder: RuleFolderSchema,
  RuleFolderList: RuleFolderListSchema,
  Session: SessionSchema,
  WhatIfAnswers: WhatIfAnswersSchema,
};
