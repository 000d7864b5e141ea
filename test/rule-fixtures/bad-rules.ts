import { FACTS } from '../../src/facts/catalogue.ts';
import { type Edit, edits, swap, whole } from './sound-rules.ts';

/** A rule set with one thing wrong: what is edited in the sound one, and what must be told about it. */
export interface BadRules {
  readonly title: string;
  readonly files: Readonly<Record<string, Edit>>;
  /** The folder's name when it is not that of the sound rule set. */
  readonly folder?: string;
  readonly problems: readonly string[];
}

const gone: Edit = () => null;

const CLIENT_BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
const SHOW_BOUND = '{ fact: bindingFitsMethod, operator: equal, value: true }';
const CROWDED = '{ fact: clientsOnIp, params: { window: 1h }, operator: greaterThanInclusive, value: 4 }';
const CHAIN = '{ fact: unpaidChain, operator: greaterThanInclusive, value: 4 }';
const IF_CLIENT_BLOCKED = `      all:\n        - ${CLIENT_BLOCKED}`;
const IF_SHOW_BOUND = `      all:\n        - ${SHOW_BOUND}`;

function condition(text: string): Readonly<Record<string, Edit>> {
  return { 'verdicts.yaml': swap(CLIENT_BLOCKED, text) };
}

function conditions(text: string): Readonly<Record<string, Edit>> {
  return { 'verdicts.yaml': swap(IF_CLIENT_BLOCKED, text) };
}

function named(text: string, use = 'condition: own'): Readonly<Record<string, Edit>> {
  return {
    'verdicts.yaml': edits(
      swap('rules:\n', `conditions:\n${text}\nrules:\n`),
      swap(IF_CLIENT_BLOCKED, `      ${use}`),
    ),
  };
}

function nested(levels: number): string {
  return `${'{ not: '.repeat(levels)}${CLIENT_BLOCKED}${' }'.repeat(levels)}`;
}

/** Named conditions of which each names the one before it twice. */
function doubling(count: number): string {
  const lines = [`  c0: { all: [${CLIENT_BLOCKED}] }`];
  for (let n = 1; n <= count; n++) {
    lines.push(`  c${n}: { all: [{ condition: c${n - 1} }, { condition: c${n - 1} }] }`);
  }
  return lines.join('\n');
}

/** Named conditions of which each names the next one. */
function chain(count: number): string {
  const lines = [];
  for (let n = 0; n < count; n++) lines.push(`  c${n}: { not: { condition: c${n + 1} } }`);
  return [...lines, `  c${count}: { all: [${CLIENT_BLOCKED}] }`].join('\n');
}

