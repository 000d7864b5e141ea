import { expect } from 'chai';
import fc from 'fast-check';
import { type Proofs, prove, proveOrdered } from '../../src/authoring/prove.ts';
import type { FactValue } from '../../src/facts/fact.ts';
import { matcher } from '../../src/rules/matcher.ts';
import { formatProblem } from '../../src/rules/problem.ts';
import { conflicts } from '../../src/rules/proof/equal-priorities.ts';
import { Reasoner } from '../../src/rules/proof/reasoner.ts';
import type { Rule } from '../../src/rules/rule-set.ts';
import { allAssignments, anyCondition, HERE, SMALL_FACTS } from '../rule-fixtures/small-facts.ts';
import {
  type Edit,
  edited,
  editedFiles,
  edits,
  problemsOf,
  swap,
  whole,
} from '../rule-fixtures/sound-rules.ts';

const FACTS = SMALL_FACTS.slice(0, 4);
const ASSIGNMENTS = allAssignments(FACTS);

interface Group {
  readonly group: string;
}

const sameGroup = (a: Group, b: Group) => a.group === b.group;

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
        ...{ name: `rule-${index}`, description: '', at: { ...HERE, line: index + 1 } },
        ...{ condition, priority, params: { group } },
      }))
      .toSorted((a, b) => b.priority - a.priority),
  );

function matches(rule: Rule<Group>, values: readonly FactValue[]): boolean {
  return matcher(rule.condition)(values);
}

/** The result of trying every assignment. */
function tryAll(rules: readonly Rule<Group>[]) {
  const possible = (holds: (values: readonly FactValue[]) => boolean) => ASSIGNMENTS.some(holds);
  const neverMatches = rules.filter((rule) => !possible((values) => matches(rule, values)));
  const neverFirst = rules.filter(
    (rule, index) =>
      !neverMatches.includes(rule) &&
      !possible(
        (values) => matches(rule, values) && !rules.slice(0, index).some((other) => matches(other, values)),
      ),
  );
  const bothFirst = (a: Rule<Group>, b: Rule<Group>) =>
    possible(
      (values) =>
        matches(a, values) &&
        matches(b, values) &&
        !rules.some((other) => other.priority > a.priority && matches(other, values)),
    );
  const clashes = rules.flatMap((second, index) => {
    const first = rules
      .slice(0, index)
      .find(
        (rule) =>
          rule.priority === second.priority &&
          !sameGroup(rule.params, second.params) &&
          bothFirst(rule, second),
      );
    return first === undefined ? [] : [`${first.name} ${second.name}`];
  });
  const otherwise = possible((values) => !rules.some((rule) => matches(rule, values)));
  return { neverMatches, neverFirst, clashes, otherwise };
}

const names = (rules: readonly Rule<Group>[]) => rules.map(({ name }) => name);

function named({ findings }: Proofs, kind: string): readonly (string | null)[] {
  return findings.filter((finding) => finding.kind === kind).map(({ rule }) => rule);
}

