import { clientGroup } from '../../client/client-group.ts';
import { isBot } from '../../decision/decision.ts';
import { factValue } from '../../facts/fact.ts';
import { Type } from '../../json-schema.ts';
import type { ConditionTrace } from '../../rules/evaluate/trace.ts';
import { OPERATORS } from '../../rules/operators.ts';
import { location } from '../../rules/problem.ts';
import { verdict } from '../../rules/rule-set.ts';
import { always, choice, list, named, shape, word, yesNo } from '../../shapes.ts';

/** How the rules came to a verdict; held equal to the types of the code by a test. */

const passed = yesNo('Whether it holds');
const innerCondition = Type.Unsafe<ConditionTrace>({ $ref: '#/components/schemas/Condition' });

/** A condition with what it saw; holds itself, so its type is that of the code. */
const ConditionSchema = named(
  'Condition',
  Type.Unsafe<ConditionTrace>({
    description: 'A condition as the analyst wrote it, with the values it saw',
    oneOf: [
      shape('All or any of several', {
        kind: choice(['all', 'any'], 'Which of the two'),
        passed,
        at: location,
        conditions: list(innerCondition, 'In the order written'),
      }),
      shape('The opposite of another', {
        kind: always('not'),
        passed,
        at: location,
        condition: innerCondition,
      }),
      shape('Another by its name', {
        kind: always('reference'),
        name: word('The shared condition'),
        passed,
        at: location,
        condition: innerCondition,
      }),
      shape('A fact compared with a value', {
        kind: always('comparison'),
        passed,
        at: location,
        fact: word('By label, like "verdicts(10m)"'),
        operator: choice(OPERATORS, "json-rules-engine's"),
        expected: Type.Union([factValue, Type.Array(factValue)]),
        list: Type.Optional(word('The list of the rule set that the expected values stand in')),
        seen: factValue,
      }),
    ],
  }),
);

export const RuleTraceSchema = named(
  'RuleTrace',
  shape('One rule with what it saw', {
    name: word('Of the rule'),
    description: word("The analyst's words"),
    priority: Type.Number({ description: 'Higher is asked first' }),
    at: location,
    gives: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      description: 'What it gives when it matches: a group, a weight, a verdict',
    }),
    asked: yesNo('False behind the first match: the decision did not depend on it'),
    matched: yesNo('Whether its conditions hold, asked or not'),
    heldOut: Type.Optional(
      Type.True({ description: 'The client is held out of it, so that it does not count' }),
    ),
    condition: ConditionSchema,
  }),
);

const why = word('Why, in a sentence');
const tracedRules = list(RuleTraceSchema, 'In the order of asking');
export const RulesAccountSchema = named(
  'RulesAccount',
  shape('How the rules came to a verdict', {
    groups: shape('How the group came about', {
      group: clientGroup,
      rule: word('That gave it'),
      why,
      rules: tracedRules,
    }),
    signals: shape('How the bot flag came about', {
      isBot,
      weight: Type.Number({ description: 'Of the matching signals' }),
      threshold: Type.Number({ description: 'A bot from here on' }),
      why,
      rules: tracedRules,
    }),
    verdicts: shape('How the verdict came about', {
      verdict,
      rule: word('That gave it'),
      why,
      rules: tracedRules,
    }),
  }),
);
