import { type Edit, edits, swap, whole } from './sound-rules.ts';

type Edits = Readonly<Record<string, Edit>>;

/** Rule sets with one thing wrong, by what that is: what is edited in the sound one. `bad-rules.txt` has what must be told about it. */
type BadRules = Readonly<Record<string, Edits>>;

const gone: Edit = () => null;

/** One replacement in one file. */
const inFile =
  (path: string) =>
  (from: string, to: string): Edits => ({ [path]: swap(from, to) });
const groups = inFile('groups.yaml');
const signals = inFile('bot-signals.yaml');
const verdicts = inFile('verdicts.yaml');
const ladder = inFile('ladder.yaml');
const ruleset = inFile('ruleset.yaml');
const limits = inFile('limits.yaml');

const CLIENT_BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
const SHOW_BOUND = '{ fact: bindingFitsMethod, operator: equal, value: true }';
const CROWDED = '{ fact: clientsOnIp, params: { window: 1h }, operator: greaterThanInclusive, value: 4 }';
const CHAIN = '{ fact: unpaidChain, operator: greaterThanInclusive, value: 4 }';
const IF_CLIENT_BLOCKED = `      all:\n        - ${CLIENT_BLOCKED}`;
const IF_SHOW_BOUND = `      all:\n        - ${SHOW_BOUND}`;

export function condition(text: string): Edits {
  return { 'verdicts.yaml': swap(CLIENT_BLOCKED, text) };
}

function conditions(text: string): Edits {
  return { 'verdicts.yaml': swap(IF_CLIENT_BLOCKED, text) };
}

function named(text: string, use = 'condition: own'): Edits {
  return {
    'verdicts.yaml': edits(
      swap('rules:\n', `conditions:\n${text}\nrules:\n`),
      swap(IF_CLIENT_BLOCKED, `      ${use}`),
    ),
  };
}

