import { expect } from 'chai';
import fc from 'fast-check';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import type { Condition, FactRef } from '#decision/rules/condition.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { allOf, anyOf, createComparison, not } from '#decision/rules/proof/built-conditions.ts';
import { collectKnowledge, NOTHING_KNOWN, type Relation } from '#decision/rules/proof/knowledge.ts';
import { Reasoner, type ReasonerAnswer } from '#decision/rules/proof/reasoner.ts';
import { sumSignalWeights } from '#decision/rules/rule-set.ts';
import { CHECKOUT_ATTRIBUTES, declaring } from '../../../rule-fixtures/declared-attributes.ts';
import {
  allAssignments,
  anyCondition,
  SMALL_FACTS,
  type SmallFact,
} from '../../../rule-fixtures/small-facts.ts';
import { edited, problemsOf, swap } from '../../../rule-fixtures/sound-rules.ts';

const ASSIGNMENTS = allAssignments(SMALL_FACTS);

function fact(label: string): FactRef {
  const found = SMALL_FACTS.find(({ ref }) => ref.label === label);
  if (found === undefined) throw new Error(`no fact ${label}`);
  return found.ref;
}

/** The values of a witness by the places of the facts; a fact that nothing asks for has its first value. */
function valuesOf(answer: ReasonerAnswer, facts: readonly SmallFact[]): readonly NullableFactValue[] {
  if (answer.kind !== 'witness') throw new Error(`a witness was expected, not ${answer.kind}`);
  return facts.map(({ ref, values }) => {
    const found = answer.facts.get(ref.label);
    return found === undefined ? (values[0] ?? false) : found;
  });
}

function witness(answer: ReasonerAnswer): Readonly<Record<string, NullableFactValue>> {
  return answer.kind === 'witness' ? Object.fromEntries(answer.facts) : {};
}

/** Facts of the released rule set, by label. */
const RULES = edited({});
function known(label: string): FactRef {
  const found = RULES.facts.find((ref) => ref.label === label);
  if (found === undefined) throw new Error(`no fact ${label}`);
  return found;
}

