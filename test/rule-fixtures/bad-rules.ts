import { FACTS } from '../../src/facts/catalogue.ts';
import { type Edit, edits, swap, whole } from './sound-rules.ts';

/** Rule sets with one thing wrong, by what that is: what is edited in the sound one, and what must be told about it. */
export type BadRules = Readonly<
  Record<string, readonly [files: Readonly<Record<string, Edit>>, ...problems: readonly string[]]>
>;

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

function payerText(text: string): Readonly<Record<string, Edit>> {
  const reason = 'reason: "The client is blocked."';
  return { 'verdicts.yaml': swap(reason, `${reason}, payerText: "${text}"`) };
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
export const BAD_CONDITIONS: BadRules = {
  'an unknown fact, with the nearest name': [
    condition('{ fact: waitServd, operator: equal, value: true }'),
    'verdicts.yaml:10:19  unknown fact "waitServd"; did you mean "waitServed"?',
  ],
  'an unknown fact that is near to none, and a member of every object': [
    condition('{ fact: constructor, operator: equal, value: true }'),
    `verdicts.yaml:10:19  unknown fact "constructor"; allowed: ${[...FACTS.keys()].join(', ')}`,
  ],
  'a fact that is not a text': [
    condition('{ fact: 7, operator: equal, value: true }'),
    'verdicts.yaml:10:19  fact must be a text, not 7',
  ],
  'an unknown operator, with the nearest name': [
    condition('{ fact: clientGroup, operator: equals, value: BLOCKED }'),
    'verdicts.yaml:10:42  unknown operator "equals"; did you mean "equal"?',
  ],
  'an unknown fact beside an unknown operator: both are told': [
    condition('{ fact: waitServd, operator: equals, value: true }'),
    'verdicts.yaml:10:19  unknown fact "waitServd"; did you mean "waitServed"?',
    'verdicts.yaml:10:40  unknown operator "equals"; did you mean "equal"?',
  ],
  'an unknown operator beside a value that the fact can never have, and one without a fact': [
    condition(
      '{ any: [{ fact: clientGroup, operator: equals, value: BLOKED }, { operator: equals, value: 1 }] }',
    ),
    'verdicts.yaml:10:50  unknown operator "equals"; did you mean "equal"?',
    'verdicts.yaml:10:65  unknown value for "clientGroup" "BLOKED"; did you mean "BLOCKED"?',
    'verdicts.yaml:10:75  a condition lacks "fact"',
    'verdicts.yaml:10:87  unknown operator "equals"; did you mean "equal"?',
  ],
  'an operator of the engine that rules do not have': [
    condition('{ fact: clientGroup, operator: contains, value: BLOCKED }'),
    'verdicts.yaml:10:42  unknown operator "contains"; allowed: equal, notEqual, lessThan, lessThanInclusive, greaterThan, greaterThanInclusive, in, notIn',
  ],
  'an operator that does not fit a yes-or-no fact': [
    condition('{ fact: isBot, operator: greaterThan, value: true }'),
    'verdicts.yaml:10:36  operator "greaterThan" does not fit "isBot", true or false; allowed: equal, notEqual',
  ],
  'an operator that does not fit an enumerated fact': [
    condition('{ fact: clientGroup, operator: lessThan, value: BLOCKED }'),
    'verdicts.yaml:10:42  operator "lessThan" does not fit "clientGroup", one of NEW, STICKY, PAYING, TRUSTED, BLOCKED; allowed: equal, notEqual, in, notIn',
  ],
  'an operator that does not fit a text fact': [
    condition('{ fact: currency, operator: greaterThan, value: EUR }'),
    'verdicts.yaml:10:39  operator "greaterThan" does not fit "currency", a text; allowed: equal, notEqual, in, notIn',
  ],
  'an unknown member of a comparison, with the nearest name': [
    condition('{ fact: isBot, operater: equal, value: true }'),
    'verdicts.yaml:10:11  a condition lacks "operator"',
    'verdicts.yaml:10:26  unknown member "operater" of a condition; did you mean "operator"?',
  ],
  'a path, which the engine knows and rules do not': [
    condition('{ fact: isBot, path: $.x, operator: equal, value: true }'),
    'verdicts.yaml:10:26  unknown member "path" of a condition; allowed: fact, params, operator, value',
  ],
  'a comparison without operator and value': [
    condition('{ fact: isBot }'),
    'verdicts.yaml:10:11  a condition lacks "operator"',
    'verdicts.yaml:10:11  a condition lacks "value"',
  ],
  'a comparison without a fact': [
    condition('{ operator: equal, value: true }'),
    'verdicts.yaml:10:11  a condition lacks "fact"',
  ],
  'a condition that is a text': [
    condition('isBot'),
    'verdicts.yaml:10:11  a condition must be a mapping, not "isBot"',
  ],
  'a text for a number': [
    {
      'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: "4" }'),
    },
    'groups.yaml:28:71  value for "unpaidChain" must be a whole number, not "4"',
  ],
  'a number for a yes-or-no fact': [
    condition('{ fact: isBot, operator: equal, value: 1 }'),
    'verdicts.yaml:10:50  value for "isBot" must be true or false, not 1',
  ],
  'yes for true': [
    condition('{ fact: isBot, operator: equal, value: yes }'),
    'verdicts.yaml:10:50  value for "isBot" must be true or false, not "yes"',
  ],
  'a value that an enumerated fact never has': [
    condition('{ fact: clientGroup, operator: equal, value: BLOKED }'),
    'verdicts.yaml:10:56  unknown value for "clientGroup" "BLOKED"; did you mean "BLOCKED"?',
  ],
  'a number for an enumerated fact': [
    condition('{ fact: clientGroup, operator: equal, value: 3 }'),
    'verdicts.yaml:10:56  value for "clientGroup" must be one of NEW, STICKY, PAYING, TRUSTED, BLOCKED, not 3',
  ],
  'true for a text fact': [
    condition('{ fact: method, operator: equal, value: true }'),
    'verdicts.yaml:10:51  value for "method" must be a text, not true',
  ],
  'an empty text for a text fact': [
    condition('{ fact: method, operator: equal, value: " " }'),
    'verdicts.yaml:10:51  value for "method" must not be empty',
  ],
  'a text with a control character written as an escape': [
    condition('{ fact: method, operator: equal, value: "a\\0b" }'),
    'verdicts.yaml:10:51  value for "method" must not hold control characters or broken Unicode',
  ],
  'a text with half a character written as an escape': [
    condition('{ fact: method, operator: equal, value: "\\uD800" }'),
    'verdicts.yaml:10:51  value for "method" must not hold control characters or broken Unicode',
  ],
  'no value at all': [
    condition('{ fact: method, operator: equal, value: }'),
    'verdicts.yaml:10:51  value for "method" must be a text, not nothing',
  ],
  'a value above what the fact can be': [
    { 'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: 21 }') },
    'groups.yaml:28:71  value for "unpaidChain" must be from 0 to 20, not 21',
  ],
  'a value below what the fact can be': [
    { 'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: -1 }') },
    'groups.yaml:28:71  value for "unpaidChain" must be from 0 to 20, not -1',
  ],
  'more requests than a state remembers': [
    { 'bot-signals.yaml': swap('value: 60 }', 'value: 65 }') },
    'bot-signals.yaml:52:92  value for "verdicts" must be from 0 to 64, not 65',
  ],
  'a score above 1': [
    { 'groups.yaml': swap('value: 0.8 ', 'value: 1.01 ') },
    'groups.yaml:46:72  value for "paymentScore" must be from 0 to 1, not 1.01',
  ],
  'a fraction for a count': [
    {
      'groups.yaml': swap(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: 3.5 }'),
    },
    'groups.yaml:28:71  value for "unpaidChain" must be a whole number, not 3.5',
  ],
  'an octal number': [
    { 'bot-signals.yaml': swap('value: 30', 'value: 030') },
    'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 030',
  ],
  'a number with leading zeros': [
    { 'bot-signals.yaml': swap('value: 30', 'value: 0777') },
    'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 0777',
  ],
  'a hexadecimal number': [
    { 'bot-signals.yaml': swap('value: 30', 'value: 0x1F') },
    'bot-signals.yaml:44:96  value for "clientsOnIp" must be a whole number in plain digits, not 0x1F',
  ],
  'a number with an exponent': [
    condition('{ fact: amount, operator: greaterThan, value: 1e3 }'),
    'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 1e3',
  ],
  'a number that overflows to infinity': [
    condition('{ fact: amount, operator: greaterThan, value: 1e400 }'),
    'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 1e400',
  ],
  infinity: [
    condition('{ fact: amount, operator: greaterThan, value: .inf }'),
    'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not .inf',
  ],
  'not a number': [
    condition('{ fact: amount, operator: greaterThan, value: .nan }'),
    'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not .nan',
  ],
  'a whole number that a double cannot hold': [
    condition('{ fact: paidCount, operator: greaterThan, value: 9007199254740993 }'),
    'verdicts.yaml:10:60  value for "paidCount" must be a whole number in plain digits, not 9007199254740993',
  ],
  'a whole number with a fraction of zero that a double cannot hold': [
    condition('{ fact: amount, operator: greaterThan, value: 9007199254740993.0 }'),
    'verdicts.yaml:10:57  value for "amount" must be a number in plain digits, not 9007199254740993.0',
  ],
  '"in" with a text, which would search in it': [
    condition('{ fact: clientGroup, operator: in, value: BLOCKED }'),
    'verdicts.yaml:10:53  value of operator "in" must be a list, not "BLOCKED"',
  ],
  '"notIn" with a mapping': [
    condition('{ fact: clientGroup, operator: notIn, value: { a: b } }'),
    'verdicts.yaml:10:56  value lacks "list"',
    'verdicts.yaml:10:58  unknown member "a" of value; allowed: list',
  ],
  '"in" with an empty list': [
    condition('{ fact: clientGroup, operator: in, value: [] }'),
    'verdicts.yaml:10:53  value of operator "in" must not be empty',
  ],
  '"in" with one wrong item among right ones': [
    condition('{ fact: clientGroup, operator: in, value: [NEW, BLOKED, TRUSTED] }'),
    'verdicts.yaml:10:59  unknown value for "clientGroup" "BLOKED"; did you mean "BLOCKED"?',
  ],
  '"equal" with a list': [
    condition('{ fact: clientGroup, operator: equal, value: [NEW] }'),
    'verdicts.yaml:10:56  value for "clientGroup" must be one of NEW, STICKY, PAYING, TRUSTED, BLOCKED, not a list',
  ],
  'an empty "all", which would always match': [
    conditions('      all: []'),
    'verdicts.yaml:9:12  "all" must not be empty',
  ],
  'an empty "any", which would always match': [
    conditions('      any: []'),
    'verdicts.yaml:9:12  "any" must not be empty',
  ],
  'an "all" that is no list': [
    conditions(`      all: ${CLIENT_BLOCKED}`),
    'verdicts.yaml:9:12  "all" must be a list, not a mapping',
  ],
  'an "all" without anything': [
    conditions('      all:'),
    'verdicts.yaml:9:11  "all" must be a list, not nothing',
  ],
  'both "all" and "any", of which the engine ignores one': [
    conditions(`      all: [${CLIENT_BLOCKED}]\n      any: [${CLIENT_BLOCKED}]`),
    'verdicts.yaml:9:7  a condition has either all, any, not, condition or fact; "all" stands beside any',
  ],
  'a "not" beside a fact': [
    condition(`{ not: ${CLIENT_BLOCKED}, fact: isBot }`),
    'verdicts.yaml:10:11  a condition has either all, any, not, condition or fact; "not" stands beside fact',
  ],
  'a "not" of a list': [
    conditions(`      not: [${CLIENT_BLOCKED}]`),
    'verdicts.yaml:9:12  a condition must be a mapping, not a list',
  ],
  'a bare comparison on top': [
    conditions(`      fact: clientGroup\n      operator: equal\n      value: BLOCKED`),
    'verdicts.yaml:9:7  conditions must start with all, any, not or condition; put the comparison in "all"',
  ],
  'conditions that are a list': [
    conditions(`      - ${CLIENT_BLOCKED}`),
    'verdicts.yaml:9:7  conditions must be a mapping, not a list',
  ],
  'conditions that are an empty mapping': [
    { 'verdicts.yaml': swap(`conditions:\n${IF_CLIENT_BLOCKED}`, 'conditions: {}') },
    'verdicts.yaml:8:17  conditions must start with all, any, not or condition; put the comparison in "all"',
  ],
  'a reference in a file without named conditions': [
    conditions('      condition: known-bad'),
    'verdicts.yaml:9:18  unknown condition "known-bad"; this file has no "conditions:"',
  ],
  'a reference to an unknown condition, with the nearest name': [
    named(`  own: { all: [${CLIENT_BLOCKED}] }`, 'condition: owm'),
    'verdicts.yaml:11:18  unknown condition "owm"; did you mean "own"?',
  ],
  'a reference that is not a text': [
    named(`  own: { all: [${CLIENT_BLOCKED}] }`, 'condition: [own]'),
    'verdicts.yaml:11:18  condition must be a text, not a list',
  ],
  'named conditions that refer to each other in a circle': [
    named('  own: { not: { condition: other } }\n  other: { any: [{ condition: own }] }'),
    'verdicts.yaml:6:31  conditions refer to each other in a circle: own -> other -> own',
  ],
  'a named condition that refers to itself': [
    named('  own: { condition: own }'),
    'verdicts.yaml:5:21  conditions refer to each other in a circle: own -> own',
  ],
  'a named condition that is a bare comparison': [
    named(`  own: ${CLIENT_BLOCKED}`),
    'verdicts.yaml:5:8  conditions must start with all, any, not or condition; put the comparison in "all"',
  ],
  'named conditions that are a list': [
    named('  - own'),
    'verdicts.yaml:5:3  "conditions" must be a mapping, not a list',
    'verdicts.yaml:11:18  unknown condition "own"; this file has no "conditions:"',
  ],
  'a named condition that nobody uses and that is wrong': [
    named(`  own: { all: [${CLIENT_BLOCKED}] }\n  unused: { all: [] }`),
    'verdicts.yaml:6:18  "all" must not be empty',
  ],
  'conditions nested too deep': [
    conditions(`      not: ${nested(15)}`),
    'verdicts.yaml:9:117  conditions are nested deeper than 16 levels, named conditions included',
  ],
  'named conditions that together nest too deep, told in the order they are used': [
    named(chain(8), 'condition: c0'),
    'verdicts.yaml:5:14  conditions are nested deeper than 16 levels, named conditions included',
  ],
  'named conditions that multiply to too many comparisons': [
    named(
      `  few: { all: [${Array.from({ length: 40 }, () => CLIENT_BLOCKED).join(', ')}] }\n  many: { all: [${Array.from({ length: 30 }, () => '{ condition: few }').join(', ')}] }`,
      'condition: many',
    ),
    'verdicts.yaml:6:9  the condition makes 1200 comparisons with the named conditions in it; at most 1000 are allowed',
  ],
  'named conditions that double until they are too deep': [
    named(doubling(8), 'condition: c8'),
    'verdicts.yaml:13:15  conditions are nested deeper than 16 levels, named conditions included',
    'verdicts.yaml:13:34  conditions are nested deeper than 16 levels, named conditions included',
  ],
  'a windowed fact without a window': [
    {
      'bot-signals.yaml': swap(CROWDED, '{ fact: clientsOnIp, operator: greaterThanInclusive, value: 4 }'),
    },
    'bot-signals.yaml:36:19  "clientsOnIp" is counted over a window; add params: { window: 10m }',
  ],
  'params without a window': [
    {
      'bot-signals.yaml': swap(
        CROWDED,
        '{ fact: clientsOnIp, params: { windw: 1h }, operator: greaterThanInclusive, value: 4 }',
      ),
    },
    'bot-signals.yaml:36:40  params lacks "window"',
    'bot-signals.yaml:36:42  unknown member "windw" of params; did you mean "window"?',
  ],
  'a window longer than events are remembered': [
    {
      'bot-signals.yaml': swap(
        'fact: earlyRequests, params: { window: 10m }',
        'fact: earlyRequests, params: { window: 25h }',
      ),
    },
    'bot-signals.yaml:68:52  "earlyRequests" looks back 1d at most, not 25h',
  ],
  'a window longer than sightings are remembered': [
    {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 8d }'),
    },
    'bot-signals.yaml:36:50  "clientsOnIp" looks back 7d at most, not 8d',
  ],
  'a window of zero': [
    {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 0s }'),
    },
    'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "0s"',
  ],
  'a negative window': [
    {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: -1h }'),
    },
    'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "-1h"',
  ],
  'a window in an unknown unit': [
    {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 1w }'),
    },
    'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "1w"',
  ],
  'a window without a unit': [
    {
      'bot-signals.yaml': swap('clientsOnIp, params: { window: 1h }', 'clientsOnIp, params: { window: 60 }'),
    },
    'bot-signals.yaml:36:50  window must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not 60',
  ],
  'params on a fact without a window': [
    condition('{ fact: clientGroup, params: { window: 1h }, operator: equal, value: BLOCKED }'),
    'verdicts.yaml:10:32  "clientGroup" takes no params',
  ],
  'the client group asked for while it is being concluded': [
    {
      'groups.yaml': swap(
        'fact: hasBinding, operator: equal, value: true',
        'fact: clientGroup, operator: equal, value: NEW',
      ),
    },
    'groups.yaml:37:19  "clientGroup" is not known yet in groups.yaml; it can be used in bot-signals.yaml and verdicts.yaml',
  ],
  'the bot flag asked for while it is being concluded': [
    {
      'bot-signals.yaml': swap(
        'fact: jsOk, operator: equal, value: false',
        'fact: isBot, operator: equal, value: false',
      ),
    },
    'bot-signals.yaml:76:19  "isBot" is not known yet in bot-signals.yaml; it can be used in verdicts.yaml',
  ],
  'the bot weight asked for in groups.yaml': [
    {
      'groups.yaml': swap(
        'fact: hasBinding, operator: equal, value: true',
        'fact: botWeight, operator: greaterThan, value: 1',
      ),
    },
    'groups.yaml:37:19  "botWeight" is not known yet in groups.yaml; it can be used in verdicts.yaml',
  ],
};