function payerText(text: string): Edits {
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
  'an unknown fact, with the nearest name': condition('{ fact: waitServd, operator: equal, value: true }'),
  'a fact that is not a text': condition('{ fact: 7, operator: equal, value: true }'),
  'an unknown operator, with the nearest name': condition(
    '{ fact: clientGroup, operator: equals, value: BLOCKED }',
  ),
  'an unknown fact beside an unknown operator: both are told': condition(
    '{ fact: waitServd, operator: equals, value: true }',
  ),
  'an unknown operator beside a value that the fact can never have, and one without a fact': condition(
    '{ any: [{ fact: clientGroup, operator: equals, value: BLOKED }, { operator: equals, value: 1 }] }',
  ),
  'an operator of the engine that rules do not have': condition(
    '{ fact: clientGroup, operator: contains, value: BLOCKED }',
  ),
  'an operator that does not fit a yes-or-no fact': condition(
    '{ fact: isBot, operator: greaterThan, value: true }',
  ),
  'an operator that does not fit an enumerated fact': condition(
    '{ fact: clientGroup, operator: lessThan, value: BLOCKED }',
  ),
  'an operator that does not fit a text fact': condition(
    '{ fact: currency, operator: greaterThan, value: EUR }',
  ),
  'an unknown member of a comparison, with the nearest name': condition(
    '{ fact: isBot, operater: equal, value: true }',
  ),
  'a path, which the engine knows and rules do not': condition(
    '{ fact: isBot, path: $.x, operator: equal, value: true }',
  ),
  'a comparison without operator and value': condition('{ fact: isBot }'),
  'a comparison without a fact': condition('{ operator: equal, value: true }'),
  'a condition that is a text': condition('isBot'),
  'a text for a number': groups(CHAIN, '{ fact: unpaidChain, operator: greaterThanInclusive, value: "4" }'),
  'a number for a yes-or-no fact': condition('{ fact: isBot, operator: equal, value: 1 }'),
  'yes for true': condition('{ fact: isBot, operator: equal, value: yes }'),
  'a value that an enumerated fact never has': condition(
    '{ fact: clientGroup, operator: equal, value: BLOKED }',
  ),
  'a number for an enumerated fact': condition('{ fact: clientGroup, operator: equal, value: 3 }'),
  'true for a text fact': condition('{ fact: method, operator: equal, value: true }'),
  'an empty text for a text fact': condition('{ fact: method, operator: equal, value: " " }'),
  'a text with a control character written as an escape': condition(
    '{ fact: method, operator: equal, value: "a\\0b" }',
  ),
  'a text with half a character written as an escape': condition(
    '{ fact: method, operator: equal, value: "\\uD800" }',
  ),
  'no value at all': condition('{ fact: method, operator: equal, value: }'),
  'a value above what the fact can be': groups(
    CHAIN,
    '{ fact: unpaidChain, operator: greaterThanInclusive, value: 21 }',
  ),
  'a value below what the fact can be': groups(
    CHAIN,
    '{ fact: unpaidChain, operator: greaterThanInclusive, value: -1 }',
  ),
  'more requests than a state remembers': signals('value: 60 }', 'value: 65 }'),
  'a score above 1': groups('value: 0.8 ', 'value: 1.01 '),
  'a fraction for a count': groups(
    CHAIN,
    '{ fact: unpaidChain, operator: greaterThanInclusive, value: 3.5 }',
  ),
  'a number with leading zeros': signals('value: 30', 'value: 0777'),
  'a hexadecimal number': signals('value: 30', 'value: 0x1F'),
  'a number with an exponent': condition('{ fact: amount, operator: greaterThan, value: 1e3 }'),
  'a number that overflows to infinity': condition('{ fact: amount, operator: greaterThan, value: 1e400 }'),
  infinity: condition('{ fact: amount, operator: greaterThan, value: .inf }'),
  'not a number': condition('{ fact: amount, operator: greaterThan, value: .nan }'),
  'a whole number that a double cannot hold': condition(
    '{ fact: paidCount, operator: greaterThan, value: 9007199254740993 }',
  ),
  'a whole number with a fraction of zero that a double cannot hold': condition(
    '{ fact: amount, operator: greaterThan, value: 9007199254740993.0 }',
  ),
  '"in" with a text, which would search in it': condition(
    '{ fact: clientGroup, operator: in, value: BLOCKED }',
  ),
  '"notIn" with a mapping': condition('{ fact: clientGroup, operator: notIn, value: { a: b } }'),
  '"in" with an empty list': condition('{ fact: clientGroup, operator: in, value: [] }'),
  '"in" with one wrong item among right ones': condition(
    '{ fact: clientGroup, operator: in, value: [NEW, BLOKED, TRUSTED] }',
  ),
  '"equal" with a list': condition('{ fact: clientGroup, operator: equal, value: [NEW] }'),
  'an empty "all", which would always match': conditions('      all: []'),
  'an empty "any", which would always match': conditions('      any: []'),
  'an "all" that is no list': conditions(`      all: ${CLIENT_BLOCKED}`),
  'an "all" without anything': conditions('      all:'),
  'both "all" and "any", of which the engine ignores one': conditions(
    `      all: [${CLIENT_BLOCKED}]\n      any: [${CLIENT_BLOCKED}]`,
  ),
  'a "not" beside a fact': condition(`{ not: ${CLIENT_BLOCKED}, fact: isBot }`),
  'a "not" of a list': conditions(`      not: [${CLIENT_BLOCKED}]`),
  'a bare comparison on top': conditions(
    `      fact: clientGroup\n      operator: equal\n      value: BLOCKED`,
  ),
  'conditions that are a list': conditions(`      - ${CLIENT_BLOCKED}`),
  'conditions that are an empty mapping': verdicts(`conditions:\n${IF_CLIENT_BLOCKED}`, 'conditions: {}'),
  'a reference in a file without named conditions': conditions('      condition: known-bad'),
  'a reference to an unknown condition, with the nearest name': named(
    `  own: { all: [${CLIENT_BLOCKED}] }`,
    'condition: owm',
  ),
  'a reference that is not a text': named(`  own: { all: [${CLIENT_BLOCKED}] }`, 'condition: [own]'),
  'named conditions that refer to each other in a circle': named(
    '  own: { not: { condition: other } }\n  other: { any: [{ condition: own }] }',
  ),
  'a named condition that refers to itself': named('  own: { condition: own }'),
  'a named condition that is a bare comparison': named(`  own: ${CLIENT_BLOCKED}`),
  'named conditions that are a list': named('  - own'),
  'a named condition that nobody uses and that is wrong': named(
    `  own: { all: [${CLIENT_BLOCKED}] }\n  unused: { all: [] }`,
  ),
  'conditions nested too deep': conditions(`      not: ${nested(15)}`),
  'named conditions that together nest too deep, told in the order they are used': named(
    chain(8),
    'condition: c0',
  ),
  'named conditions that multiply to too many comparisons': named(
    `  few: { all: [${Array.from({ length: 40 }, () => CLIENT_BLOCKED).join(', ')}] }\n  many: { all: [${Array.from({ length: 30 }, () => '{ condition: few }').join(', ')}] }`,
    'condition: many',
  ),
  'named conditions that double until they are too deep': named(doubling(8), 'condition: c8'),
  'a windowed fact without a window': signals(
    CROWDED,
    '{ fact: clientsOnIp, operator: greaterThanInclusive, value: 4 }',
  ),
  'params without a window': signals(
    CROWDED,
    '{ fact: clientsOnIp, params: { windw: 1h }, operator: greaterThanInclusive, value: 4 }',
  ),
  'a window longer than events are remembered': signals(
    'fact: earlyRequests, params: { window: 10m }',
    'fact: earlyRequests, params: { window: 25h }',
  ),
  'a window longer than sightings are remembered': signals(
    'clientsOnIp, params: { window: 1h }',
    'clientsOnIp, params: { window: 8d }',
  ),
  'a window without a unit': signals(
    'clientsOnIp, params: { window: 1h }',
    'clientsOnIp, params: { window: 60 }',
  ),
  'params on a fact without a window': condition(
    '{ fact: clientGroup, params: { window: 1h }, operator: equal, value: BLOCKED }',
  ),
  'the client group asked for while it is being concluded': groups(
    'fact: hasBinding, operator: equal, value: true',
    'fact: clientGroup, operator: equal, value: NEW',
  ),
  'the bot flag asked for while it is being concluded': signals(
    'fact: jsOk, operator: equal, value: false',
    'fact: isBot, operator: equal, value: false',
  ),
  'the bot weight asked for in groups.yaml': groups(
    'fact: hasBinding, operator: equal, value: true',
    'fact: botWeight, operator: greaterThan, value: 1',
  ),
};