describe('a reasoner', () => {
  it('finds facts exactly when trying all of them does', () => {
    const conditions = fc.array(anyCondition(SMALL_FACTS, 3), { minLength: 1, maxLength: 3 });
    const property = fc.property(
      conditions,
      fc.array(anyCondition(SMALL_FACTS, 2), { maxLength: 3 }),
      (must, mustNot) => {
        const holds = (values: readonly NullableFactValue[]) =>
          must.every((condition) => createMatcher(condition)(values)) &&
          !mustNot.some((condition) => createMatcher(condition)(values));
        const answer = new Reasoner().find(must, mustNot);
        const possible = ASSIGNMENTS.some(holds);
        expect(answer.kind).to.equal(possible ? 'witness' : 'none');
        if (possible)
          expect(holds(valuesOf(answer, SMALL_FACTS)), JSON.stringify(witness(answer))).to.equal(true);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  it('finds texts that are compared with each other exactly when trying all of them does', () => {
    const words = ['x', 'y', 'A', 'B', 'C'];
    const text = (index: number, label: string): SmallFact => {
      const absence = { of: 'a payer without one', mistakenFor: '' };
      const described = { kind: 'plain', domain: { type: 'text' }, unit: null, description: label } as const;
      const ref = { label, name: label, fact: { ...described, absence, read: () => '' }, windowMs: 0, index };
      return { ref, values: [...words, null], constants: ['x', 'y'] };
    };
    const facts = [text(0, 'card'), text(1, 'address'), text(2, 'account')];
    const pair = fc
      .tuple(
        fc.shuffledSubarray([...facts], { minLength: 2, maxLength: 2 }),
        fc.constantFrom('equal', 'notEqual'),
      )
      .map(([[one, other], operator]): Condition => {
        if (one === undefined || other === undefined) throw new Error('two facts');
        return { ...createComparison(one.ref, operator, ''), value: other.ref };
      });
    const any = fc.oneof(pair, pair.map(not), anyCondition(facts, 1));
    const assignments = allAssignments(facts);
    const property = fc.property(
      fc.array(any, { minLength: 1, maxLength: 4 }),
      fc.array(any, { maxLength: 3 }),
      (must, mustNot) => {
        const holds = (values: readonly NullableFactValue[]) =>
          must.every((condition) => createMatcher(condition)(values)) &&
          !mustNot.some((condition) => createMatcher(condition)(values));
        const answer = new Reasoner().find(must, mustNot);
        expect(answer.kind).to.equal(assignments.some(holds) ? 'witness' : 'none');
        if (answer.kind === 'witness')
          expect(holds(valuesOf(answer, facts)), JSON.stringify(witness(answer))).to.equal(true);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('knows that of two numbers one is not below and above the other, whatever they are compared with', () => {
    const rules = edited({ 'ruleset.yaml': declaring(CHECKOUT_ATTRIBUTES) });
    const [amount, usual] = ['amount', 'attribute(usualAmount)'].map((label) => {
      return rules.facts.find((ref) => ref.label === label) ?? known(label);
    });
    if (amount === undefined || usual === undefined) throw new Error('two facts');
    const above: Condition = { ...createComparison(amount, 'greaterThan', 0), value: usual };
    const below: Condition = { ...createComparison(usual, 'greaterThan', 0), value: amount };
    const reasoner = new Reasoner();
    const kindOf = (...must: readonly Condition[]) => reasoner.find(must).kind;
    expect(kindOf(above)).to.equal('witness');
    expect(kindOf(above, below)).to.equal('none');
    expect(kindOf(above, createComparison(usual, 'known', false))).to.equal('none');
    expect(
      kindOf(above, createComparison(usual, 'greaterThan', 100), createComparison(amount, 'lessThan', 100)),
    ).to.equal('none');
    expect(
      kindOf(above, createComparison(usual, 'lessThan', 100), createComparison(amount, 'greaterThan', 100)),
    ).to.equal('witness');
  });

  it('finds facts with a given sum and order exactly when trying all of them does', () => {
    const number = (index: number, label: string, max: number): SmallFact => {
      const domain = { type: 'number', integer: true, min: 0, max } as const;
      const values = Array.from({ length: max + 1 }, (_, value) => value);
      const described = { kind: 'plain', domain, unit: null, description: label, read: () => 0 } as const;
      return { ref: { label, name: label, fact: described, windowMs: 0, index }, values, constants: values };
    };
    const facts = [
      number(0, 'paid', 4),
      number(1, 'unpaid', 4),
      number(2, 'final', 6),
      number(3, 'chain', 3),
    ];
    const [paid, unpaid, final, chain] = facts.map(({ ref }) => ref);
    if (!paid || !unpaid || !final || !chain) throw new Error('four facts');
    const relations: readonly Relation[] = [
      { kind: 'sum', parts: [paid, unpaid], total: final },
      { kind: 'at most', lesser: chain, greater: unpaid, by: 1 },
    ];
    const related = allAssignments(facts).filter(
      ([a, b, sum, c]) => Number(a) + Number(b) === sum && Number(c) + 1 <= Number(b),
    );
    const property = fc.property(fc.array(anyCondition(facts, 2), { minLength: 1, maxLength: 4 }), (must) => {
      const holds = (values: readonly NullableFactValue[]) =>
        must.every((condition) => createMatcher(condition)(values));
      const answer = new Reasoner({ ...NOTHING_KNOWN, relations }).find(must);
      expect(answer.kind).to.equal(related.some(holds) ? 'witness' : 'none');
      if (answer.kind === 'witness') {
        const seen = facts.map(({ ref, values }) => answer.facts.get(ref.label) ?? values[0] ?? 0);
        expect(holds(seen)).to.equal(true);
        expect(seen[2]).to.equal(Number(seen[0]) + Number(seen[1]));
        expect(Number(seen[3])).to.be.below(Number(seen[1]));
      }
    });
    fc.assert(property, { numRuns: 400 });
  });

  it('finds matching signals of a weight exactly when trying all of them does', () => {
    const flags = Array.from({ length: 5 }, (_, index): SmallFact => {
      const described = {
        kind: 'plain',
        domain: { type: 'boolean' },
        unit: null,
        description: 'a signal',
        read: () => false,
      } as const;
      const label = `signal ${index}`;
      const ref = { label, name: label, fact: described, windowMs: 0, index };
      return { ref, values: [false, true], constants: [false, true] };
    });
    const total = known('botWeight');
    const weights = fc.array(fc.constantFrom(0.1, 0.2, 0.7, 1, 2.5), { minLength: 5, maxLength: 5 });
    const asked = fc.array(anyCondition(flags, 2), { maxLength: 3 });
    const things = fc.array(fc.constantFrom(undefined, undefined, 'device', 'page'), {
      minLength: 5,
      maxLength: 5,
    });
    const property = fc.property(
      fc.tuple(weights, things),
      asked,
      fc.constantFrom(0.3, 0.8, 1, 2, 3.5),
      ([given, about], must, limit) => {
        const signals = flags.map(({ ref }, index) => {
          const thing = about[index];
          const params = { matches: ref, weight: given[index] ?? 1 };
          return thing === undefined ? params : { ...params, about: thing };
        });
        const reasoner = new Reasoner({ ...NOTHING_KNOWN, relations: [{ kind: 'weight', signals, total }] });
        const answer = reasoner.find([...must, createComparison(total, 'greaterThanInclusive', limit)]);
        const possible = allAssignments(flags).some(
          (values) =>
            must.every((condition) => createMatcher(condition)(values)) &&
            sumSignalWeights(signals.filter((_, index) => values[index] === true)) >= limit,
        );
        expect(answer.kind).to.equal(possible ? 'witness' : 'none');
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  it('knows that there is nothing between two whole numbers', () => {
    const few = fact('few');
    const between = [createComparison(few, 'greaterThan', 1), createComparison(few, 'lessThan', 2)];
    expect(new Reasoner().find(between)).to.deep.equal({ kind: 'none' });
  });

  it('finds a short amount between two amounts', () => {
    const amount = known('amount');
    const between = [
      createComparison(amount, 'greaterThan', 99.5),
      createComparison(amount, 'lessThan', 100.5),
    ];
    expect(witness(new Reasoner().find(between))).to.deep.equal({ amount: 100 });
  });

  it('finds a text that no condition names', () => {
    const method = known('method');
    const neither = [createComparison(method, 'notIn', ['card', 'other'])];
    expect(witness(new Reasoner().find(neither))).to.deep.equal({ method: 'other-1' });
  });

  it('knows that a currency is written in capitals', () => {
    const currency = known('currency');
    expect(new Reasoner().find([createComparison(currency, 'equal', 'eur')])).to.deep.equal({ kind: 'none' });
    expect(new Reasoner().find([createComparison(currency, 'equal', 'EUR')]).kind).to.equal('witness');
    expect(witness(new Reasoner().find([createComparison(currency, 'notEqual', 'EUR')]))).to.deep.equal({
      currency: 'XTS',
    });
  });

  it('knows that a score has four decimals', () => {
    const score = known('paymentScore');
    expect(new Reasoner().find([createComparison(score, 'equal', 0.33333)]).kind).to.equal('none');
    expect(new Reasoner().find([createComparison(score, 'equal', 0.3333)]).kind).to.equal('witness');
  });

  it('finds no witness only where contradicting conditions must both be true', () => {
    const few = fact('few');
    const parts = [createComparison(few, 'lessThan', 2), createComparison(few, 'greaterThan', 2)];
    expect(new Reasoner().find([anyOf(...parts)]).kind).to.equal('witness');
    expect(new Reasoner().find([allOf(...parts)]).kind).to.equal('none');
    expect(new Reasoner().find([not(allOf(...parts))]).kind).to.equal('witness');
  });

  it('says that it could not decide instead of searching endlessly', () => {
    // Nine pigeons of whom each has one of eight holes to itself: hard for every search.
    const holes = Array.from({ length: 9 }, (_, index): FactRef => {
      const domain = { type: 'enum', values: ['1', '2', '3', '4', '5', '6', '7', '8'] } as const;
      const label = `pigeon ${index}`;
      const described = { kind: 'plain', domain, unit: null, description: label, read: () => '1' } as const;
      return { label, name: label, fact: described, windowMs: 0, index };
    });
    const apart = holes.flatMap((one, index) =>
      holes
        .slice(index + 1)
        .flatMap((other) =>
          ['1', '2', '3', '4', '5', '6', '7', '8'].map((hole) =>
            not(allOf(createComparison(one, 'equal', hole), createComparison(other, 'equal', hole))),
          ),
        ),
    );
    expect(
      new Reasoner(NOTHING_KNOWN, { questionStepsMax: 10_000, totalStepsMax: 10_000 }).find(apart),
    ).to.deep.equal({ kind: 'undecided' });
  });
});

describe('a reasoner with relations of facts', () => {
  const verdict = new Reasoner(collectKnowledge(RULES, 'a verdict'));
  const request = new Reasoner(collectKnowledge(RULES, 'any request'));

  for (const [title, ...conditions] of [
    ['more unpaid orders in a row than in all', ['unpaidChain', 'equal', 3], ['unpaidCount', 'lessThan', 3]],
    ['more paid orders than final ones', ['paidCount', 'greaterThan', 4], ['finalCount', 'lessThan', 5]],
    ['a high score without a paid order', ['paidCount', 'equal', 0], ['paymentScore', 'greaterThan', 0.5]],
    ['a neutral score that is not neutral', ['finalCount', 'equal', 0], ['paymentScore', 'notEqual', 0.5]],
    [
      'an attempt while a wait is due',
      ['waitRemainingSeconds', 'greaterThan', 0],
      ['attemptOpen', 'equal', true],
    ],
    [
      'a wait that is over and is not',
      ['waitServed', 'equal', true],
      ['waitRemainingSeconds', 'greaterThan', 0],
    ],
    [
      'a fitting binding without a binding',
      ['hasBinding', 'equal', false],
      ['bindingFitsMethod', 'equal', true],
    ],
    [
      'a longer window with fewer clients',
      ['clientsOnIp(1h)', 'equal', 9],
      ['clientsOnIp(1d)', 'lessThan', 9],
    ],
    ['a trap without a score', ['honeypotTriggered', 'equal', true], ['scoredBefore', 'equal', false]],
    [
      'an attempt after the ladder was forgotten',
      ['attemptOpen', 'equal', true],
      ['secondsSinceLastVerdict', 'greaterThanInclusive', 86_400],
    ],
    ['a group that the facts do not give', ['clientGroup', 'equal', 'NEW'], ['paidCount', 'greaterThan', 0]],
    ['a bot below the threshold', ['isBot', 'equal', true], ['botWeight', 'lessThan', 4]],
    [
      'no bot although a trap was filled in by somebody whom nobody trusts',
      ['isBot', 'equal', false],
      ['honeypotTriggered', 'equal', true],
      ['overrideGroup', 'equal', 'NONE'],
    ],
    ['a verdict for a new client', ['isNewClient', 'equal', true]],
    ['a verdict that is no request', ['verdicts(1m)', 'equal', 0]],
  ] as const) {
    it(`rules out ${title}`, () => {
      const must = conditions.map(([label, operator, value]) =>
        createComparison(known(label), operator, value),
      );
      expect(verdict.find(must).kind).to.equal('none');
      // Each by itself is possible, or the relation would not be what rules it out.
      if (must.length > 1) {
        expect(must.map((one) => verdict.find([one]).kind)).to.deep.equal(must.map(() => 'witness'));
      }
    });
  }

  it('leaves a new client possible outside of verdicts', () => {
    const isNew = createComparison(known('isNewClient'), 'equal', true);
    expect(witness(request.find([isNew]))).to.include({ isNewClient: true, finalCount: 0 });
  });

  it('finds the counts behind a score', () => {
    const score = createComparison(known('paymentScore'), 'equal', 0.0123);
    const { paidCount, unpaidCount } = witness(request.find([score]));
    const paid = Number(paidCount);
    expect(((paid + 0.2) / (paid + Number(unpaidCount) + 0.4)).toFixed(4)).to.equal('0.0123');
  });

  it('finds facts that make a rule of each verdict the first', () => {
    for (const [index, { name, condition }] of RULES.verdicts.rules.entries()) {
      const before = RULES.verdicts.rules.slice(0, index).map((rule) => rule.condition);
      expect(verdict.find([condition], before).kind, name).to.equal('witness');
    }
  });
});

describe('a reasoner over a large rule set', () => {
  /** A hundred rules over ten facts, each with three comparisons, made the same way every time. */
  function manyConditions(): readonly Condition[] {
    const labels = [
      'paidCount',
      'unpaidCount',
      'finalCount',
      'secondsSinceLastPaid',
      'amount',
      'ladderLevel',
    ];
    const numbers = labels.map(known);
    return Array.from({ length: 100 }, (_, n) => {
      const at = (step: number) => numbers[(n * step + step) % numbers.length] ?? known('amount');
      return allOf(
        createComparison(at(1), 'greaterThan', (n * 7) % 19),
        anyOf(
          createComparison(at(5), 'lessThan', 3 + ((n * 11) % 15)),
          createComparison(known('hasBinding'), 'equal', n % 2 === 0),
        ),
        createComparison(
          known('clientGroup'),
          n % 3 === 0 ? 'equal' : 'notEqual',
          n % 2 === 0 ? 'PAYING' : 'NEW',
        ),
      );
    });
  }

  it('decides for each of a hundred rules whether it can be first', () => {
    const conditions = manyConditions();
    const reasoner = new Reasoner(collectKnowledge(RULES, 'a verdict'));
    const kinds = conditions.map((condition, n) => reasoner.find([condition], conditions.slice(0, n)).kind);
    expect(new Set(kinds)).to.deep.equal(new Set(['witness', 'none']));
  });
});

describe('two rules of equal priority', () => {
  it('are refused when they wait on different ladders', () => {
    const rule = (name: string, ladder: string) =>
      `  - { name: ${name}, priority: 85, conditions: { all: [{ fact: amount, operator: equal, value: 7 }] }, event: { type: verdict, params: { verdict: WAIT, ${ladder}reason: "R" } } }\n`;
    const problems = problemsOf({
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [2m, 10m] }'),
      'verdicts.yaml': swap('rules:\n', `rules:\n${rule('one', '')}${rule('other', 'ladder: patient, ')}`),
    });
    expect(problems.join()).to.contain('"other" and "one" (line 5) both have priority 85');
  });
});