/** Problems inside the conditions of a rule. */
export const BAD_CONDITIONS: readonly BadRules[] = [
  {
    title: 'an unknown fact, with the nearest name',
    files: condition('{ fact: waitServd, operator: equal, value: true }'),
    problems: ['verdicts.yaml:10:19  unknown fact "waitServd"; did you mean "waitServed"?'],
  },
  {
    title: 'an unknown fact that is near to none, and a member of every object',
    files: condition('{ fact: constructor, operator: equal, value: true }'),
    problems: [`verdicts.yaml:10:19  unknown fact "constructor"; allowed: ${[...FACTS.keys()].join(', ')}`],
  },
  {
    title: 'a fact that is not a text',
    files: condition('{ fact: 7, operator: equal, value: true }'),
    problems: ['verdicts.yaml:10:19  fact must be a text, not 7'],
  },
  {
    title: 'an unknown operator, with the nearest name',
    files: condition('{ fact: clientGroup, operator: equals, value: BLOCKED }'),
    problems: ['verdicts.yaml:10:42  unknown operator "equals"; did you mean "equal"?'],
  },
  {
    title: 'an operator of the engine that rules do not have',
    files: condition('{ fact: clientGroup, operator: contains, value: BLOCKED }'),
    problems: [
      'verdicts.yaml:10:42  unknown operator "contains"; allowed: equal, notEqual, lessThan, lessThanInclusive, greaterThan, greaterThanInclusive, in, notIn',
    ],
  },
  {
    title: 'an operator that does not fit a yes-or-no fact',
    files: condition('{ fact: isBot, operator: greaterThan, value: true }'),
    problems: [
      'verdicts.yaml:10:36  operator "greaterThan" does not fit "isBot", true or false; allowed: equal, notEqual',
    ],
  },
  {
    title: 'an operator that does not fit an enumerated fact',
    files: condition('{ fact: clientGroup, operator: lessThan, value: BLOCKED }'),
    problems: [
      'verdicts.yaml:10:42  operator "lessThan" does not fit "clientGroup", one of NEW, STICKY, PAYING, TRUSTED, BLOCKED; allowed: equal, notEqual, in, notIn',
    ],
  },
  {
    title: 'an operator that does not fit a text fact',
    files: condition('{ fact: currency, operator: greaterThan, value: EUR }'),
    problems: [
      'verdicts.yaml:10:39  operator "greaterThan" does not fit "currency", a text; allowed: equal, notEqual, in, notIn',
    ],
  },
  {
    title: 'an unknown member of a comparison, with the nearest name',
    files: condition('{ fact: isBot, operater: equal, value: true }'),
    problems: [
      'verdicts.yaml:10:11  a condition lacks "operator"',
      'verdicts.yaml:10:26  unknown member "operater" of a condition; did you mean "operator"?',
    ],
  },
  {
    title: 'a path, which the engine knows and rules do not',
    files: condition('{ fact: isBot, path: $.x, operator: equal, value: true }'),
    problems: [
      'verdicts.yaml:10:26  unknown member "path" of a condition; allowed: fact, params, operator, value',
    ],
  },
  {
    title: 'a comparison without operator and value',
    files: condition('{ fact: isBot }'),
    problems: [
      'verdicts.yaml:10:11  a condition lacks "operator"',
      'verdicts.yaml:10:11  a condition lacks "value"',
    ],
  },
  {
    title: 'a comparison without a fact',
    files: condition('{ operator: equal, value: true }'),
    problems: ['verdicts.yaml:10:11  a condition lacks "fact"'],
  },
  {
    title: 'a condition that is a text',
    files: condition('isBot'),
    problems: ['verdicts.yaml:10:11  a condition must be a mapping, not "isBot"'],
  },
  {
    title: 'a text for a number',
    files: {
      'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: "4" }'),
    },
    problems: ['groups.yaml:28:71  value for "unpaidChain" must be a whole number, not "4"'],
  },
  {
    title: 'a number for a yes-or-no fact',
    files: condition('{ fact: isBot, operator: equal, value: 1 }'),
    problems: ['verdicts.yaml:10:50  value for "isBot" must be true or false, not 1'],
  },
  {
    title: 'yes for true',
    files: condition('{ fact: isBot, operator: equal, value: yes }'),
    problems: ['verdicts.yaml:10:50  value for "isBot" must be true or false, not "yes"'],
  },
  {
    title: 'a value that an enumerated fact never has',
    files: condition('{ fact: clientGroup, operator: equal, value: BLOKED }'),
    problems: ['verdicts.yaml:10:56  unknown value for "clientGroup" "BLOKED"; did you mean "BLOCKED"?'],
  },
  {
    title: 'a number for an enumerated fact',
    files: condition('{ fact: clientGroup, operator: equal, value: 3 }'),
    problems: [
      'verdicts.yaml:10:56  value for "clientGroup" must be one of NEW, STICKY, PAYING, TRUSTED, BLOCKED, not 3',
    ],
  },
  {
    title: 'true for a text fact',
    files: condition('{ fact: method, operator: equal, value: true }'),
    problems: ['verdicts.yaml:10:51  value for "method" must be a text, not true'],
  },
  {
    title: 'an empty text for a text fact',
    files: condition('{ fact: method, operator: equal, value: " " }'),
    problems: ['verdicts.yaml:10:51  value for "method" must not be empty'],
  },
  {
    title: 'a text with a control character written as an escape',
    files: condition('{ fact: method, operator: equal, value: "a\\0b" }'),
    problems: ['verdicts.yaml:10:51  value for "method" must not hold control characters or broken Unicode'],
  },
  {
    title: 'a text with half a character written as an escape',
    files: condition('{ fact: method, operator: equal, value: "\\uD800" }'),
    problems: ['verdicts.yaml:10:51  value for "method" must not hold control characters or broken Unicode'],
  },
  {
    title: 'no value at all',
    files: condition('{ fact: method, operator: equal, value: }'),
    problems: ['verdicts.yaml:10:51  value for "method" must be a text, not nothing'],
  },
  {
    title: 'a value above what the fact can be',
    files: { 'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: 21 }') },
    problems: ['groups.yaml:28:71  value for "unpaidChain" must be from 0 to 20, not 21'],
  },
  {
    title: 'a value below what the fact can be',
    files: { 'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: -1 }') },
    problems: ['groups.yaml:28:71  value for "unpaidChain" must be from 0 to 20, not -1'],
  },
  {
    title: 'more requests than a state remembers',
    files: { 'bot-signals.yaml': swap('value: 60 }', 'value: 65 }') },
    problems: ['bot-signals.yaml:52:92  value for "verdicts" must be from 0 to 64, not 65'],
  },
  {
    title: 'a score above 1',
    files: { 'groups.yaml': swap('value: 0.8 ', 'value: 1.01 ') },
    problems: ['groups.yaml:46:72  value for "paymentScore" must be from 0 to 1, not 1.01'],
  },
  {
    title: 'a fraction for a count',
    files: {
      'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: 3.5 }'),
    },
    problems: ['groups.yaml:28:71  value for "unpaidChain" must be a whole number, not 3.5'],
  },
  {
    title: 'an octal number',
    files: { 'bot-signals.yaml': swap('value: 30', 'value: 030') },
    problems: [
      'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 030',
    ],
  },
  {
    title: 'a number with leading zeros',
    files: { 'bot-signals.yaml': swap('value: 30', 'value: 0777') },
    problems: [
      'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 0777',
    ],
  },
  {
    title: 'a hexadecimal number',
    files: { 'bot-signals.yaml': swap('value: 30', 'value: 0x1F') },
    problems: [
      'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 0x1F',
    ],
  },
  {
    title: 'a number with an exponent',
    files: condition('{ fact: amount, operator: greaterThan, value: 1e3 }'),
    problems: ['verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 1e3'],
  },
  {
    title: 'a number that overflows to infinity',
    files: condition('{ fact: amount, operator: greaterThan, value: 1e400 }'),
    problems: ['verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 1e400'],
  },
  {
    title: 'infinity',
    files: condition('{ fact: amount, operator: greaterThan, value: .inf }'),
    problems: ['verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not .inf'],
  },
  {
    title: 'not a number',
    files: condition('{ fact: amount, operator: greaterThan, value: .nan }'),
    problems: ['verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not .nan'],
  },
  {
    title: 'a whole number that a double cannot hold',
    files: condition('{ fact: paidCount, operator: greaterThan, value: 9007199254740993 }'),
    problems: [
      'verdicts.yaml:10:60  value for "paidCount" must be a whole number in plain digits, not 9007199254740993',
    ],
  },
  {
    title: 'a whole number with a fraction of zero that a double cannot hold',
    files: condition('{ fact: amount, operator: greaterThan, value: 9007199254740993.0 }'),
    problems: [
      'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 9007199254740993.0',
    ],
  },
  {
    title: '"in" with a text, which would search in it',
    files: condition('{ fact: clientGroup, operator: in, value: BLOCKED }'),
    problems: ['verdicts.yaml:10:53  value of operator "in" must be a list, not "BLOCKED"'],
  },
  {
    title: '"notIn" with a mapping',
    files: condition('{ fact: clientGroup, operator: notIn, value: { a: b } }'),
    problems: [
      'verdicts.yaml:10:56  value lacks "list"',
      'verdicts.yaml:10:58  unknown member "a" of value; allowed: list',
    ],
  },
  {
    title: '"in" with an empty list',
    files: condition('{ fact: clientGroup, operator: in, value: [] }'),
    problems: ['verdicts.yaml:10:53  value of operator "in" must not be empty'],
  },
  {
    title: '"in" with one wrong item among right ones',
    files: condition('{ fact: clientGroup, operator: in, value: [NEW, BLOKED, TRUSTED] }'),
    problems: ['verdicts.yaml:10:59  unknown value for "clientGroup" "BLOKED"; did you mean "BLOCKED"?'],
  },
  {
    title: '"equal" with a list',
    files: condition('{ fact: clientGroup, operator: equal, value: [NEW] }'),
    problems: [
      'verdicts.yaml:10:56  value for "clientGroup" must be one of NEW, STICKY, PAYING, TRUSTED, BLOCKED, not a list',
    ],
  },
  {
    title: 'an empty "all", which would always match',
    files: conditions('      all: []'),
    problems: ['verdicts.yaml:9:12  "all" must not be empty'],
  },
  {
    title: 'an empty "any", which would always match',
    files: conditions('      any: []'),
    problems: ['verdicts.yaml:9:12  "any" must not be empty'],
  },
  {
    title: 'an "all" that is no list',
    files: conditions(`      all: ${CLIENT_BLOCKED}`),
    problems: ['verdicts.yaml:9:12  "all" must be a list, not a mapping'],
  },
  {
    title: 'an "all" without anything',
    files: conditions('      all:'),
    problems: ['verdicts.yaml:9:11  "all" must be a list, not nothing'],
  },
  {
    title: 'both "all" and "any", of which the engine ignores one',
    files: conditions(`      all: [${CLIENT_BLOCKED}]\n      any: [${CLIENT_BLOCKED}]`),
    problems: [
      'verdicts.yaml:9:7  a condition has either all, any, not, condition or fact; "all" stands beside any',
    ],
  },
  {
    title: 'a "not" beside a fact',
    files: condition(`{ not: ${CLIENT_BLOCKED}, fact: isBot }`),
    problems: [
      'verdicts.yaml:10:11  a condition has either all, any, not, condition or fact; "not" stands beside fact',
    ],
  },
  {
    title: 'a "not" of a list',
    files: conditions(`      not: [${CLIENT_BLOCKED}]`),
    problems: ['verdicts.yaml:9:12  a condition must be a mapping, not a list'],
  },
  {
    title: 'a bare comparison on top',
    files: conditions(`      fact: clientGroup\n      operator: equal\n      value: BLOCKED`),
    problems: [
      'verdicts.yaml:9:7  conditions must start with all, any, not or condition; put the comparison in "all"',
    ],
  },
  {
    title: 'conditions that are a list',
    files: conditions(`      - ${CLIENT_BLOCKED}`),
    problems: ['verdicts.yaml:9:7  conditions must be a mapping, not a list'],
  },
  {
    title: 'conditions that are an empty mapping',
    files: { 'verdicts.yaml': swap(`conditions:\n${IF_CLIENT_BLOCKED}`, 'conditions: {}') },
    problems: [
      'verdicts.yaml:8:17  conditions must start with all, any, not or condition; put the comparison in "all"',
    ],
  },
  {
    title: 'a reference in a file without named conditions',
    files: conditions('      condition: known-bad'),
    problems: ['verdicts.yaml:9:18  unknown condition "known-bad"; this file has no "conditions:"'],
  },
  {
    title: 'a reference to an unknown condition, with the nearest name',
    files: named(`  own: { all: [${CLIENT_BLOCKED}] }`, 'condition: owm'),
    problems: ['verdicts.yaml:11:18  unknown condition "owm"; did you mean "own"?'],
  },
  {
    title: 'a reference that is not a text',
    files: named(`  own: { all: [${CLIENT_BLOCKED}] }`, 'condition: [own]'),
    problems: ['verdicts.yaml:11:18  condition must be a text, not a list'],
  },
  {
    title: 'named conditions that refer to each other in a circle',
    files: named('  own: { not: { condition: other } }\n  other: { any: [{ condition: own }] }'),
    problems: ['verdicts.yaml:6:31  conditions refer to each other in a circle: own -> other -> own'],
  },
  {
    title: 'a named condition that refers to itself',
    files: named('  own: { condition: own }'),
    problems: ['verdicts.yaml:5:21  conditions refer to each other in a circle: own -> own'],
  },
  {
    title: 'a named condition that is a bare comparison',
    files: named(`  own: ${CLIENT_BLOCKED}`),
    problems: [
      'verdicts.yaml:5:8  conditions must start with all, any, not or condition; put the comparison in "all"',
    ],
  },
  {
    title: 'named conditions that are a list',
    files: named('  - own'),
    problems: [
      'verdicts.yaml:5:3  "conditions" must be a mapping, not a list',
      'verdicts.yaml:11:18  unknown condition "own"; this file has no "conditions:"',
    ],
  },
  {
    title: 'a named condition that nobody uses and that is wrong',
    files: named(`  own: { all: [${CLIENT_BLOCKED}] }\n  unused: { all: [] }`),
    problems: ['verdicts.yaml:6:18  "all" must not be empty'],
  },
  {
    title: 'conditions nested too deep',
    files: conditions(`      not: ${nested(15)}`),
    problems: ['verdicts.yaml:9:117  conditions are nested deeper than 16 levels, named conditions included'],
  },
  {
    title: 'named conditions that together nest too deep, told in the order they are used',
    files: named(chain(8), 'condition: c0'),
    problems: ['verdicts.yaml:5:14  conditions are nested deeper than 16 levels, named conditions included'],
  },
  {
    title: 'named conditions that multiply to too many comparisons',
    files: named(
      `  few: { all: [${Array.from({ length: 40 }, () => CLIENT_BLOCKED).join(', ')}] }\n  many: { all: [${Array.from({ length: 30 }, () => '{ condition: few }').join(', ')}] }`,
      'condition: many',
    ),
    problems: [
      'verdicts.yaml:6:9  the condition makes 1200 comparisons with the named conditions in it; at most 1000 are allowed',
    ],
  },
  {
    title: 'named conditions that double until they are too deep',
    files: named(doubling(8), 'condition: c8'),
    problems: [
      'verdicts.yaml:13:15  conditions are nested deeper than 16 levels, named conditions included',
      'verdicts.yaml:13:34  conditions are nested deeper than 16 levels, named conditions included',
    ],
  },
  {
    title: 'a windowed fact without a window',
    files: {
      'bot-signals.yaml': swap(CROWDED, '{ fact: clientsOnIp, operator: greaterThanInclusive, value: 4 }'),
    },
    problems: ['bot-signals.yaml:36:19  "clientsOnIp" is counted over a window; add params: { window: 10m }'],
  },
  {
    title: 'params without a window',
    files: {
      'bot-signals.yaml': swap(
        CROWDED,
        '{ fact: clientsOnIp, params: { windw: 1h }, operator: greaterThanInclusive, value: 4 }',
      ),
    },
    problems: [
      'bot-signals.yaml:36:40  params lacks "window"',
      'bot-signals.yaml:36:42  unknown member "windw" of params; did you mean "window"?',
    ],
  },
  {
    title: 'a window longer than events are remembered',
    files: {
      'bot-signals.yaml': swap(
        'fact: earlyRequests, params: { window: 10m }',
        'fact: earlyRequests, params: { window: 25h }',
      ),
    },
    problems: ['bot-signals.yaml:68:52  "earlyRequests" looks back 1d at most, not 25h'],
  },
  {
    title: 'a window longer than sightings are remembered',
    files: {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 8d }'),
    },
    problems: ['bot-signals.yaml:36:50  "clientsOnIp" looks back 7d at most, not 8d'],
  },
  {
    title: 'a window of zero',
    files: {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 0s }'),
    },
    problems: [
      'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "0s"',
    ],
  },
  {
    title: 'a negative window',
    files: {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: -1h }'),
    },
    problems: [
      'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "-1h"',
    ],
  },
  {
    title: 'a window in an unknown unit',
    files: {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 1w }'),
    },
    problems: [
      'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "1w"',
    ],
  },
  {
    title: 'a window without a unit',
    files: {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 60 }'),
    },
    problems: [
      'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not 60',
    ],
  },
  {
    title: 'params on a fact without a window',
    files: condition('{ fact: clientGroup, params: { window: 1h }, operator: equal, value: BLOCKED }'),
    problems: ['verdicts.yaml:10:32  "clientGroup" takes no params'],
  },
  {
    title: 'the client group asked for while it is being concluded',
    files: {
      'groups.yaml': swap(
        'fact: hasBinding, operator: equal, value: true',
        'fact: clientGroup, operator: equal, value: NEW',
      ),
    },
    problems: [
      'groups.yaml:37:19  "clientGroup" is not known yet in groups.yaml; it can be used in bot-signals.yaml and verdicts.yaml',
    ],
  },
  {
    title: 'the bot flag asked for while it is being concluded',
    files: {
      'bot-signals.yaml': swap(
        'fact: jsOk, operator: equal, value: false',
        'fact: isBot, operator: equal, value: false',
      ),
    },
    problems: [
      'bot-signals.yaml:76:19  "isBot" is not known yet in bot-signals.yaml; it can be used in verdicts.yaml',
    ],
  },
  {
    title: 'the bot weight asked for in groups.yaml',
    files: {
      'groups.yaml': swap(
        'fact: hasBinding, operator: equal, value: true',
        'fact: botWeight, operator: greaterThan, value: 1',
      ),
    },
    problems: [
      'groups.yaml:37:19  "botWeight" is not known yet in groups.yaml; it can be used in verdicts.yaml',
    ],
  },
];