/** Problems of rules and of what they answer. */
export const BAD_RULES: BadRules = {
  'two rules of one name': verdicts('name: bot-blocked', 'name: client-blocked'),
  'two signals of one name': signals('name: amount-churn', 'name: honeypot'),
  'two rules of equal priority that one payer can match': groups('priority: 50', 'priority: 60'),
  'priority 0': groups('priority: 50', 'priority: 0'),
  'a negative priority': groups('priority: 50', 'priority: -5'),
  'a fraction for a priority': groups('priority: 50', 'priority: 50.5'),
  'a text for a priority': groups('priority: 50', 'priority: high'),
  'a priority on a signal, where the order does not count': signals(
    '  - name: honeypot\n',
    '  - name: honeypot\n    priority: 5\n',
  ),
  'a rule without a name': groups('  - name: has-paid\n    description', '  - description'),
  'a rule without a priority': groups('    priority: 50\n', ''),
  'a rule without conditions and event': groups(
    'otherwise: NEW',
    '  - { name: empty, priority: 1 }\notherwise: NEW',
  ),
  'a rule that is a text': groups('otherwise: NEW', '  - has-paid\notherwise: NEW'),
  'an unknown member of a rule, with the nearest name': groups('priority: 50', 'priorty: 50'),
  'a callback, which the engine knows and rules do not': groups(
    '    priority: 50\n',
    '    priority: 50\n    onSuccess: run\n',
  ),
  'a name that is not lower-case words': groups('name: has-paid', 'name: Has Paid'),
  'a name of more than 64 characters': groups('name: has-paid', `name: ${'a'.repeat(65)}`),
  'a rule named as the answer when no rule matches': groups('name: has-paid', 'name: otherwise'),
  'an empty description': groups('description: At least one paid order.', 'description: ""'),
  'an event without params': groups(
    'event: { type: group, params: { group: PAYING } }',
    'event: { type: group }',
  ),
  'an event without a type': groups(
    '{ type: group, params: { group: PAYING } }',
    '{ params: { group: PAYING } }',
  ),
  'the event type of another file': groups(
    '{ type: group, params: { group: PAYING } }',
    '{ type: verdict, params: { group: PAYING } }',
  ),
  'an unknown group, with the nearest name': groups('group: PAYING', 'group: PAYNG'),
  'an event without its group': groups('{ group: PAYING }', '{ groups: PAYING }'),
  'an unknown verdict, with the nearest name': verdicts('verdict: GET_SAME_STICKY', 'verdict: GET_SAME'),
  'a verdict without a reason': verdicts(
    '{ verdict: BLOCK, reason: "The client is blocked." }',
    '{ verdict: BLOCK }',
  ),
  'wrong conditions beside a wrong event: both are told': {
    'verdicts.yaml': edits(
      swap('fact: clientGroup', 'fact: clientGruop'),
      swap('reason: "The client is blocked."', 'reason: ""'),
    ),
  },
  'a signal without weight': signals(
    'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4 } }',
    'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: {} }',
  ),
  'a weight of zero': signals(
    'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 4',
    'fact: honeypotTriggered, operator: equal, value: true }\n    event: { type: signal, params: { weight: 0',
  ),
  'a negative threshold': signals('threshold: 4', 'threshold: -4'),
  'no threshold': signals('threshold: 4\n', ''),
  'a threshold that all signals together do not reach': signals('threshold: 4', 'threshold: 34'),
  'a groups file without otherwise': groups('otherwise: NEW', ''),
  'an unknown group as otherwise': groups('otherwise: NEW', 'otherwise: new'),
  'a verdicts file without otherwise, so that a request could stay unanswered': verdicts(
    'otherwise: { verdict: GET_NEW, reason: "No reason to hold the payer back." }',
    '',
  ),
  'an otherwise without a reason': verdicts(
    '{ verdict: GET_NEW, reason: "No reason to hold the payer back." }',
    '{ verdict: GET_NEW }',
  ),
  'GET_SAME_STICKY without demanding a binding': verdicts(
    SHOW_BOUND,
    '{ fact: clientGroup, operator: equal, value: STICKY }',
  ),
  'GET_SAME_STICKY for clients without a binding': verdicts(
    SHOW_BOUND,
    '{ fact: bindingFitsMethod, operator: equal, value: false }',
  ),
  'GET_SAME_STICKY with the binding as one way among others': verdicts(
    IF_SHOW_BOUND,
    `      any:\n        - ${SHOW_BOUND}\n        - { fact: paidCount, operator: greaterThan, value: 3 }`,
  ),
  'GET_SAME_STICKY with the binding behind "not"': verdicts(IF_SHOW_BOUND, `      not: ${SHOW_BOUND}`),
  'GET_SAME_STICKY as otherwise': verdicts(
    'otherwise: { verdict: GET_NEW',
    'otherwise: { verdict: GET_SAME_STICKY',
  ),
  'an empty text for the payer': payerText(''),
  'a long text for the payer': payerText('x'.repeat(301)),
  'a text for the payer that quotes a fact': payerText('You paid {paidCount} times.'),
  'a text for the payer with half a quotation': payerText('In {waitSeconds'),
  'a text for the payer that quotes a wait where there is none': payerText('Ask in {waitSeconds}.'),
  'a text for the payer that names a fact': payerText('Your paymentScore is low.'),
  'a text for the payer that names a verdict': payerText('It was a BLOCK.'),
  'a text for the payer that names a rule of the file': payerText('By asked-too-early.'),
  'a text for the payer that names a rule of another file': payerText('By stable-history.'),
  'a reason that quotes an unknown fact, with the nearest name': verdicts(
    'level {ladderLevel} was',
    'level {laderLevel} was',
  ),
  'a reason that quotes a windowed fact without its window': verdicts(
    'level {ladderLevel} was',
    'level {verdicts} was',
  ),
  'a reason that quotes too long a window': verdicts('level {ladderLevel} was', 'level {verdicts(30d)} was'),
  'a reason that gives a window to a fact without one': verdicts(
    'level {ladderLevel} was',
    'level {ladderLevel(1h)} was',
  ),
  'a reason with a brace that is never closed': verdicts('level {ladderLevel} was', 'level {ladderLevel was'),
  'rules that are a mapping': { 'groups.yaml': whole('rules: { a: b }\notherwise: NEW\n') },
  'no rules': { 'groups.yaml': whole('rules: []\notherwise: NEW\n') },
  'an unknown member of a rule file': groups('otherwise: NEW', 'otherwise: NEW\notherwhise: PAYING'),
};

