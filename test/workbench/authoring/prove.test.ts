import { expect } from 'chai';
import fc from 'fast-check';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import type { ExampleFacts } from '#decision/rules/proof/example.ts';
import { Reasoner } from '#decision/rules/proof/reasoner.ts';
import type { Rule } from '#decision/rules/rule-set.ts';
import {
  analyzeFirstMatchRules,
  analyzeRules,
  type RuleAnalysis,
} from '#workbench/authoring/analyze-rules.ts';
import { asking, declaring } from '../../rule-fixtures/declared-attributes.ts';
import { allAssignments, anyCondition, HERE, SMALL_FACTS } from '../../rule-fixtures/small-facts.ts';
import {
  type Edit,
  edited,
  editedFiles,
  edits,
  problemsOf,
  swap,
  whole,
} from '../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../rule-fixtures/told.ts';

const FACTS = SMALL_FACTS.slice(0, 4);
const ASSIGNMENTS = allAssignments(FACTS);

interface Group {
  readonly group: string;
}

/** Rule lists as `parse` gives them: by priority, and as in the file among equals. */
const ruleList: fc.Arbitrary<readonly Rule<Group>[]> = fc
  .array(
    fc.record({
      condition: anyCondition(FACTS, 2),
      priority: fc.integer({ min: 1, max: 3 }),
      group: fc.constantFrom('A', 'B'),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((items) =>
    items
      .map(({ condition, priority, group }, index) => ({
        name: `rule-${index}`,
        description: '',
        at: { ...HERE, line: index + 1 },
        condition,
        written: condition,
        priority,
        params: { group },
      }))
      .toSorted((a, b) => b.priority - a.priority),
  );

function matches(rule: Rule<Group>, values: readonly NullableFactValue[]): boolean {
  return createMatcher(rule.condition)(values);
}

/** The values of an example by the places of the facts; a fact that it does not name has its first value. */
function valuesIn(example: ExampleFacts | null): readonly NullableFactValue[] {
  return FACTS.map(({ ref, values }) => {
    const value = example?.[ref.label];
    return value === undefined ? (values[0] ?? false) : value;
  });
}

/** The result of trying every assignment. */
function tryAll(rules: readonly Rule<Group>[]) {
  const possible = (holds: (values: readonly NullableFactValue[]) => boolean) => ASSIGNMENTS.some(holds);
  const neverMatches = rules.filter((rule) => !possible((values) => matches(rule, values)));
  const neverFirst = rules.filter(
    (rule, index) =>
      !neverMatches.includes(rule) &&
      !possible(
        (values) => matches(rule, values) && !rules.slice(0, index).some((other) => matches(other, values)),
      ),
  );
  const otherwise = possible((values) => !rules.some((rule) => matches(rule, values)));
  return { neverMatches, neverFirst, otherwise };
}

const names = (rules: readonly Rule<Group>[]) => rules.map(({ name }) => name);

function named({ findings }: RuleAnalysis, kind: string): readonly (string | null)[] {
  return findings.filter((finding) => finding.kind === kind).map(({ rule }) => rule);
}

describe('a proof about a list of rules', () => {
  it('is exactly what trying every assignment finds', () => {
    const property = fc.property(ruleList, (rules) => {
      const proofs = analyzeFirstMatchRules(rules, new Reasoner(), HERE);
      const tried = tryAll(rules);
      expect(named(proofs, 'never matches')).to.deep.equal(names(tried.neverMatches));
      expect(named(proofs, 'never first')).to.deep.equal(names(tried.neverFirst));
      expect(proofs.notes).to.have.lengthOf(tried.otherwise ? 0 : 1);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('names only rules that do cover as covering, and an example that shows it', () => {
    const property = fc.property(ruleList, (rules) => {
      for (const { kind, rule: name, message, example } of analyzeFirstMatchRules(rules, new Reasoner(), null)
        .findings) {
        if (kind !== 'never first') continue;
        const rule = rules.find((one) => one.name === name);
        const covering = rules.filter((one) => one !== rule && message.includes(`"${one.name}"`));
        const values = valuesIn(example);
        const covered = (seen: readonly NullableFactValue[]) => covering.some((one) => matches(one, seen));
        expect(rule !== undefined && matches(rule, values) && covered(values), message).to.equal(true);
        const all = ASSIGNMENTS.filter((seen) => rule !== undefined && matches(rule, seen));
        expect(all.every(covered), message).to.equal(true);
      }
    });
    fc.assert(property, { numRuns: 200 });
  });
});

const RULE = (name: string, priority: number, conditions: string) =>
  `  - { name: ${name}, priority: ${priority}, conditions: ${conditions}, event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } } }\n`;

/** Another verdict rule before `otherwise`, in line 71. */
function withRule(priority: number, conditions: string): Edit {
  return swap('\notherwise:', `\n${RULE('added', priority, conditions)}otherwise:`);
}

/** Findings and notes as a person reads them, each finding with its example. */
function told(changes: Readonly<Record<string, Edit>>): readonly string[] {
  const { findings, notes } = analyzeRules(edited(changes), editedFiles(changes));
  return [
    ...findings.map(
      (found) =>
        `${formatProblem(found)}${found.example === null ? '' : `; ${JSON.stringify(found.example)}`}`,
    ),
    ...notes.map((note) => `note: ${formatProblem(note)}`),
  ];
}

const LARGE = '{ fact: amount, operator: greaterThan, value: 250 }';
const DORMANT = '{ fact: secondsSinceLastVerdict, operator: greaterThan, value: 15552000 }';
const SIGNAL = (name: string, weight: number, hasBinding: boolean) =>
  `  - { name: ${name}, conditions: { all: [{ fact: hasBinding, operator: equal, value: ${hasBinding} }] }, event: { type: signal, params: { weight: ${weight} } } }\n`;

const CROWDED = (params: number | string, window: string, clients: number) =>
  `  - { name: over-${window}, conditions: { all: [{ fact: clientsOnIp, params: { window: ${window} }, operator: greaterThanInclusive, value: ${clients} }] }, event: { type: signal, params: { weight: ${params} } } }\n`;

/** Verdict rules before `otherwise`: their priority and conditions. */
const ADDED: Readonly<Record<string, readonly [priority: number, conditions: string]>> = {
  'a rule that contradicts itself': [
    40,
    '{ all: [{ fact: amount, operator: greaterThan, value: 5 }, { fact: isBot, operator: equal, value: false }, { fact: amount, operator: lessThanInclusive, value: 5 }] }',
  ],
  'a rule that asks a verdict for a new client': [
    40,
    '{ all: [{ fact: isNewClient, operator: equal, value: true }] }',
  ],
  'a rule that asks for no request although the one decided counts itself': [
    40,
    '{ all: [{ fact: verdicts, params: { window: 10m }, operator: equal, value: 0 }] }',
  ],
  'a rule that contradicts how facts are related': [
    40,
    '{ all: [{ fact: unpaidChain, operator: greaterThanInclusive, value: 3 }, { fact: finalCount, operator: lessThan, value: 3 }] }',
  ],
  'a rule that contradicts the groups': [
    40,
    '{ all: [{ fact: clientGroup, operator: equal, value: NEW }, { fact: paidCount, operator: greaterThan, value: 0 }] }',
  ],
  'a rule that others cover, with their names': [
    40,
    '{ any: [{ fact: waitRemainingSeconds, operator: greaterThan, value: 60 }, { all: [{ fact: attemptOpen, operator: equal, value: true }] }] }',
  ],
  'a rule that is partly covered': [
    40,
    '{ any: [{ fact: attemptOpen, operator: equal, value: true }, { fact: amount, operator: greaterThan, value: 900 }] }',
  ],
  'a part that never holds in a rule that matches all the same': [
    65,
    '{ any: [{ fact: isNewClient, operator: equal, value: true }, { fact: finalCount, operator: greaterThan, value: 9 }] }',
  ],
  'an amount that is compared without a currency': [65, `{ all: [${LARGE}] }`],
  'an amount that is compared with its currency': [
    65,
    `{ all: [${LARGE}, { fact: currency, operator: equal, value: EUR }] }`,
  ],
  'a long time since something that a new payer never did': [
    65,
    '{ all: [{ fact: secondsSinceLastVerdict, operator: greaterThan, value: 15552000 }] }',
  ],
  'the same written with "not"': [
    65,
    '{ not: { fact: secondsSinceLastVerdict, operator: lessThanInclusive, value: 15552000 } }',
  ],
  'several comparisons that miss the same payers': [
    65,
    '{ any: [{ fact: clientsOnIp, params: { window: 1h }, operator: lessThan, value: 3 }, { fact: clientsOnIp, params: { window: 24h }, operator: lessThan, value: 5 }] }',
  ],
  'several comparisons of which one thinks of those whom all miss': [
    65,
    '{ any: [{ fact: clientsOnIp, params: { window: 1h }, operator: lessThan, value: 3 }, { fact: clientsOnIp, params: { window: 24h }, operator: known, value: false }] }',
  ],
  'the same where somebody thought of the new payer': [
    65,
    '{ any: [{ fact: secondsSinceLastVerdict, operator: greaterThan, value: 15552000 }, { fact: secondsSinceLastVerdict, operator: known, value: false }] }',
  ],
  'the same where the rest of the rule rules the new payer out': [
    65,
    '{ all: [{ fact: secondsSinceLastPaid, operator: greaterThan, value: 15552000 }, { fact: paidCount, operator: greaterThan, value: 0 }] }',
  ],
  'a device that few share, of a payer who may show none': [
    65,
    '{ all: [{ fact: clientsOnIp, params: { window: 1h }, operator: lessThan, value: 3 }, { fact: jsOk, operator: equal, value: false }] }',
  ],
  'a question whether a value is known that contradicts the rest': [
    65,
    '{ all: [{ fact: jsOk, operator: known, value: false }, { fact: jsOk, operator: notEqual, value: true }] }',
  ],
  'numbers of more digits than rules compare': [
    65,
    '{ all: [{ fact: amount, operator: in, value: [0.12345678901234567, 123456789012.345, 1000000.50] }, { fact: currency, operator: equal, value: EUR }] }',
  ],
  'a multiple that is none of another': [
    40,
    '{ all: [{ fact: amount, operator: multipleOf, value: 1000 }, { fact: amount, operator: notMultipleOf, value: 50 }, { fact: currency, operator: equal, value: EUR }] }',
  ],
  'a multiple between two neighbours': [
    40,
    '{ all: [{ fact: amount, operator: multipleOf, value: 0.1 }, { fact: amount, operator: greaterThan, value: 0.3 }, { fact: amount, operator: lessThan, value: 0.4 }, { fact: currency, operator: equal, value: EUR }] }',
  ],
  'a multiple within reach, which is no mistake': [
    40,
    '{ all: [{ fact: amount, operator: multipleOf, value: 1000 }, { fact: amount, operator: greaterThan, value: 5500 }, { fact: amount, operator: lessThanInclusive, value: 6000 }, { fact: currency, operator: equal, value: EUR }] }',
  ],
  'every tenth payment of a count without an end, which is no mistake': [
    40,
    '{ all: [{ fact: paidCount, operator: multipleOf, value: 10 }, { fact: paidCount, operator: greaterThan, value: 20 }] }',
  ],
  'an hour that is a multiple of one that no day has': [
    40,
    '{ all: [{ fact: hourOfDay, operator: multipleOf, value: 23 }, { fact: hourOfDay, operator: greaterThan, value: 0 }, { fact: hourOfDay, operator: lessThan, value: 23 }] }',
  ],
  'an "otherwise" that is never reached, which is no mistake': [
    1,
    '{ any: [{ fact: amount, operator: greaterThanInclusive, value: 0 }] }',
  ],
};

const AMONG = '    - { fact: overrideGroup, operator: equal, value:';
const EXEMPT = `any:\n${AMONG} TRUSTED }`;

const CHANGED: Readonly<Record<string, Readonly<Record<string, Edit>>>> = {
  'the released rule set': {},
  'a signal that never matches': {
    'bot-signals.yaml': swap(
      '{ fact: scoredBefore, operator: equal, value: true }',
      '{ fact: scoredBefore, operator: equal, value: false }\n        - { fact: userAgentIsAutomated, operator: equal, value: true }',
    ),
  },
  'a signal that only matches whom all signals spare': {
    'bot-signals.yaml': swap(
      '{ fact: honeypotTriggered, operator: equal, value: true }',
      '{ fact: overrideGroup, operator: in, value: [TRUSTED] }',
    ),
  },
  'a signal that asks what exempts from all signals asked already': {
    'bot-signals.yaml': swap(
      '{ fact: honeypotTriggered, operator: equal, value: true }',
      '{ fact: honeypotTriggered, operator: equal, value: true }\n        - { fact: overrideGroup, operator: notEqual, value: TRUSTED }',
    ),
  },
  'what exempts from the signals, which nobody meets': {
    'bot-signals.yaml': swap(EXEMPT, `all:\n${AMONG} BLOCKED }\n${AMONG} TRUSTED }`),
  },
  'what exempts everybody from the signals': {
    'bot-signals.yaml': swap(
      'operator: equal, value: TRUSTED',
      'operator: in, value: [NONE, TRUSTED, BLOCKED]',
    ),
  },
  'what exempts from the signals by a fact that may be not known': {
    'bot-signals.yaml': swap(
      EXEMPT,
      'all: [{ fact: secondsSinceLastPaid, operator: greaterThan, value: 60 }]',
    ),
  },
  'more digits in the bound of a holdout than rules compare': {
    'groups.yaml': swap(
      '    priority: 50\n',
      '    priority: 50\n    holdout: 2%\n    holdoutMaxAmount: { EUR: "100.00000000000000001", USD: "100.00" }\n',
    ),
  },
  'signals that cannot reach the threshold together': {
    'bot-signals.yaml': whole(
      `rules:\n${SIGNAL('bound', 3, true)}${SIGNAL('unbound', 2, false)}threshold: 4\n`,
    ),
  },
  'signals that ask for one fact and reach the threshold only together': {
    'bot-signals.yaml': whole(`rules:\n${CROWDED(2, '1h', 4)}${CROWDED(2, '24h', 30)}threshold: 4\n`),
  },
  'signals that are about one thing': {
    'bot-signals.yaml': whole(
      `rules:\n${CROWDED('2, about: address', '1h', 4)}${CROWDED('2, about: address', '24h', 30)}${SIGNAL('bound', 2, true)}threshold: 4\n`,
    ),
  },
  'signals that ask for one fact, one of which reaches the threshold alone': {
    'bot-signals.yaml': whole(`rules:\n${CROWDED(2, '1h', 4)}${CROWDED(4, '24h', 30)}threshold: 4\n`),
  },
  'attributes whose names look like personal data, beside some that do not': {
    'ruleset.yaml': declaring(
      '{ email: { type: text }, cardNumber: { type: text }, billing_phone: { type: text }, iban: { type: text, pseudonym: true }, cardCountry: { type: text }, emailDomain: { type: text }, phoneAge: { type: number } }',
    ),
  },
  'an attribute compared with the name of another, which is taken for a text': {
    ...asking(
      '{ fact: attribute, params: { name: cardCountry }, operator: notEqual, value: ipCountry }',
      '{ cardCountry: { type: text }, ipCountry: { type: text } }',
    ),
  },
  'the same of one that is kept as a pseudonym': asking(
    '{ fact: attribute, params: { name: billing }, operator: equal, value: account }',
    '{ billing: { type: text, pseudonym: true }, account: { type: text, pseudonym: true } }',
  ),
  'the same among several values, written over several lines': asking(
    'fact: attribute\n          params: { name: cardCountry }\n          operator: in\n          value: [ipCountry, DE]',
    '{ cardCountry: { type: text }, ipCountry: { type: text } }',
  ),
  'a method compared with the name of a fact': asking('{ fact: method, operator: equal, value: currency }'),
  'a method called as an attribute is, which is no mistake': asking(
    '{ fact: method, operator: equal, value: card }',
    '{ card: { type: text } }',
  ),
  'an attribute that is less than a number, which nobody means of a payer without it': asking(
    '{ fact: attribute, params: { name: emailAgeDays }, operator: lessThan, value: 7 }',
  ),
  'an attribute that is none, and one that is none of some': asking(
    '{ fact: attribute, params: { name: emailAgeDays }, operator: equal, value: 0 }\n        - { fact: attribute, params: { name: cardCountry }, operator: notIn, value: [DE, AT] }',
  ),
  'a named condition that several rules share, told of the first': {
    'verdicts.yaml': edits(
      swap('rules:\n', `conditions: { dormant: { any: [${DORMANT}, ${LARGE}] } }\nrules:\n`),
      swap(
        '\notherwise:',
        `\n${RULE('shared', 65, '{ all: [{ condition: dormant }, { fact: jsOk, operator: known, value: true }] }')}${RULE('shared-too', 64, '{ condition: dormant }')}otherwise:`,
      ),
    ),
  },
  'an amount that is above an attribute and not': asking(
    '{ fact: amount, operator: greaterThan, value: { fact: attribute, params: { name: usualAmount } } }\n        - { fact: attribute, params: { name: usualAmount }, operator: greaterThanInclusive, value: { fact: amount } }',
  ),
  'two countries that are different and one': asking(
    '{ fact: attribute, params: { name: cardCountry }, operator: notEqual, value: { fact: attribute, params: { name: ipCountry } } }\n        - { fact: attribute, params: { name: cardCountry }, operator: equal, value: DE }\n        - { fact: attribute, params: { name: ipCountry }, operator: in, value: [DE] }',
  ),
};

describe('proving a rule set tells of', () => {
  const added = Object.entries(ADDED).map(
    ([title, [priority, conditions]]) =>
      [title, () => told({ 'verdicts.yaml': withRule(priority, conditions) })] as const,
  );
  const changed = Object.entries(CHANGED).map(([title, changes]) => [title, () => told(changes)] as const);
  itTells(new URL('proofs.txt', import.meta.url), Object.fromEntries([...changed, ...added]));
});

/** Two rules of equal priority: what is changed in the released files. */
const EQUAL: Readonly<Record<string, Readonly<Record<string, Edit>>>> = {
  'they conclude differently': {
    'verdicts.yaml': swap('priority: 60', 'priority: 50'),
  },
  'the same among groups': { 'groups.yaml': swap('priority: 60', 'priority: 70') },
  'they conclude differently and cannot match together': {
    'groups.yaml': swap('priority: 90', 'priority: 100'),
  },
  'they conclude the same': { 'verdicts.yaml': swap('priority: 90', 'priority: 100') },
};

describe('two rules of equal priority', () => {
  const all = Object.entries(EQUAL).map(([title, changes]) => [title, () => problemsOf(changes)] as const);
  itTells(new URL('equal-priorities.txt', import.meta.url), Object.fromEntries(all));
});