/** Problems of rules and of what they answer. */
export const BAD_RULES: readonly BadRules[] = [
  {
    title: 'two rules of one name',
    files: { 'verdicts.yaml': swap('name: bot-blocked', 'name: client-blocked') },
    problems: ['verdicts.yaml:15:5  the name "client-blocked" is taken by the rule in line 5'],
  },
  {
    title: 'two signals of one name',
    files: { 'bot-signals.yaml': swap('name: amount-churn', 'name: honeypot') },
    problems: ['bot-signals.yaml:113:5  the name "honeypot" is taken by the rule in line 15'],
  },
  {
    title: 'two rules of equal priority that one payer can match',
    files: { 'groups.yaml': swap('priority: 50', 'priority: 60') },
    problems: [
      'groups.yaml:50:5  "has-paid" and "stable-history" (line 40) both have priority 60 and can both match first, e.g. when paidCount = 5, paymentScore = 0.8125, unpaidChain = 0; give each its own priority',
    ],
  },
  {
    title: 'priority 0',
    files: { 'groups.yaml': swap('priority: 50', 'priority: 0') },
    problems: ['groups.yaml:52:15  priority must be from 1 to 1000000, not 0'],
  },
  {
    title: 'a negative priority',
    files: { 'groups.yaml': swap('priority: 50', 'priority: -5') },
    problems: ['groups.yaml:52:15  priority must be from 1 to 1000000, not -5'],
  },
  {
    title: 'a fraction for a priority',
    files: { 'groups.yaml': swap('priority: 50', 'priority: 50.5') },
    problems: ['groups.yaml:52:15  priority must be a whole number, not 50.5'],
  },
  {
    title: 'a text for a priority',
    files: { 'groups.yaml': swap('priority: 50', 'priority: high') },
    problems: ['groups.yaml:52:15  priority must be a whole number, not "high"'],
  },
  {
    title: 'a priority on a signal, where the order does not count',
    files: { 'bot-signals.yaml': swap('  - name: honeypot\n', '  - name: honeypot\n    priority: 5\n') },
    problems: [
      'bot-signals.yaml:16:5  unknown member "priority" of a rule; allowed: name, conditions, event, description, holdout, holdoutMaxAmount',
    ],
  },
  {
    title: 'a rule without a name',
    files: { 'groups.yaml': swap('  - name: has-paid\n    description', '  - description') },
    problems: ['groups.yaml:50:5  a rule lacks "name"'],
  },
  {
    title: 'a rule without a priority',
    files: { 'groups.yaml': swap('    priority: 50\n', '') },
    problems: ['groups.yaml:50:5  a rule lacks "priority"'],
  },
  {
    title: 'a rule without conditions and event',
    files: { 'groups.yaml': swap('otherwise: NEW', '  - { name: empty, priority: 1 }\notherwise: NEW') },
    problems: ['groups.yaml:58:5  a rule lacks "conditions"', 'groups.yaml:58:5  a rule lacks "event"'],
  },
  {
    title: 'a rule that is a text',
    files: { 'groups.yaml': swap('otherwise: NEW', '  - has-paid\notherwise: NEW') },
    problems: ['groups.yaml:58:5  a rule must be a mapping, not "has-paid"'],
  },
  {
    title: 'an unknown member of a rule, with the nearest name',
    files: { 'groups.yaml': swap('priority: 50', 'priorty: 50') },
    problems: [
      'groups.yaml:50:5  a rule lacks "priority"',
      'groups.yaml:52:5  unknown member "priorty" of a rule; did you mean "priority"?',
    ],
  },
  {
    title: 'a callback, which the engine knows and rules do not',
    files: { 'groups.yaml': swap('    priority: 50\n', '    priority: 50\n    onSuccess: run\n') },
    problems: [
      'groups.yaml:53:5  unknown member "onSuccess" of a rule; allowed: name, priority, conditions, event, description, holdout, holdoutMaxAmount',
    ],
  },
  {
    title: 'a name that is not lower-case words',
    files: { 'groups.yaml': swap('name: has-paid', 'name: Has Paid') },
    problems: [
      'groups.yaml:50:11  name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "Has Paid"',
    ],
  },
  {
    title: 'a name of more than 64 characters',
    files: { 'groups.yaml': swap('name: has-paid', `name: ${'a'.repeat(65)}`) },
    problems: [
      'groups.yaml:50:11  name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
    ],
  },
  {
    title: 'a rule named as the answer when no rule matches',
    files: { 'groups.yaml': swap('name: has-paid', 'name: otherwise') },
    problems: ['groups.yaml:50:11  "otherwise" is the name of the answer when no rule matches'],
  },
  {
    title: 'an empty description',
    files: { 'groups.yaml': swap('description: At least one paid order.', 'description: ""') },
    problems: ['groups.yaml:51:18  description must not be empty'],
  },
  {
    title: 'an event without params',
    files: {
      'groups.yaml': swap('event: { type: group, params: { group: PAYING } }', 'event: { type: group }'),
    },
    problems: ['groups.yaml:56:12  event lacks "params"'],
  },
  {
    title: 'an event without a type',
    files: {
      'groups.yaml': swap('{ type: group, params: { group: PAYING } }', '{ params: { group: PAYING } }'),
    },
    problems: ['groups.yaml:56:12  event lacks "type"'],
  },
  {
    title: 'the event type of another file',
    files: {
      'groups.yaml': swap(
        '{ type: group, params: { group: PAYING } }',
        '{ type: verdict, params: { group: PAYING } }',
      ),
    },
    problems: ['groups.yaml:56:20  unknown event type "verdict"; allowed: group'],
  },
  {
    title: 'an unknown group, with the nearest name',
    files: { 'groups.yaml': swap('group: PAYING', 'group: PAYNG') },
    problems: ['groups.yaml:56:44  unknown group "PAYNG"; did you mean "PAYING"?'],
  },
  {
    title: 'an event without its group',
    files: { 'groups.yaml': swap('{ group: PAYING }', '{ groups: PAYING }') },
    problems: [
      'groups.yaml:56:35  params lacks "group"',
      'groups.yaml:56:37  unknown member "groups" of params; did you mean "group"?',
    ],
  },
  {
    title: 'an unknown verdict, with the nearest name',
    files: { 'verdicts.yaml': swap('verdict: GET_SAME_STICKY', 'verdict: GET_SAME') },
    problems: [
      'verdicts.yaml:58:26  unknown verdict "GET_SAME"; allowed: GET_NEW, GET_SAME_STICKY, WAIT, BLOCK',
    ],
  },
  {
    title: 'a verdict without a reason',
    files: {
      'verdicts.yaml': swap('{ verdict: BLOCK, reason: "The client is blocked." }', '{ verdict: BLOCK }'),
    },
    problems: ['verdicts.yaml:13:15  params lacks "reason"'],
  },
  {
    title: 'wrong conditions beside a wrong event: both are told',
    files: {
      'verdicts.yaml': edits(
        swap('fact: clientGroup', 'fact: clientGruop'),
        swap('reason: "The client is blocked."', 'reason: ""'),
      ),
    },
    problems: [
      'verdicts.yaml:10:19  unknown fact "clientGruop"; did you mean "clientGroup"?',
      'verdicts.yaml:13:41  reason must not be empty',
    ],
  },
  {
    title: 'a signal without weight',
    files: {
      'bot-signals.yaml': swap(
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4 } }',
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: {} }',
      ),
    },
    problems: ['bot-signals.yaml:21:36  params lacks "weight"'],
  },
  {
    title: 'a weight of zero',
    files: {
      'bot-signals.yaml': swap(
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4',
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 0',
      ),
    },
    problems: ['bot-signals.yaml:21:46  weight must be from 0.01 to 1000, not 0'],
  },
  {
    title: 'a negative threshold',
    files: { 'bot-signals.yaml': swap('threshold: 4', 'threshold: -4') },
    problems: ['bot-signals.yaml:6:12  threshold must be from 0.01 to 1000, not -4'],
  },
  {
    title: 'no threshold',
    files: { 'bot-signals.yaml': swap('threshold: 4\n', '') },
    problems: ['bot-signals.yaml:13:1  bot-signals.yaml lacks "threshold"'],
  },
  {
    title: 'a threshold that all signals together do not reach',
    files: { 'bot-signals.yaml': swap('threshold: 4', 'threshold: 34') },
    problems: [
      'bot-signals.yaml:6:12  all signals together weigh 33, which never reaches the threshold of 34',
    ],
  },
  {
    title: 'a groups file without otherwise',
    files: { 'groups.yaml': swap('otherwise: NEW', '') },
    problems: ['groups.yaml:4:1  groups.yaml lacks "otherwise"'],
  },
  {
    title: 'an unknown group as otherwise',
    files: { 'groups.yaml': swap('otherwise: NEW', 'otherwise: new') },
    problems: ['groups.yaml:58:12  unknown group "new"; did you mean "NEW"?'],
  },
  {
    title: 'a verdicts file without otherwise, so that a request could stay unanswered',
    files: {
      'verdicts.yaml': swap(
        'otherwise: { verdict: GET_NEW, reason: "No reason to hold the payer back." }',
        '',
      ),
    },
    problems: ['verdicts.yaml:4:1  verdicts.yaml lacks "otherwise"'],
  },
  {
    title: 'an otherwise without a reason',
    files: {
      'verdicts.yaml': swap(
        '{ verdict: GET_NEW, reason: "No reason to hold the payer back." }',
        '{ verdict: GET_NEW }',
      ),
    },
    problems: ['verdicts.yaml:70:12  otherwise lacks "reason"'],
  },
  {
    title: 'GET_SAME_STICKY without demanding a binding',
    files: { 'verdicts.yaml': swap(SHOW_BOUND, '{ fact: clientGroup, operator: equal, value: STICKY }') },
    problems: [
      'verdicts.yaml:57:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    ],
  },
  {
    title: 'GET_SAME_STICKY for clients without a binding',
    files: {
      'verdicts.yaml': swap(SHOW_BOUND, '{ fact: bindingFitsMethod, operator: equal, value: false }'),
    },
    problems: [
      'verdicts.yaml:57:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    ],
  },
  {
    title: 'GET_SAME_STICKY with the binding as one way among others',
    files: {
      'verdicts.yaml': swap(
        IF_SHOW_BOUND,
        `      any:\n        - ${SHOW_BOUND}\n        - { fact: paidCount, operator: greaterThan, value: 3 }`,
      ),
    },
    problems: [
      'verdicts.yaml:58:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    ],
  },
  {
    title: 'GET_SAME_STICKY with the binding behind "not"',
    files: { 'verdicts.yaml': swap(IF_SHOW_BOUND, `      not: ${SHOW_BOUND}`) },
    problems: [
      'verdicts.yaml:56:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    ],
  },
  {
    title: 'GET_SAME_STICKY as otherwise',
    files: {
      'verdicts.yaml': swap('otherwise: { verdict: GET_NEW', 'otherwise: { verdict: GET_SAME_STICKY'),
    },
    problems: [
      'verdicts.yaml:70:12  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    ],
  },
  {
    title: 'a reason that quotes an unknown fact, with the nearest name',
    files: { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {laderLevel} was') },
    problems: [
      'verdicts.yaml:68:43  reason has a bad placeholder {laderLevel}: unknown fact "laderLevel"; did you mean "ladderLevel"?',
    ],
  },
  {
    title: 'a reason that quotes a windowed fact without its window',
    files: { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {verdicts} was') },
    problems: [
      'verdicts.yaml:68:43  reason has a bad placeholder {verdicts}: "verdicts" needs a window, a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d: {verdicts(10m)}',
    ],
  },
  {
    title: 'a reason that quotes too long a window',
    files: { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {verdicts(30d)} was') },
    problems: [
      'verdicts.yaml:68:43  reason has a bad placeholder {verdicts(30d)}: "verdicts" needs a window, a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d: {verdicts(10m)}',
    ],
  },
  {
    title: 'a reason that gives a window to a fact without one',
    files: { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {ladderLevel(1h)} was') },
    problems: [
      'verdicts.yaml:68:43  reason has a bad placeholder {ladderLevel(1h)}: "ladderLevel" takes no window',
    ],
  },
  {
    title: 'a reason with a brace that is never closed',
    files: { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {ladderLevel was') },
    problems: [
      'verdicts.yaml:68:43  reason has a "{" without its partner; braces stand around a fact, like {paidCount}',
    ],
  },
  {
    title: 'rules that are a mapping',
    files: { 'groups.yaml': whole('rules: { a: b }\notherwise: NEW\n') },
    problems: ['groups.yaml:1:8  "rules" must be a list, not a mapping'],
  },
  {
    title: 'no rules',
    files: { 'groups.yaml': whole('rules: []\notherwise: NEW\n') },
    problems: ['groups.yaml:1:8  "rules" must not be empty'],
  },
  {
    title: 'an unknown member of a rule file',
    files: { 'groups.yaml': swap('otherwise: NEW', 'otherwise: NEW\notherwhise: PAYING') },
    problems: ['groups.yaml:59:1  unknown member "otherwhise" of groups.yaml; did you mean "otherwise"?'],
  },
];

/** Problems of the settings, the ladder and the limits. */
export const BAD_SETTINGS: readonly BadRules[] = [
  {
    title: 'a ladder that does not lengthen',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 300s]') },
    problems: ['ladder.yaml:6:19  level 3 (5m) must be longer than level 2 (5m)'],
  },
  {
    title: 'a ladder that shortens',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 20s, 30m]') },
    problems: ['ladder.yaml:6:15  level 2 (20s) must be longer than level 1 (30s)'],
  },
  {
    title: 'a ladder without levels',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[]') },
    problems: ['ladder.yaml:6:9  levels must not be empty'],
  },
  {
    title: 'a ladder of too many levels',
    files: {
      'ladder.yaml': swap(
        '[30s, 5m, 30m]',
        `[${Array.from({ length: 21 }, (_, n) => `${n + 1}m`).join(', ')}]`,
      ),
    },
    problems: ['ladder.yaml:6:9  a ladder has at most 20 levels, not 21'],
  },
  {
    title: 'a reset before the longest wait is over',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 30m') },
    problems: [
      'ladder.yaml:7:13  resetAfter must be longer than the longest wait, 30m; otherwise leaving would be shorter than waiting',
    ],
  },
  {
    title: 'a ladder without a reset',
    files: { 'ladder.yaml': swap('resetAfter: 24h', '') },
    problems: ['ladder.yaml:6:1  the ladder lacks "resetAfter"'],
  },
  {
    title: 'a level of zero',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[0s, 5m, 30m]') },
    problems: [
      'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "0s"',
    ],
  },
  {
    title: 'a negative level',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[-30s, 5m, 30m]') },
    problems: [
      'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "-30s"',
    ],
  },
  {
    title: 'a level in milliseconds',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[500ms, 5m, 30m]') },
    problems: [
      'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "500ms"',
    ],
  },
  {
    title: 'a level without a unit',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30, 5m, 30m]') },
    problems: [
      'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not 30',
    ],
  },
  {
    title: 'a fraction of an hour',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 1.5h') },
    problems: [
      'ladder.yaml:7:13  resetAfter must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "1.5h"',
    ],
  },
  {
    title: 'a wait of years',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 9999999d]') },
    problems: ['ladder.yaml:6:19  a level must be at most 365d, not 9999999d'],
  },
  {
    title: 'a currency in small letters',
    files: { 'ruleset.yaml': swap('currency: EUR', 'currency: eur') },
    problems: ['ruleset.yaml:9:13  currency must be 3 or 4 capital letters or digits, like EUR, not "eur"'],
  },
  {
    title: 'a currency of two letters',
    files: { 'ruleset.yaml': swap('currency: EUR', 'currency: EU') },
    problems: ['ruleset.yaml:9:13  currency must be 3 or 4 capital letters or digits, like EUR, not "EU"'],
  },
  {
    title: 'a ladder that no ladder.yaml has',
    files: {
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }'),
      'verdicts.yaml': edits(
        swap(
          'verdict: WAIT\n        reason: "Asked',
          'verdict: WAIT\n        ladder: patint\n        reason: "Asked',
        ),
        swap(
          'verdict: WAIT\n        reason: "The previous',
          'verdict: WAIT\n        ladder: patient\n        reason: "The previous',
        ),
      ),
    },
    problems: ['verdicts.yaml:36:17  unknown ladder "patint"; did you mean "patient"?'],
  },
  {
    title: 'a ladder that no rule names',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }') },
    problems: ['ladder.yaml:8:12  no rule names the ladder "patient"; name it in a WAIT rule, or remove it'],
  },
  {
    title: 'a ladder of a rule that says no WAIT',
    files: {
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }'),
      'verdicts.yaml': swap(
        'verdict: BLOCK, reason: "The client',
        'verdict: BLOCK, ladder: patient, reason: "The client',
      ),
    },
    problems: ['verdicts.yaml:13:33  only WAIT has a ladder; BLOCK imposes no wait'],
  },
  {
    title: 'a named ladder that does not lengthen, and one that is longer than resetAfter',
    files: {
      'ladder.yaml': swap(
        'resetAfter: 24h',
        'resetAfter: 24h\nladders:\n  patient: [10m, 10m]\n  Slow: [1m]',
      ),
    },
    problems: [
      'ladder.yaml:9:18  level 2 (10m) must be longer than level 1 (10m)',
      'ladder.yaml:10:3  the name of a ladder has lower-case words joined by "-", like patient, unlike "Slow"',
    ],
  },
  {
    title: 'a named ladder that is longer than the absence after which a payer starts afresh',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 2d] }') },
    problems: [
      'ladder.yaml:7:13  resetAfter must be longer than the longest wait, 2d of the ladder "patient"; otherwise leaving would be shorter than waiting',
      'ladder.yaml:8:12  no rule names the ladder "patient"; name it in a WAIT rule, or remove it',
      'ruleset.yaml:20:51  resetAfter must be longer than the longest wait, 2d of the ladder "patient"; otherwise leaving would be shorter than waiting',
    ],
  },
  {
    title: "a platform's ladder of a name that ladder.yaml does not have",
    files: {
      'ruleset.yaml': swap('resetAfter: 1h }', 'resetAfter: 1h, ladders: { patient: [1m] } }'),
    },
    problems: ['ruleset.yaml:20:66  ladder.yaml has no ladder "patient"'],
  },
  {
    title: 'a time zone that is misspelt',
    files: { 'ruleset.yaml': swap('currency: EUR', 'currency: EUR\n  timeZone: Europe/Berln') },
    problems: [
      'ruleset.yaml:10:13  timeZone must be an IANA name, like Europe/Berlin or UTC, not "Europe/Berln"; did you mean "Europe/Berlin"?',
    ],
  },
  {
    title: 'a time zone that is an offset, which knows no summer time',
    files: {
      'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimits: true\n    timeZone: "+02:00"'),
    },
    problems: ['ruleset.yaml:20:15  timeZone must be an IANA name, like Europe/Berlin or UTC, not "+02:00"'],
  },
  {
    title: 'an hour that no clock shows',
    files: {
      'verdicts.yaml': swap(
        '{ fact: isBot, operator: equal, value: true }',
        '{ fact: hourOfDay, operator: equal, value: 24 }',
      ),
    },
    problems: ['verdicts.yaml:21:54  value for "hourOfDay" must be from 0 to 23, not 24'],
  },
  {
    title: 'a sum of amounts without its window',
    files: {
      'verdicts.yaml': swap(
        '{ fact: isBot, operator: equal, value: true }',
        '{ fact: paidAmount, operator: greaterThan, value: 24 }',
      ),
    },
    problems: ['verdicts.yaml:21:19  "paidAmount" is counted over a window; add params: { window: 10m }'],
  },
  {
    title: 'a currency of the platform that is a number',
    files: { 'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimits: true\n    currency: 978') },
    problems: ['ruleset.yaml:20:15  currency must be a text, not 978'],
  },
  {
    title: 'smoothing that would lower the score with the first payment',
    files: { 'ruleset.yaml': swap('{ prior: 0.5, weight: 0.4 }', '{ prior: 0.2, weight: 2 }') },
    problems: [
      'ruleset.yaml:11:14  a first paid order would lower the score of 0.5000 that every new client has; raise prior or lower weight until weight * (0.5 - prior) is at most 0.5',
    ],
  },
  {
    title: 'smoothing that would raise the score with the first unpaid order',
    files: { 'ruleset.yaml': swap('{ prior: 0.5, weight: 0.4 }', '{ prior: 0.8, weight: 2 }') },
    problems: [
      'ruleset.yaml:11:14  a first unpaid order would raise the score of 0.5000 that every new client has; lower prior or weight until weight * (prior - 0.5) is at most 0.5',
    ],
  },
  {
    title: 'a prior above 1',
    files: { 'ruleset.yaml': swap('prior: 0.5', 'prior: 1.5') },
    problems: ['ruleset.yaml:11:23  prior must be from 0 to 1, not 1.5'],
  },
  {
    title: 'a smoothing weight of zero',
    files: { 'ruleset.yaml': swap('weight: 0.4', 'weight: 0') },
    problems: ['ruleset.yaml:11:36  weight must be from 0.01 to 1000, not 0'],
  },
  {
    title: 'scoringLimits that is a text',
    files: { 'ruleset.yaml': swap('scoringLimits: false', 'scoringLimits: "false"') },
    problems: ['ruleset.yaml:13:18  scoringLimits must be true or false, not "false"'],
  },
  {
    title: 'a missing setting',
    files: { 'ruleset.yaml': swap('  scoringLimits: false\n', '') },
    problems: ['ruleset.yaml:9:3  settings lacks "scoringLimits"'],
  },
  {
    title: 'no settings: the platforms are read all the same',
    files: {
      'ruleset.yaml': whole(
        'ruleVersion: p2.v10\ndescription: Cards.\nplatforms: { demo: { currency: euro$ } }\n',
      ),
    },
    problems: [
      'ruleset.yaml:1:1  the rule set lacks "settings"',
      'ruleset.yaml:3:32  currency must be 3 or 4 capital letters or digits, like EUR, not "euro$"',
    ],
  },
  {
    title: 'a platform name that no platform can have',
    files: { 'ruleset.yaml': swap('  sandbox:', '  Sandbox:') },
    problems: [
      'ruleset.yaml:18:3  a platform name has lower-case letters, digits and "-", starting with a letter, at most 63 characters, unlike "Sandbox"',
    ],
  },
  {
    title: 'an unknown setting of a platform',
    files: { 'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimit: true') },
    problems: [
      'ruleset.yaml:19:5  unknown member "scoringLimit" of platform "sandbox"; did you mean "scoringLimits"?',
    ],
  },
  {
    title: 'a platform without any setting',
    files: {
      'ruleset.yaml': edits(
        swap('    scoringLimits: true\n', ''),
        swap('    ladder: { levels: [10s, 1m, 10m], resetAfter: 1h }\n', ''),
      ),
    },
    problems: ['ruleset.yaml:18:11  platform "sandbox" must be a mapping, not nothing'],
  },
  {
    title: "a platform's own ladder that does not lengthen",
    files: { 'ruleset.yaml': swap('levels: [10s, 1m, 10m]', 'levels: [10s, 1m, 1m]') },
    problems: ['ruleset.yaml:20:33  level 3 (1m) must be longer than level 2 (1m)'],
  },
  {
    title: 'a ruleVersion that is not the name of the folder',
    files: {},
    folder: 'p2.v11',
    problems: ['ruleset.yaml:2:14  ruleVersion "p2.v10" must equal the name of its folder, "p2.v11"'],
  },
  {
    title: 'a malformed ruleVersion',
    files: { 'ruleset.yaml': swap('ruleVersion: p2.v10', 'ruleVersion: v10') },
    problems: [
      'ruleset.yaml:2:14  ruleVersion must be p<number>.v<number>, like p2.v10, or p2.v11-night for a draft, not "v10"',
    ],
  },
  {
    title: 'a ruleVersion that is a number',
    files: { 'ruleset.yaml': swap('ruleVersion: p2.v10', 'ruleVersion: 2.10') },
    problems: ['ruleset.yaml:2:14  ruleVersion must be a text, not 2.10'],
  },
  {
    title: 'no description',
    files: {
      'ruleset.yaml': whole(
        'ruleVersion: p2.v10\nsettings: { currency: EUR, smoothing: { prior: 0.5, weight: 2 }, scoringLimits: false }\n',
      ),
    },
    problems: ['ruleset.yaml:1:1  the rule set lacks "description"'],
  },
  {
    title: 'limits without a group',
    files: { 'limits.yaml': swap('  PAYING: { EUR: "500.00", USD: "500.00" }\n', '') },
    problems: ['limits.yaml:6:3  "limits" lacks "PAYING"'],
  },
  {
    title: 'limits of an unknown group',
    files: { 'limits.yaml': swap('  BLOCKED:', '  BLOKED:') },
    problems: [
      'limits.yaml:6:3  "limits" lacks "BLOCKED"',
      'limits.yaml:10:3  unknown member "BLOKED" of "limits"; did you mean "BLOCKED"?',
    ],
  },
  {
    title: 'a limit that is a number',
    files: { 'limits.yaml': swap('NEW: { EUR: "250.00"', 'NEW: { EUR: 250.00') },
    problems: ['limits.yaml:6:15  the limit in EUR must be a text, not 250.00'],
  },
  {
    title: 'a negative limit',
    files: { 'limits.yaml': swap('NEW: { EUR: "250.00"', 'NEW: { EUR: "-250.00"') },
    problems: ['limits.yaml:6:15  the limit in EUR must be a decimal text, like "250.00", not "-250.00"'],
  },
  {
    title: 'a limit in a currency of small letters',
    files: { 'limits.yaml': swap('NEW: { EUR:', 'NEW: { eur:') },
    problems: ['limits.yaml:6:10  currency must be 3 or 4 capital letters or digits, like EUR, not "eur"'],
  },
  {
    title: 'scoring limits without their file',
    files: { 'limits.yaml': gone },
    problems: ['limits.yaml:1:1  the file is missing'],
  },
];