/** Problems of the settings, the ladder and the limits. */
export const BAD_SETTINGS: BadRules = {
  'a ladder that does not lengthen': ladder('[30s, 5m, 30m]', '[30s, 5m, 300s]'),
  'a ladder that shortens': ladder('[30s, 5m, 30m]', '[30s, 20s, 30m]'),
  'a ladder without levels': ladder('[30s, 5m, 30m]', '[]'),
  'a ladder of too many levels': ladder(
    '[30s, 5m, 30m]',
    `[${Array.from({ length: 21 }, (_, n) => `${n + 1}m`).join(', ')}]`,
  ),
  'a reset before the longest wait is over': ladder('resetAfter: 24h', 'resetAfter: 30m'),
  'a ladder without a reset': ladder('resetAfter: 24h', ''),
  'a level without a unit': ladder('[30s, 5m, 30m]', '[30, 5m, 30m]'),
  'a wait of years': ladder('[30s, 5m, 30m]', '[30s, 5m, 9999999d]'),
  'a currency in small letters': ruleset('currency: EUR', 'currency: eur'),
  'a currency of two letters': ruleset('currency: EUR', 'currency: EU'),
  'a ladder that no ladder.yaml has': {
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
  'a ladder that no rule names': ladder(
    'resetAfter: 24h',
    'resetAfter: 24h\nladders: { patient: [1m, 10m] }',
  ),
  'a ladder of a rule that says no WAIT': {
    'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m, 10m] }'),
    'verdicts.yaml': swap(
      'verdict: BLOCK, reason: "The client',
      'verdict: BLOCK, ladder: patient, reason: "The client',
    ),
  },
  'a named ladder that does not lengthen, and one that is longer than resetAfter': ladder(
    'resetAfter: 24h',
    'resetAfter: 24h\nladders:\n  patient: [10m, 10m]\n  Slow: [1m]',
  ),
  'a named ladder that is longer than the absence after which a payer starts afresh': ladder(
    'resetAfter: 24h',
    'resetAfter: 24h\nladders: { patient: [1m, 2d] }',
  ),
  "a platform's ladder of a name that ladder.yaml does not have": ruleset(
    'resetAfter: 1h }',
    'resetAfter: 1h, ladders: { patient: [1m] } }',
  ),
  'a time zone that is misspelt': ruleset('currency: EUR', 'currency: EUR\n  timeZone: Europe/Berln'),
  'a time zone that is an offset, which knows no summer time': ruleset(
    '    scoringLimits: true',
    '    scoringLimits: true\n    timeZone: "+02:00"',
  ),
  'an hour that no clock shows': verdicts(
    '{ fact: isBot, operator: equal, value: true }',
    '{ fact: hourOfDay, operator: equal, value: 24 }',
  ),
  'a sum of amounts without its window': verdicts(
    '{ fact: isBot, operator: equal, value: true }',
    '{ fact: paidAmount, operator: greaterThan, value: 24 }',
  ),
  'a currency of the platform that is a number': ruleset(
    '    scoringLimits: true',
    '    scoringLimits: true\n    currency: 978',
  ),
  'smoothing that would lower the score with the first payment': ruleset(
    '{ prior: 0.5, weight: 0.4 }',
    '{ prior: 0.2, weight: 2 }',
  ),
  'smoothing that would raise the score with the first unpaid order': ruleset(
    '{ prior: 0.5, weight: 0.4 }',
    '{ prior: 0.8, weight: 2 }',
  ),
  'a prior above 1': ruleset('prior: 0.5', 'prior: 1.5'),
  'a smoothing weight of zero': ruleset('weight: 0.4', 'weight: 0'),
  'scoringLimits that is a text': ruleset('scoringLimits: false', 'scoringLimits: "false"'),
  'a missing setting': ruleset('  scoringLimits: false\n', ''),
  'no settings: the platforms are read all the same': {
    'ruleset.yaml': whole(
      'ruleVersion: p2.v10\ndescription: Cards.\nplatforms: { demo: { currency: euro$ } }\n',
    ),
  },
  'a platform name that no platform can have': ruleset('  sandbox:', '  Sandbox:'),
  'an unknown setting of a platform': ruleset('    scoringLimits: true', '    scoringLimit: true'),
  'a platform without any setting': {
    'ruleset.yaml': edits(
      swap('    scoringLimits: true\n', ''),
      swap('    ladder: { levels: [10s, 1m, 10m], resetAfter: 1h }\n', ''),
    ),
  },
  "a platform's own ladder that does not lengthen": ruleset(
    'levels: [10s, 1m, 10m]',
    'levels: [10s, 1m, 1m]',
  ),
  'a malformed ruleVersion': ruleset('ruleVersion: p2.v10', 'ruleVersion: v10'),
  'a ruleVersion that is a number': ruleset('ruleVersion: p2.v10', 'ruleVersion: 2.10'),
  'no description': {
    'ruleset.yaml': whole(
      'ruleVersion: p2.v10\nsettings: { currency: EUR, smoothing: { prior: 0.5, weight: 2 }, scoringLimits: false }\n',
    ),
  },
  'limits without a group': limits('  PAYING: { EUR: "500.00", USD: "500.00" }\n', ''),
  'limits of an unknown group': limits('  BLOCKED:', '  BLOKED:'),
  'a limit that is a number': limits('NEW: { EUR: "250.00"', 'NEW: { EUR: 250.00'),
  'a negative limit': limits('NEW: { EUR: "250.00"', 'NEW: { EUR: "-250.00"'),
  'a limit in a currency of small letters': limits('NEW: { EUR:', 'NEW: { eur:'),
  'scoring limits without their file': { 'limits.yaml': gone },
};