/** Problems of rules and of what they answer. */
export const BAD_RULES: BadRules = {
  'two rules of one name': [
    { 'verdicts.yaml': swap('name: bot-blocked', 'name: client-blocked') },
    'verdicts.yaml:15:5  the name "client-blocked" is taken by the rule in line 5',
  ],
  'two signals of one name': [
    { 'bot-signals.yaml': swap('name: amount-churn', 'name: honeypot') },
    'bot-signals.yaml:113:5  the name "honeypot" is taken by the rule in line 15',
  ],
  'two rules of equal priority that one payer can match': [
    { 'groups.yaml': swap('priority: 50', 'priority: 60') },
    'groups.yaml:50:5  "has-paid" and "stable-history" (line 40) both have priority 60 and can both match first, e.g. when paidCount = 5, paymentScore = 0.8125, unpaidChain = 0; give each its own priority',
  ],
  'priority 0': [
    { 'groups.yaml': swap('priority: 50', 'priority: 0') },
    'groups.yaml:52:15  priority must be from 1 to 1000000, not 0',
  ],
  'a negative priority': [
    { 'groups.yaml': swap('priority: 50', 'priority: -5') },
    'groups.yaml:52:15  priority must be from 1 to 1000000, not -5',
  ],
  'a fraction for a priority': [
    { 'groups.yaml': swap('priority: 50', 'priority: 50.5') },
    'groups.yaml:52:15  priority must be a whole number, not 50.5',
  ],
  'a text for a priority': [
    { 'groups.yaml': swap('priority: 50', 'priority: high') },
    'groups.yaml:52:15  priority must be a whole number, not "high"',
  ],
  'a priority on a signal, where the order does not count': [
    { 'bot-signals.yaml': swap('  - name: honeypot\n', '  - name: honeypot\n    priority: 5\n') },
    'bot-signals.yaml:16:5  unknown member "priority" of a rule; allowed: name, conditions, event, description, holdout, holdoutMaxAmount',
  ],
  'a rule without a name': [
    { 'groups.yaml': swap('  - name: has-paid\n    description', '  - description') },
    'groups.yaml:50:5  a rule lacks "name"',
  ],
  'a rule without a priority': [
    { 'groups.yaml': swap('    priority: 50\n', '') },
    'groups.yaml:50:5  a rule lacks "priority"',
  ],
  'a rule without conditions and event': [
    { 'groups.yaml': swap('otherwise: NEW', '  - { name: empty, priority: 1 }\notherwise: NEW') },
    'groups.yaml:58:5  a rule lacks "conditions"',
    'groups.yaml:58:5  a rule lacks "event"',
  ],
  'a rule that is a text': [
    { 'groups.yaml': swap('otherwise: NEW', '  - has-paid\notherwise: NEW') },
    'groups.yaml:58:5  a rule must be a mapping, not "has-paid"',
  ],
  'an unknown member of a rule, with the nearest name': [
    { 'groups.yaml': swap('priority: 50', 'priorty: 50') },
    'groups.yaml:50:5  a rule lacks "priority"',
    'groups.yaml:52:5  unknown member "priorty" of a rule; did you mean "priority"?',
  ],
  'a callback, which the engine knows and rules do not': [
    { 'groups.yaml': swap('    priority: 50\n', '    priority: 50\n    onSuccess: run\n') },
    'groups.yaml:53:5  unknown member "onSuccess" of a rule; allowed: name, priority, conditions, event, description, holdout, holdoutMaxAmount',
  ],
  'a name that is not lower-case words': [
    { 'groups.yaml': swap('name: has-paid', 'name: Has Paid') },
    'groups.yaml:50:11  name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "Has Paid"',
  ],
  'a name of more than 64 characters': [
    { 'groups.yaml': swap('name: has-paid', `name: ${'a'.repeat(65)}`) },
    'groups.yaml:50:11  name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
  ],
  'a rule named as the answer when no rule matches': [
    { 'groups.yaml': swap('name: has-paid', 'name: otherwise') },
    'groups.yaml:50:11  "otherwise" is the name of the answer when no rule matches',
  ],
  'an empty description': [
    { 'groups.yaml': swap('description: At least one paid order.', 'description: ""') },
    'groups.yaml:51:18  description must not be empty',
  ],
  'an event without params': [
    {
      'groups.yaml': swap('event: { type: group, params: { group: PAYING } }', 'event: { type: group }'),
    },
    'groups.yaml:56:12  event lacks "params"',
  ],
  'an event without a type': [
    {
      'groups.yaml': swap('{ type: group, params: { group: PAYING } }', '{ params: { group: PAYING } }'),
    },
    'groups.yaml:56:12  event lacks "type"',
  ],
  'the event type of another file': [
    {
      'groups.yaml': swap(
        '{ type: group, params: { group: PAYING } }',
        '{ type: verdict, params: { group: PAYING } }',
      ),
    },
    'groups.yaml:56:20  unknown event type "verdict"; allowed: group',
  ],
  'an unknown group, with the nearest name': [
    { 'groups.yaml': swap('group: PAYING', 'group: PAYNG') },
    'groups.yaml:56:44  unknown group "PAYNG"; did you mean "PAYING"?',
  ],
  'an event without its group': [
    { 'groups.yaml': swap('{ group: PAYING }', '{ groups: PAYING }') },
    'groups.yaml:56:35  params lacks "group"',
    'groups.yaml:56:37  unknown member "groups" of params; did you mean "group"?',
  ],
  'an unknown verdict, with the nearest name': [
    { 'verdicts.yaml': swap('verdict: GET_SAME_STICKY', 'verdict: GET_SAME') },
    'verdicts.yaml:58:26  unknown verdict "GET_SAME"; allowed: GET_NEW, GET_SAME_STICKY, WAIT, BLOCK',
  ],
  'a verdict without a reason': [
    {
      'verdicts.yaml': swap('{ verdict: BLOCK, reason: "The client is blocked." }', '{ verdict: BLOCK }'),
    },
    'verdicts.yaml:13:15  params lacks "reason"',
  ],
  'wrong conditions beside a wrong event: both are told': [
    {
      'verdicts.yaml': edits(
        swap('fact: clientGroup', 'fact: clientGruop'),
        swap('reason: "The client is blocked."', 'reason: ""'),
      ),
    },
    'verdicts.yaml:10:19  unknown fact "clientGruop"; did you mean "clientGroup"?',
    'verdicts.yaml:13:41  reason must not be empty',
  ],
  'a signal without weight': [
    {
      'bot-signals.yaml': swap(
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4 } }',
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: {} }',
      ),
    },
    'bot-signals.yaml:21:36  params lacks "weight"',
  ],
  'a weight of zero': [
    {
      'bot-signals.yaml': swap(
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4',
        'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 0',
      ),
    },
    'bot-signals.yaml:21:46  weight must be from 0.01 to 1000, not 0',
  ],
  'a negative threshold': [
    { 'bot-signals.yaml': swap('threshold: 4', 'threshold: -4') },
    'bot-signals.yaml:6:12  threshold must be from 0.01 to 1000, not -4',
  ],
  'no threshold': [
    { 'bot-signals.yaml': swap('threshold: 4\n', '') },
    'bot-signals.yaml:13:1  bot-signals.yaml lacks "threshold"',
  ],
  'a threshold that all signals together do not reach': [
    { 'bot-signals.yaml': swap('threshold: 4', 'threshold: 34') },
    'bot-signals.yaml:6:12  all signals together weigh 33, which never reaches the threshold of 34',
  ],
  'a groups file without otherwise': [
    { 'groups.yaml': swap('otherwise: NEW', '') },
    'groups.yaml:4:1  groups.yaml lacks "otherwise"',
  ],
  'an unknown group as otherwise': [
    { 'groups.yaml': swap('otherwise: NEW', 'otherwise: new') },
    'groups.yaml:58:12  unknown group "new"; did you mean "NEW"?',
  ],
  'a verdicts file without otherwise, so that a request could stay unanswered': [
    {
      'verdicts.yaml': swap(
        'otherwise: { verdict: GET_NEW, reason: "No reason to hold the payer back." }',
        '',
      ),
    },
    'verdicts.yaml:4:1  verdicts.yaml lacks "otherwise"',
  ],
  'an otherwise without a reason': [
    {
      'verdicts.yaml': swap(
        '{ verdict: GET_NEW, reason: "No reason to hold the payer back." }',
        '{ verdict: GET_NEW }',
      ),
    },
    'verdicts.yaml:70:12  otherwise lacks "reason"',
  ],
  'GET_SAME_STICKY without demanding a binding': [
    { 'verdicts.yaml': swap(SHOW_BOUND, '{ fact: clientGroup, operator: equal, value: STICKY }') },
    'verdicts.yaml:57:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  ],
  'GET_SAME_STICKY for clients without a binding': [
    {
      'verdicts.yaml': swap(SHOW_BOUND, '{ fact: bindingFitsMethod, operator: equal, value: false }'),
    },
    'verdicts.yaml:57:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  ],
  'GET_SAME_STICKY with the binding as one way among others': [
    {
      'verdicts.yaml': swap(
        IF_SHOW_BOUND,
        `      any:\n        - ${SHOW_BOUND}\n        - { fact: paidCount, operator: greaterThan, value: 3 }`,
      ),
    },
    'verdicts.yaml:58:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  ],
  'GET_SAME_STICKY with the binding behind "not"': [
    { 'verdicts.yaml': swap(IF_SHOW_BOUND, `      not: ${SHOW_BOUND}`) },
    'verdicts.yaml:56:7  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  ],
  'GET_SAME_STICKY as otherwise': [
    {
      'verdicts.yaml': swap('otherwise: { verdict: GET_NEW', 'otherwise: { verdict: GET_SAME_STICKY'),
    },
    'verdicts.yaml:70:12  GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  ],
  'an empty text for the payer': [payerText(''), 'verdicts.yaml:13:78  payerText must not be empty'],
  'a long text for the payer': [
    payerText('x'.repeat(301)),
    'verdicts.yaml:13:78  payerText has 301 characters; at most 300 are allowed',
  ],
  'a text for the payer that quotes a fact': [
    payerText('You paid {paidCount} times.'),
    'verdicts.yaml:13:78  payerText may quote {waitSeconds} alone, not {paidCount}: payers read it',
  ],
  'a text for the payer with half a quotation': [
    payerText('In {waitSeconds'),
    'verdicts.yaml:13:78  payerText may quote {waitSeconds} alone, not {: payers read it',
  ],
  'a text for the payer that quotes a wait where there is none': [
    payerText('Ask in {waitSeconds}.'),
    'verdicts.yaml:13:78  payerText may quote {waitSeconds} only with WAIT; BLOCK imposes no wait',
  ],
  'a text for the payer that names a fact': [
    payerText('Your paymentScore is low.'),
    'verdicts.yaml:13:78  payerText names "paymentScore", which tells payers of the inside; say it in words of theirs',
  ],
  'a text for the payer that names a verdict': [
    payerText('It was a BLOCK.'),
    'verdicts.yaml:13:78  payerText names "BLOCK", which tells payers of the inside; say it in words of theirs',
  ],
  'a text for the payer that names a rule of the file': [
    payerText('By asked-too-early.'),
    'verdicts.yaml:13:78  payerText names "asked-too-early", which tells payers of the inside; say it in words of theirs',
  ],
  'a text for the payer that names a rule of another file': [
    payerText('By stable-history.'),
    'verdicts.yaml:13:78  payerText names "stable-history", which tells payers of the inside; say it in words of theirs',
  ],
  'a reason that quotes an unknown fact, with the nearest name': [
    { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {laderLevel} was') },
    'verdicts.yaml:68:43  reason has a bad placeholder {laderLevel}: unknown fact "laderLevel"; did you mean "ladderLevel"?',
  ],
  'a reason that quotes a windowed fact without its window': [
    { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {verdicts} was') },
    'verdicts.yaml:68:43  reason has a bad placeholder {verdicts}: "verdicts" needs a window, a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d: {verdicts(10m)}',
  ],
  'a reason that quotes too long a window': [
    { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {verdicts(30d)} was') },
    'verdicts.yaml:68:43  reason has a bad placeholder {verdicts(30d)}: "verdicts" needs a window, a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d: {verdicts(10m)}',
  ],
  'a reason that gives a window to a fact without one': [
    { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {ladderLevel(1h)} was') },
    'verdicts.yaml:68:43  reason has a bad placeholder {ladderLevel(1h)}: "ladderLevel" takes no window',
  ],
  'a reason with a brace that is never closed': [
    { 'verdicts.yaml': swap('level {ladderLevel} was', 'level {ladderLevel was') },
    'verdicts.yaml:68:43  reason has a "{" without its partner; braces stand around a fact, like {paidCount}',
  ],
  'rules that are a mapping': [
    { 'groups.yaml': whole('rules: { a: b }\notherwise: NEW\n') },
    'groups.yaml:1:8  "rules" must be a list, not a mapping',
  ],
  'no rules': [
    { 'groups.yaml': whole('rules: []\notherwise: NEW\n') },
    'groups.yaml:1:8  "rules" must not be empty',
  ],
  'an unknown member of a rule file': [
    { 'groups.yaml': swap('otherwise: NEW', 'otherwise: NEW\notherwhise: PAYING') },
    'groups.yaml:59:1  unknown member "otherwhise" of groups.yaml; did you mean "otherwise"?',
  ],
};

/** Problems of the settings, the ladder and the limits. */
export const BAD_SETTINGS: BadRules = {
  'a ladder that does not lengthen': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 300s]') },
    'ladder.yaml:6:19  level 3 (5m) must be longer than level 2 (5m)',
  ],
  'a ladder that shortens': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 20s, 30m]') },
    'ladder.yaml:6:15  level 2 (20s) must be longer than level 1 (30s)',
  ],
  'a ladder without levels': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[]') },
    'ladder.yaml:6:9  levels must not be empty',
  ],
  'a ladder of too many levels': [
    {
      'ladder.yaml': swap(
        '[30s, 5m, 30m]',
        `[${Array.from({ length: 21 }, (_, n) => `${n + 1}m`).join(', ')}]`,
      ),
    },
    'ladder.yaml:6:9  a ladder has at most 20 levels, not 21',
  ],
  'a reset before the longest wait is over': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 30m') },
    'ladder.yaml:7:13  resetAfter must be longer than the longest wait, 30m; otherwise leaving would be shorter than waiting',
  ],
  'a ladder without a reset': [
    { 'ladder.yaml': swap('resetAfter: 24h', '') },
    'ladder.yaml:6:1  the ladder lacks "resetAfter"',
  ],
  'a level of zero': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[0s, 5m, 30m]') },
    'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "0s"',
  ],
  'a negative level': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[-30s, 5m, 30m]') },
    'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "-30s"',
  ],
  'a level in milliseconds': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[500ms, 5m, 30m]') },
    'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "500ms"',
  ],
  'a level without a unit': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30, 5m, 30m]') },
    'ladder.yaml:6:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not 30',
  ],
  'a fraction of an hour': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 1.5h') },
    'ladder.yaml:7:13  resetAfter must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "1.5h"',
  ],
  'a wait of years': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 9999999d]') },
    'ladder.yaml:6:19  a level must be at most 365d, not 9999999d',
  ],
  'a currency in small letters': [
    { 'ruleset.yaml': swap('currency: EUR', 'currency: eur') },
    'ruleset.yaml:9:13  currency must be 3 or 4 capital letters or digits, like EUR, not "eur"',
  ],
  'a currency of two letters': [
    { 'ruleset.yaml': swap('currency: EUR', 'currency: EU') },
    'ruleset.yaml:9:13  currency must be 3 or 4 capital letters or digits, like EUR, not "EU"',
  ],
  'a ladder that no ladder.yaml has': [
    {
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
    'verdicts.yaml:36:17  unknown ladder "patint"; did you mean "patient"?',
  ],
  'a ladder that no rule names': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }') },
    'ladder.yaml:8:12  no rule names the ladder "patient"; name it in a WAIT rule, or remove it',
  ],
  'a ladder of a rule that says no WAIT': [
    {
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }'),
      'verdicts.yaml': swap(
        'verdict: BLOCK, reason: "The client',
        'verdict: BLOCK, ladder: patient, reason: "The client',
      ),
    },
    'verdicts.yaml:13:33  only WAIT has a ladder; BLOCK imposes no wait',
  ],
  'a named ladder that does not lengthen, and one that is longer than resetAfter': [
    {
      'ladder.yaml': swap(
        'resetAfter: 24h',
        'resetAfter: 24h\nladders:\n  patient: [10m, 10m]\n  Slow: [1m]',
      ),
    },
    'ladder.yaml:9:18  level 2 (10m) must be longer than level 1 (10m)',
    'ladder.yaml:10:3  the name of a ladder has lower-case words joined by "-", like patient, unlike "Slow"',
  ],
  'a named ladder that is longer than the absence after which a payer starts afresh': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 2d] }') },
    'ladder.yaml:7:13  resetAfter must be longer than the longest wait, 2d of the ladder "patient"; otherwise leaving would be shorter than waiting',
    'ladder.yaml:8:12  no rule names the ladder "patient"; name it in a WAIT rule, or remove it',
    'ruleset.yaml:20:51  resetAfter must be longer than the longest wait, 2d of the ladder "patient"; otherwise leaving would be shorter than waiting',
  ],
  "a platform's ladder of a name that ladder.yaml does not have": [
    {
      'ruleset.yaml': swap('resetAfter: 1h }', 'resetAfter: 1h, ladders: { patient: [1m] } }'),
    },
    'ruleset.yaml:20:66  ladder.yaml has no ladder "patient"',
  ],
  'a time zone that is misspelt': [
    { 'ruleset.yaml': swap('currency: EUR', 'currency: EUR\n  timeZone: Europe/Berln') },
    'ruleset.yaml:10:13  timeZone must be an IANA name, like Europe/Berlin or UTC, not "Europe/Berln"; did you mean "Europe/Berlin"?',
  ],
  'a time zone that is an offset, which knows no summer time': [
    {
      'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimits: true\n    timeZone: "+02:00"'),
    },
    'ruleset.yaml:20:15  timeZone must be an IANA name, like Europe/Berlin or UTC, not "+02:00"',
  ],
  'an hour that no clock shows': [
    {
      'verdicts.yaml': swap(
        '{ fact: isBot, operator: equal, value: true }',
        '{ fact: hourOfDay, operator: equal, value: 24 }',
      ),
    },
    'verdicts.yaml:21:54  value for "hourOfDay" must be from 0 to 23, not 24',
  ],
  'a sum of amounts without its window': [
    {
      'verdicts.yaml': swap(
        '{ fact: isBot, operator: equal, value: true }',
        '{ fact: paidAmount, operator: greaterThan, value: 24 }',
      ),
    },
    'verdicts.yaml:21:19  "paidAmount" is counted over a window; add params: { window: 10m }',
  ],
  'a currency of the platform that is a number': [
    { 'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimits: true\n    currency: 978') },
    'ruleset.yaml:20:15  currency must be a text, not 978',
  ],
  'smoothing that would lower the score with the first payment': [
    { 'ruleset.yaml': swap('{ prior: 0.5, weight: 0.4 }', '{ prior: 0.2, weight: 2 }') },
    'ruleset.yaml:11:14  a first paid order would lower the score of 0.5000 that every new client has; raise prior or lower weight until weight * (0.5 - prior) is at most 0.5',
  ],
  'smoothing that would raise the score with the first unpaid order': [
    { 'ruleset.yaml': swap('{ prior: 0.5, weight: 0.4 }', '{ prior: 0.8, weight: 2 }') },
    'ruleset.yaml:11:14  a first unpaid order would raise the score of 0.5000 that every new client has; lower prior or weight until weight * (prior - 0.5) is at most 0.5',
  ],
  'a prior above 1': [
    { 'ruleset.yaml': swap('prior: 0.5', 'prior: 1.5') },
    'ruleset.yaml:11:23  prior must be from 0 to 1, not 1.5',
  ],
  'a smoothing weight of zero': [
    { 'ruleset.yaml': swap('weight: 0.4', 'weight: 0') },
    'ruleset.yaml:11:36  weight must be from 0.01 to 1000, not 0',
  ],
  'scoringLimits that is a text': [
    { 'ruleset.yaml': swap('scoringLimits: false', 'scoringLimits: "false"') },
    'ruleset.yaml:13:18  scoringLimits must be true or false, not "false"',
  ],
  'a missing setting': [
    { 'ruleset.yaml': swap('  scoringLimits: false\n', '') },
    'ruleset.yaml:9:3  settings lacks "scoringLimits"',
  ],
  'no settings: the platforms are read all the same': [
    {
      'ruleset.yaml': whole(
        'ruleVersion: p2.v10\ndescription: Cards.\nplatforms: { demo: { currency: euro$ } }\n',
      ),
    },
    'ruleset.yaml:1:1  the rule set lacks "settings"',
    'ruleset.yaml:3:32  currency must be 3 or 4 capital letters or digits, like EUR, not "euro$"',
  ],
  'a platform name that no platform can have': [
    { 'ruleset.yaml': swap('  sandbox:', '  Sandbox:') },
    'ruleset.yaml:18:3  a platform name has lower-case letters, digits and "-", starting with a letter, at most 63 characters, unlike "Sandbox"',
  ],
  'an unknown setting of a platform': [
    { 'ruleset.yaml': swap('    scoringLimits: true', '    scoringLimit: true') },
    'ruleset.yaml:19:5  unknown member "scoringLimit" of platform "sandbox"; did you mean "scoringLimits"?',
  ],
  'a platform without any setting': [
    {
      'ruleset.yaml': edits(
        swap('    scoringLimits: true\n', ''),
        swap('    ladder: { levels: [10s, 1m, 10m], resetAfter: 1h }\n', ''),
      ),
    },
    'ruleset.yaml:18:11  platform "sandbox" must be a mapping, not nothing',
  ],
  "a platform's own ladder that does not lengthen": [
    { 'ruleset.yaml': swap('levels: [10s, 1m, 10m]', 'levels: [10s, 1m, 1m]') },
    'ruleset.yaml:20:33  level 3 (1m) must be longer than level 2 (1m)',
  ],
  'a malformed ruleVersion': [
    { 'ruleset.yaml': swap('ruleVersion: p2.v10', 'ruleVersion: v10') },
    'ruleset.yaml:2:14  ruleVersion must be p<number>.v<number>, like p2.v10, or p2.v11-night for a draft, not "v10"',
  ],
  'a ruleVersion that is a number': [
    { 'ruleset.yaml': swap('ruleVersion: p2.v10', 'ruleVersion: 2.10') },
    'ruleset.yaml:2:14  ruleVersion must be a text, not 2.10',
  ],
  'no description': [
    {
      'ruleset.yaml': whole(
        'ruleVersion: p2.v10\nsettings: { currency: EUR, smoothing: { prior: 0.5, weight: 2 }, scoringLimits: false }\n',
      ),
    },
    'ruleset.yaml:1:1  the rule set lacks "description"',
  ],
  'limits without a group': [
    { 'limits.yaml': swap('  PAYING: { EUR: "500.00", USD: "500.00" }\n', '') },
    'limits.yaml:6:3  "limits" lacks "PAYING"',
  ],
  'limits of an unknown group': [
    { 'limits.yaml': swap('  BLOCKED:', '  BLOKED:') },
    'limits.yaml:6:3  "limits" lacks "BLOCKED"',
    'limits.yaml:10:3  unknown member "BLOKED" of "limits"; did you mean "BLOCKED"?',
  ],
  'a limit that is a number': [
    { 'limits.yaml': swap('NEW: { EUR: "250.00"', 'NEW: { EUR: 250.00') },
    'limits.yaml:6:15  the limit in EUR must be a text, not 250.00',
  ],
  'a negative limit': [
    { 'limits.yaml': swap('NEW: { EUR: "250.00"', 'NEW: { EUR: "-250.00"') },
    'limits.yaml:6:15  the limit in EUR must be a decimal text, like "250.00", not "-250.00"',
  ],
  'a limit in a currency of small letters': [
    { 'limits.yaml': swap('NEW: { EUR:', 'NEW: { eur:') },
    'limits.yaml:6:10  currency must be 3 or 4 capital letters or digits, like EUR, not "eur"',
  ],
  'scoring limits without their file': [{ 'limits.yaml': gone }, 'limits.yaml:1:1  the file is missing'],
};