/** Problems of the files as such. */
export const BAD_FILES: readonly BadRules[] = [
  {
    title: 'a missing file',
    files: { 'verdicts.yaml': gone },
    problems: ['verdicts.yaml:1:1  the file is missing'],
  },
  {
    title: 'an unknown file, with the nearest name',
    files: { 'verdict.yaml': whole('a: b\n') },
    problems: [
      'verdict.yaml:1:1  unknown file; did you mean "verdicts.yaml"?; tests go into cases/*.yaml, lists into lists/*.yaml',
    ],
  },
  {
    title: 'a .yml file',
    files: { 'cases/more.yml': whole('cases: []\n') },
    problems: [
      'cases/more.yml:1:1  unknown file; allowed: ruleset.yaml, groups.yaml, bot-signals.yaml, verdicts.yaml, ladder.yaml, limits.yaml; tests go into cases/*.yaml, lists into lists/*.yaml',
    ],
  },
  {
    title: 'an empty file',
    files: { 'ladder.yaml': whole('') },
    problems: ['ladder.yaml:1:1  the file is empty'],
  },
  {
    title: 'a file of comments only',
    files: { 'ladder.yaml': whole('# later\n') },
    problems: ['ladder.yaml:1:1  the file is empty'],
  },
  {
    title: 'a file that is a list',
    files: { 'ladder.yaml': whole('- levels\n') },
    problems: ['ladder.yaml:1:1  the ladder must be a mapping, not a list'],
  },
  {
    title: 'a file that is a text',
    files: { 'ladder.yaml': whole('levels\n') },
    problems: ['ladder.yaml:1:1  the ladder must be a mapping, not "levels"'],
  },
  {
    title: 'a file longer than any person writes',
    files: { 'ladder.yaml': (sound) => `${sound}#${' '.repeat(512 * 1024)}\n` },
    problems: ['ladder.yaml:1:1  the file is longer than 524288 characters'],
  },
  {
    title: 'an alias',
    files: {
      'groups.yaml': edits(
        swap('value: BLOCKED }', 'value: &group BLOCKED }'),
        swap('params: { group: PAYING }', 'params: { group: *group }'),
      ),
    },
    problems: [
      'groups.yaml:10:65  "&group" is an anchor; share conditions by name under "conditions:" instead',
      'groups.yaml:56:44  "*group" is an alias; share conditions by name under "conditions:" instead',
    ],
  },
  {
    title: 'an anchor that nobody refers to',
    files: { 'groups.yaml': swap('value: BLOCKED }', 'value: &group BLOCKED }') },
    problems: [
      'groups.yaml:10:65  "&group" is an anchor; share conditions by name under "conditions:" instead',
    ],
  },
  {
    title: 'an alias to nothing',
    files: { 'groups.yaml': swap('params: { group: PAYING }', 'params: { group: *group }') },
    problems: [
      'groups.yaml:56:44  "*group" is an alias; share conditions by name under "conditions:" instead',
    ],
  },
  {
    title: 'an alias bomb',
    files: {
      'ladder.yaml': whole('a: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nlevels: *c\nresetAfter: 1h\n'),
    },
    problems: [
      'ladder.yaml:1:7  "&a" is an anchor; share conditions by name under "conditions:" instead',
      'ladder.yaml:2:7  "&b" is an anchor; share conditions by name under "conditions:" instead',
      'ladder.yaml:2:8  "*a" is an alias; share conditions by name under "conditions:" instead',
      'ladder.yaml:2:12  "*a" is an alias; share conditions by name under "conditions:" instead',
      'ladder.yaml:3:7  "&c" is an anchor; share conditions by name under "conditions:" instead',
      'ladder.yaml:3:8  "*b" is an alias; share conditions by name under "conditions:" instead',
      'ladder.yaml:3:12  "*b" is an alias; share conditions by name under "conditions:" instead',
      'ladder.yaml:4:9  "*c" is an alias; share conditions by name under "conditions:" instead',
    ],
  },
  {
    title: 'a duplicate key',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nresetAfter: 48h') },
    problems: ['ladder.yaml:8:1  not valid YAML: Map keys must be unique'],
  },
  {
    title: '__proto__ as a member',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\n__proto__: { levels: [1s] }') },
    problems: ['ladder.yaml:8:1  "__proto__" is not allowed as a member name'],
  },
  {
    title: '__proto__ as the name of a condition',
    files: named(`  __proto__: { all: [${CLIENT_BLOCKED}] }`, 'condition: __proto__'),
    problems: [
      'verdicts.yaml:5:3  "__proto__" is not allowed as a member name',
      'verdicts.yaml:11:18  unknown condition "__proto__"; this file has no "conditions:"',
    ],
  },
  {
    title: 'a merge key',
    files: { 'ruleset.yaml': swap('  sandbox:', '  <<: { demo: { currency: USD } }\n  sandbox:') },
    problems: ['ruleset.yaml:18:3  "<<" is not allowed as a member name'],
  },
  {
    title: 'a member name that is a number',
    files: { 'ruleset.yaml': swap('  sandbox:', '  7: { currency: USD }\n  sandbox:') },
    problems: ['ruleset.yaml:18:3  a member name of platforms must be a text'],
  },
  {
    title: 'a member name that is a list',
    files: { 'ruleset.yaml': swap('  sandbox:', '  ? [a, b]\n  : { currency: USD }\n  sandbox:') },
    problems: ['ruleset.yaml:18:5  a member name of platforms must be a text'],
  },
  {
    title: 'a member name without a value',
    files: { 'ruleset.yaml': swap('  sandbox:', '  ? demo\n  sandbox:') },
    problems: ['ruleset.yaml:18:5  "demo" has no value'],
  },
  {
    title: 'a tag',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: !!str 24h') },
    problems: ['ladder.yaml:7:19  "tag:yaml.org,2002:str" is a tag; write the plain value'],
  },
  {
    title: 'a tag that nobody knows',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: !hours 24') },
    problems: [
      'ladder.yaml:7:13  not valid YAML: Unresolved tag: !hours',
      'ladder.yaml:7:20  "!hours" is a tag; write the plain value',
    ],
  },
  {
    title: 'a directive that brings old YAML back',
    files: { 'ladder.yaml': (sound) => `%YAML 1.1\n---\n${sound}` },
    problems: ['ladder.yaml:1:1  a %YAML directive changes what values mean; remove it'],
  },
  {
    title: 'a tab as indentation',
    files: { 'ladder.yaml': whole('levels:\n\t- 30s\nresetAfter: 24h\n') },
    problems: ['ladder.yaml:2:1  not valid YAML: Tabs are not allowed as indentation'],
  },
  {
    title: 'a quote that is never closed',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: "24h') },
    problems: ['ladder.yaml:8:1  not valid YAML: Missing closing "quote'],
  },
  {
    title: 'a bracket that is never closed',
    files: { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 30m') },
    problems: [
      'ladder.yaml:7:1  not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  },
  {
    title: 'a second document',
    files: { 'ladder.yaml': (sound) => `---\n${sound}---\n${sound}` },
    problems: ['ladder.yaml:9:1  not valid YAML: a rule file is one document; a second one begins here'],
  },
  {
    title: 'a byte order mark',
    files: { 'ladder.yaml': (sound) => `\uFEFF${sound}` },
    problems: ['ladder.yaml:1:1  a byte order mark is not allowed; save the file as UTF-8 without one'],
  },
  {
    title: 'a NUL character',
    files: { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\0') },
    problems: ['ladder.yaml:7:16  the control character U+0000 is not allowed'],
  },
  {
    title: 'a backspace in a comment, which hides what stands before it',
    files: { 'ladder.yaml': swap('# The cooldown', '# The\b cooldown') },
    problems: ['ladder.yaml:3:6  the control character U+0008 is not allowed'],
  },
  {
    title: 'lists nested a thousand deep',
    files: { 'ladder.yaml': whole(`levels: ${'['.repeat(1000)}${']'.repeat(1000)}\nresetAfter: 24h\n`) },
    problems: [
      'ladder.yaml:1:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not a list',
    ],
  },
  {
    title: 'several files with problems: all are told, in the order of files, lines and columns',
    files: {
      'verdicts.yaml': edits(
        swap('fact: isBot', 'fact: isBott'),
        swap('fact: clientGroup', 'fact: clientGruop'),
      ),
      'groups.yaml': swap('otherwise: NEW', 'otherwise: OLD'),
      'ladder.yaml': whole('levels: [5m, 1m]\nresetAfter: 0s\n'),
      'ruleset.yaml': edits(swap('currency: EUR', 'currency: Euro'), swap('  sandbox:', '  Sandbox:')),
      'limits.yaml': swap('  NEW:', '  NEWS:'),
    },
    problems: [
      'groups.yaml:58:12  unknown group "OLD"; allowed: NEW, STICKY, PAYING, TRUSTED, BLOCKED',
      'ladder.yaml:1:14  level 2 (1m) must be longer than level 1 (5m)',
      'ladder.yaml:2:13  resetAfter must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "0s"',
      'limits.yaml:6:3  unknown member "NEWS" of "limits"; did you mean "NEW"?',
      'limits.yaml:6:3  "limits" lacks "NEW"',
      'ruleset.yaml:9:13  currency must be 3 or 4 capital letters or digits, like EUR, not "Euro"',
      'ruleset.yaml:18:3  a platform name has lower-case letters, digits and "-", starting with a letter, at most 63 characters, unlike "Sandbox"',
      'verdicts.yaml:10:19  unknown fact "clientGruop"; did you mean "clientGroup"?',
      'verdicts.yaml:21:19  unknown fact "isBott"; did you mean "isBot"?',
    ],
  },
];