/** Problems of the files as such. */
export const BAD_FILES: BadRules = {
  'a missing file': { 'verdicts.yaml': gone },
  'an unknown file, with the nearest name': { 'verdict.yaml': whole('a: b\n') },
  'a .yml file': { 'cases/more.yml': whole('cases: []\n') },
  'an empty file': { 'ladder.yaml': whole('') },
  'a file of comments only': { 'ladder.yaml': whole('# later\n') },
  'a file that is a list': { 'ladder.yaml': whole('- levels\n') },
  'a file that is a text': { 'ladder.yaml': whole('levels\n') },
  'a file longer than any person writes': {
    'ladder.yaml': (sound) => `${sound}#${' '.repeat(512 * 1024)}\n`,
  },
  'an alias': {
    'groups.yaml': edits(
      swap('value: BLOCKED }', 'value: &group BLOCKED }'),
      swap('params: { group: PAYING }', 'params: { group: *group }'),
    ),
  },
  'an anchor that nobody refers to': groups('value: BLOCKED }', 'value: &group BLOCKED }'),
  'an alias to nothing': groups('params: { group: PAYING }', 'params: { group: *group }'),
  'an alias bomb': {
    'ladder.yaml': whole('a: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nlevels: *c\nresetAfter: 1h\n'),
  },
  'a duplicate key': ladder('resetAfter: 24h', 'resetAfter: 24h\nresetAfter: 48h'),
  '__proto__ as a member': ladder('resetAfter: 24h', 'resetAfter: 24h\n__proto__: { levels: [1s] }'),
  '__proto__ as the name of a condition': named(
    `  __proto__: { all: [${CLIENT_BLOCKED}] }`,
    'condition: __proto__',
  ),
  'a merge key': ruleset('  sandbox:', '  <<: { demo: { currency: USD } }\n  sandbox:'),
  'a member name that is a number': ruleset('  sandbox:', '  7: { currency: USD }\n  sandbox:'),
  'a member name that is a list': ruleset('  sandbox:', '  ? [a, b]\n  : { currency: USD }\n  sandbox:'),
  'a member name without a value': ruleset('  sandbox:', '  ? demo\n  sandbox:'),
  'a tag': ladder('resetAfter: 24h', 'resetAfter: !!str 24h'),
  'a tag that nobody knows': ladder('resetAfter: 24h', 'resetAfter: !hours 24'),
  'a directive that brings old YAML back': { 'ladder.yaml': (sound) => `%YAML 1.1\n---\n${sound}` },
  'a tab as indentation': { 'ladder.yaml': whole('levels:\n\t- 30s\nresetAfter: 24h\n') },
  'a quote that is never closed': ladder('resetAfter: 24h', 'resetAfter: "24h'),
  'a bracket that is never closed': ladder('[30s, 5m, 30m]', '[30s, 5m, 30m'),
  'a second document': { 'ladder.yaml': (sound) => `---\n${sound}---\n${sound}` },
  'a byte order mark': { 'ladder.yaml': (sound) => `\uFEFF${sound}` },
  'a NUL character': ladder('resetAfter: 24h', 'resetAfter: 24h\0'),
  'a backspace in a comment, which hides what stands before it': ladder('# The cooldown', '# The\b cooldown'),
  'lists nested three hundred deep': {
    'ladder.yaml': whole(`levels: ${'['.repeat(300)}${']'.repeat(300)}\nresetAfter: 24h\n`),
  },
  'several files with problems: all are told, in the order of files, lines and columns': {
    'verdicts.yaml': edits(
      swap('fact: isBot', 'fact: isBott'),
      swap('fact: clientGroup', 'fact: clientGruop'),
    ),
    'groups.yaml': swap('otherwise: NEW', 'otherwise: OLD'),
    'ladder.yaml': whole('levels: [5m, 1m]\nresetAfter: 0s\n'),
    'ruleset.yaml': edits(swap('currency: EUR', 'currency: Euro'), swap('  sandbox:', '  Sandbox:')),
    'limits.yaml': swap('  NEW:', '  NEWS:'),
  },
};