/** Problems of the files as such. */
export const BAD_FILES: BadRules = {
  'a missing file': [{ 'verdicts.yaml': gone }, 'verdicts.yaml:1:1  the file is missing'],
  'an unknown file, with the nearest name': [
    { 'verdict.yaml': whole('a: b\n') },
    'verdict.yaml:1:1  unknown file; did you mean "verdicts.yaml"?; tests go into cases/*.yaml, lists into lists/*.yaml',
  ],
  'a .yml file': [
    { 'cases/more.yml': whole('cases: []\n') },
    'cases/more.yml:1:1  unknown file; allowed: ruleset.yaml, groups.yaml, bot-signals.yaml, verdicts.yaml, ladder.yaml, limits.yaml; tests go into cases/*.yaml, lists into lists/*.yaml',
  ],
  'an empty file': [{ 'ladder.yaml': whole('') }, 'ladder.yaml:1:1  the file is empty'],
  'a file of comments only': [{ 'ladder.yaml': whole('# later\n') }, 'ladder.yaml:1:1  the file is empty'],
  'a file that is a list': [
    { 'ladder.yaml': whole('- levels\n') },
    'ladder.yaml:1:1  the ladder must be a mapping, not a list',
  ],
  'a file that is a text': [
    { 'ladder.yaml': whole('levels\n') },
    'ladder.yaml:1:1  the ladder must be a mapping, not "levels"',
  ],
  'a file longer than any person writes': [
    { 'ladder.yaml': (sound) => `${sound}#${' '.repeat(512 * 1024)}\n` },
    'ladder.yaml:1:1  the file is longer than 524288 characters',
  ],
  'an alias': [
    {
      'groups.yaml': edits(
        swap('value: BLOCKED }', 'value: &group BLOCKED }'),
        swap('params: { group: PAYING }', 'params: { group: *group }'),
      ),
    },
    'groups.yaml:10:65  "&group" is an anchor; share conditions by name under "conditions:" instead',
    'groups.yaml:56:44  "*group" is an alias; share conditions by name under "conditions:" instead',
  ],
  'an anchor that nobody refers to': [
    { 'groups.yaml': swap('value: BLOCKED }', 'value: &group BLOCKED }') },
    'groups.yaml:10:65  "&group" is an anchor; share conditions by name under "conditions:" instead',
  ],
  'an alias to nothing': [
    { 'groups.yaml': swap('params: { group: PAYING }', 'params: { group: *group }') },
    'groups.yaml:56:44  "*group" is an alias; share conditions by name under "conditions:" instead',
  ],
  'an alias bomb': [
    {
      'ladder.yaml': whole('a: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nlevels: *c\nresetAfter: 1h\n'),
    },
    'ladder.yaml:1:7  "&a" is an anchor; share conditions by name under "conditions:" instead',
    'ladder.yaml:2:7  "&b" is an anchor; share conditions by name under "conditions:" instead',
    'ladder.yaml:2:8  "*a" is an alias; share conditions by name under "conditions:" instead',
    'ladder.yaml:2:12  "*a" is an alias; share conditions by name under "conditions:" instead',
    'ladder.yaml:3:7  "&c" is an anchor; share conditions by name under "conditions:" instead',
    'ladder.yaml:3:8  "*b" is an alias; share conditions by name under "conditions:" instead',
    'ladder.yaml:3:12  "*b" is an alias; share conditions by name under "conditions:" instead',
    'ladder.yaml:4:9  "*c" is an alias; share conditions by name under "conditions:" instead',
  ],
  'a duplicate key': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nresetAfter: 48h') },
    'ladder.yaml:8:1  not valid YAML: Map keys must be unique',
  ],
  '__proto__ as a member': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\n__proto__: { levels: [1s] }') },
    'ladder.yaml:8:1  "__proto__" is not allowed as a member name',
  ],
  '__proto__ as the name of a condition': [
    named(`  __proto__: { all: [${CLIENT_BLOCKED}] }`, 'condition: __proto__'),
    'verdicts.yaml:5:3  "__proto__" is not allowed as a member name',
    'verdicts.yaml:11:18  unknown condition "__proto__"; this file has no "conditions:"',
  ],
  'a merge key': [
    { 'ruleset.yaml': swap('  sandbox:', '  <<: { demo: { currency: USD } }\n  sandbox:') },
    'ruleset.yaml:18:3  "<<" is not allowed as a member name',
  ],
  'a member name that is a number': [
    { 'ruleset.yaml': swap('  sandbox:', '  7: { currency: USD }\n  sandbox:') },
    'ruleset.yaml:18:3  a member name of platforms must be a text',
  ],
  'a member name that is a list': [
    { 'ruleset.yaml': swap('  sandbox:', '  ? [a, b]\n  : { currency: USD }\n  sandbox:') },
    'ruleset.yaml:18:5  a member name of platforms must be a text',
  ],
  'a member name without a value': [
    { 'ruleset.yaml': swap('  sandbox:', '  ? demo\n  sandbox:') },
    'ruleset.yaml:18:5  "demo" has no value',
  ],
  'a tag': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: !!str 24h') },
    'ladder.yaml:7:19  "tag:yaml.org,2002:str" is a tag; write the plain value',
  ],
  'a tag that nobody knows': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: !hours 24') },
    'ladder.yaml:7:13  not valid YAML: Unresolved tag: !hours',
    'ladder.yaml:7:20  "!hours" is a tag; write the plain value',
  ],
  'a directive that brings old YAML back': [
    { 'ladder.yaml': (sound) => `%YAML 1.1\n---\n${sound}` },
    'ladder.yaml:1:1  a %YAML directive changes what values mean; remove it',
  ],
  'a tab as indentation': [
    { 'ladder.yaml': whole('levels:\n\t- 30s\nresetAfter: 24h\n') },
    'ladder.yaml:2:1  not valid YAML: Tabs are not allowed as indentation',
  ],
  'a quote that is never closed': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: "24h') },
    'ladder.yaml:8:1  not valid YAML: Missing closing "quote',
  ],
  'a bracket that is never closed': [
    { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 30m') },
    'ladder.yaml:7:1  not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  'a second document': [
    { 'ladder.yaml': (sound) => `---\n${sound}---\n${sound}` },
    'ladder.yaml:9:1  not valid YAML: a rule file is one document; a second one begins here',
  ],
  'a byte order mark': [
    { 'ladder.yaml': (sound) => `\uFEFF${sound}` },
    'ladder.yaml:1:1  a byte order mark is not allowed; save the file as UTF-8 without one',
  ],
  'a NUL character': [
    { 'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\0') },
    'ladder.yaml:7:16  the control character U+0000 is not allowed',
  ],
  'a backspace in a comment, which hides what stands before it': [
    { 'ladder.yaml': swap('# The cooldown', '# The\b cooldown') },
    'ladder.yaml:3:6  the control character U+0008 is not allowed',
  ],
  'lists nested three hundred deep': [
    { 'ladder.yaml': whole(`levels: ${'['.repeat(300)}${']'.repeat(300)}\nresetAfter: 24h\n`) },
    'ladder.yaml:1:10  a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not a list',
  ],
  'several files with problems: all are told, in the order of files, lines and columns': [
    {
      'verdicts.yaml': edits(
        swap('fact: isBot', 'fact: isBott'),
        swap('fact: clientGroup', 'fact: clientGruop'),
      ),
      'groups.yaml': swap('otherwise: NEW', 'otherwise: OLD'),
      'ladder.yaml': whole('levels: [5m, 1m]\nresetAfter: 0s\n'),
      'ruleset.yaml': edits(swap('currency: EUR', 'currency: Euro'), swap('  sandbox:', '  Sandbox:')),
      'limits.yaml': swap('  NEW:', '  NEWS:'),
    },
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
};