describe('a proof about a list of rules', () => {
  it('is exactly what trying every assignment finds', () => {
    const property = fc.property(ruleList, (rules) => {
      const proofs = proveOrdered(rules, new Reasoner(), HERE);
      const tried = tryAll(rules);
      expect(named(proofs, 'never matches')).to.deep.equal(names(tried.neverMatches));
      expect(named(proofs, 'never first')).to.deep.equal(names(tried.neverFirst));
      expect(proofs.notes).to.have.lengthOf(tried.otherwise ? 0 : 1);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('finds two rules that can both be first exactly when trying every assignment does', () => {
    const property = fc.property(ruleList, (rules) => {
      const found = conflicts(rules, new Reasoner(), sameGroup);
      expect(found.map(({ first, second }) => `${first.name} ${second.name}`)).to.deep.equal(
        tryAll(rules).clashes,
      );
      for (const { first, second, example } of found) {
        const values = FACTS.map(({ ref, values: all }) => example?.[ref.label] ?? all[0] ?? false);
        expect(matches(first, values) && matches(second, values)).to.equal(true);
      }
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('names only rules that do cover as covering, and an example that shows it', () => {
    const property = fc.property(ruleList, (rules) => {
      for (const { kind, rule: name, message, example } of proveOrdered(rules, new Reasoner(), null)
        .findings) {
        if (kind !== 'never first') continue;
        const rule = rules.find((one) => one.name === name);
        const covering = rules.filter((one) => one !== rule && message.includes(`"${one.name}"`));
        const values = FACTS.map(({ ref, values: all }) => example?.[ref.label] ?? all[0] ?? false);
        const covered = (seen: readonly FactValue[]) => covering.some((one) => matches(one, seen));
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

function proved(changes: Readonly<Record<string, Edit>>) {
  const { findings, notes } = prove(edited(changes), editedFiles(changes));
  return {
    findings: findings.map((finding) => ({ text: formatProblem(finding), example: finding.example })),
    notes: notes.map(formatProblem),
  };
}

describe('proving a rule set', () => {
  it('finds nothing in the released one', () => {
    expect(proved({})).to.deep.equal({ findings: [], notes: [] });
  });

  for (const [title, conditions, reason] of [
    [
      'contradicts itself',
      '{ all: [{ fact: amount, operator: greaterThan, value: 5 }, { fact: isBot, operator: equal, value: false }, { fact: amount, operator: lessThanInclusive, value: 5 }] }',
      'amount > 5 (line 70) and amount <= 5 (line 70) cannot hold together',
    ],
    [
      'asks for what its fact never is',
      '{ all: [{ fact: currency, operator: in, value: [eur, usd] }] }',
      'currency in [eur, usd] (line 70) never holds; a currency is 3 or 4 capital letters or digits',
    ],
    [
      'asks a verdict for a new client',
      '{ all: [{ fact: isNewClient, operator: equal, value: true }] }',
      'isNewClient = true (line 70) never holds; asking for a verdict ends being new; a payer of whom no order is final yet has finalCount = 0',
    ],
    [
      'asks for no request although the one decided counts itself',
      '{ all: [{ fact: verdicts, params: { window: 10m }, operator: equal, value: 0 }] }',
      'verdicts(10m) = 0 (line 70) never holds; the request that is decided is counted, so without one before it the count is 1',
    ],
    [
      'contradicts how facts are related',
      '{ all: [{ fact: unpaidChain, operator: greaterThanInclusive, value: 3 }, { fact: finalCount, operator: lessThan, value: 3 }] }',
      'unpaidChain >= 3 (line 70) and finalCount < 3 (line 70) cannot hold together',
    ],
    [
      'contradicts the groups',
      '{ all: [{ fact: clientGroup, operator: equal, value: NEW }, { fact: paidCount, operator: greaterThan, value: 0 }] }',
      'clientGroup = NEW (line 70) and paidCount > 0 (line 70) cannot hold together',
    ],
  ] as const) {
    it(`finds a rule that never matches because it ${title}`, () => {
      expect(proved({ 'verdicts.yaml': withRule(40, conditions) }).findings).to.deep.equal([
        { text: `verdicts.yaml:70:5  "added" can never match: ${reason}`, example: null },
      ]);
    });
  }

  it('finds a rule that others cover, names them and gives an example', () => {
    const early = '{ fact: waitRemainingSeconds, operator: greaterThan, value: 60 }';
    const open = '{ all: [{ fact: attemptOpen, operator: equal, value: true }] }';
    const changes = { 'verdicts.yaml': withRule(40, `{ any: [${early}, ${open}] }`) };
    expect(proved(changes).findings).to.deep.equal([
      {
        text: 'verdicts.yaml:70:5  "added" can never be first: whenever it matches, "asked-too-early" (line 26) or "attempt-unpaid" (line 38) matches before it',
        example: { waitRemainingSeconds: 61, attemptOpen: false },
      },
    ]);
  });

  it('notes a part that never holds in a rule that matches all the same', () => {
    const conditions =
      '{ any: [{ fact: isNewClient, operator: equal, value: true }, { fact: finalCount, operator: greaterThan, value: 9 }] }';
    expect(proved({ 'verdicts.yaml': withRule(65, conditions) })).to.deep.equal({
      findings: [],
      notes: [
        'verdicts.yaml:70:54  in "added", isNewClient = true (line 70) never holds; asking for a verdict ends being new; a payer of whom no order is final yet has finalCount = 0',
      ],
    });
  });

  it('notes an amount that is compared without a currency', () => {
    const large = '{ fact: amount, operator: greaterThan, value: 250 }';
    expect(proved({ 'verdicts.yaml': withRule(65, `{ all: [${large}] }`) })).to.deep.equal({
      findings: [],
      notes: [
        'verdicts.yaml:70:54  "added" asks for amount > 250 (line 70) in whatever currency is requested; add { fact: currency, operator: equal, value: EUR }, or the currency that is meant',
      ],
    });
    const inEuros = `{ all: [${large}, { fact: currency, operator: equal, value: EUR }] }`;
    expect(proved({ 'verdicts.yaml': withRule(65, inEuros) })).to.deep.equal({ findings: [], notes: [] });
  });

  it('accepts a rule that is partly covered', () => {
    const changes = {
      'verdicts.yaml': withRule(
        40,
        '{ any: [{ fact: attemptOpen, operator: equal, value: true }, { fact: amount, operator: greaterThan, value: 900 }] }',
      ),
    };
    expect(proved(changes).findings).to.deep.equal([]);
  });

  it('finds a signal that never matches', () => {
    const changes = {
      'bot-signals.yaml': swap(
        '{ fact: scoredBefore, operator: equal, value: true }',
        '{ fact: scoredBefore, operator: equal, value: false }\n        - { fact: userAgentIsAutomated, operator: equal, value: true }',
      ),
    };
    expect(proved(changes).findings).to.deep.equal([
      {
        text: 'bot-signals.yaml:87:5  "missing-user-agent" can never match: userAgentIsAutomated = true (line 93) and userAgentPresent = false (line 94) cannot hold together',
        example: null,
      },
    ]);
  });

  it('finds signals that cannot reach the threshold together', () => {
    const signal = (name: string, weight: number, hasBinding: boolean) =>
      `  - { name: ${name}, conditions: { all: [{ fact: hasBinding, operator: equal, value: ${hasBinding} }] }, event: { type: signal, params: { weight: ${weight} } } }\n`;
    const signals = `rules:\n${signal('bound', 3, true)}${signal('unbound', 2, false)}threshold: 4\n`;
    expect(proved({ 'bot-signals.yaml': whole(signals) }).findings.slice(0, 1)).to.deep.equal([
      {
        text: 'bot-signals.yaml:4:1  no payer can be flagged: the signals that can match together weigh 3 at most ("bound"), below the threshold of 4',
        example: { hasBinding: true },
      },
    ]);
  });

  it('notes that "otherwise" is never reached, which is no mistake', () => {
    const changes = {
      'verdicts.yaml': withRule(1, '{ any: [{ fact: amount, operator: greaterThanInclusive, value: 0 }] }'),
    };
    expect(proved(changes)).to.deep.equal({
      findings: [],
      notes: ['verdicts.yaml:71:1  "otherwise" is never reached: some rule always matches'],
    });
  });
});

describe('two rules of equal priority', () => {
  it('are refused when both can be first and they conclude differently', () => {
    expect(problemsOf({ 'verdicts.yaml': swap('priority: 60', 'priority: 50') })).to.deep.equal([
      'verdicts.yaml:60:5  "wait-served" and "show-bound-requisite" (line 50) both have priority 50 and can both match first, e.g. when bindingFitsMethod = true, waitServed = true; give each its own priority',
    ]);
  });

  it('are refused among groups too', () => {
    expect(problemsOf({ 'groups.yaml': swap('priority: 60', 'priority: 70') })).to.deep.equal([
      'groups.yaml:40:5  "stable-history" and "bound-to-requisite" (line 32) both have priority 70 and can both match first, e.g. when hasBinding = true, paidCount = 5, paymentScore = 0.8125, unpaidChain = 0; give each its own priority',
    ]);
  });

  it('are fine when they cannot match together', () => {
    expect(problemsOf({ 'groups.yaml': swap('priority: 90', 'priority: 100') })).to.deep.equal([]);
  });

  it('are fine when they conclude the same', () => {
    expect(problemsOf({ 'verdicts.yaml': swap('priority: 90', 'priority: 100') })).to.deep.equal([]);
  });

  it('are fine when a rule before them takes what they share', () => {
    const shared = RULE(
      'shared',
      85,
      '{ all: [{ fact: waitServed, operator: equal, value: true }, { fact: bindingFitsMethod, operator: equal, value: true }] }',
    );
    const changes = edits(
      swap('priority: 60', 'priority: 50'),
      swap('\notherwise:', `\n${shared}otherwise:`),
    );
    expect(problemsOf({ 'verdicts.yaml': changes })).to.deep.equal([]);
  });
});
