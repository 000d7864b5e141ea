import { expect } from 'chai';
import fc from 'fast-check';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type Condition, listComparisons } from '#decision/rules/condition.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { moveNegations, negateCondition } from '#decision/rules/negation.ts';
import { allOf, anyOf, createComparison, not } from '#decision/rules/proof/built-conditions.ts';
import { allAssignments, anyCondition, HERE, SMALL_FACTS } from '../../rule-fixtures/small-facts.ts';

const DEPTH = 3;
const RUNS = 300;

const anyFacts = anyCondition(SMALL_FACTS, DEPTH);
const assignments = allAssignments(SMALL_FACTS);
const whollyKnown = assignments.filter((values) => !values.includes(null));
const partlyKnown = assignments.filter((values) => values.includes(null));

function fact(name: string) {
  const found = SMALL_FACTS.find(({ ref }) => ref.name === name);
  if (found === undefined) throw new Error(`there is no fact ${name}`);
  return found.ref;
}

/** Some of the ways in which the values that are missing could be. */
function completions(values: readonly NullableFactValue[]): readonly (readonly NullableFactValue[])[] {
  return whollyKnown.filter((whole) =>
    values.every((value, place) => value === null || value === whole[place]),
  );
}

describe('moving "not" to the comparisons', () => {
  it('changes nothing where every value is known', () => {
    fc.assert(
      fc.property(anyFacts, fc.constantFrom(...whollyKnown), (condition, values) => {
        expect(createMatcher(moveNegations(condition))(values)).to.equal(createMatcher(condition)(values));
      }),
      { numRuns: RUNS },
    );
  });

  it('lets nothing match that some value of an unknown fact would not match', () => {
    const asksForNoKnowledge = (condition: Condition) =>
      listComparisons([condition]).every(({ operator }) => operator !== 'known');
    fc.assert(
      fc.property(
        anyFacts.filter(asksForNoKnowledge),
        fc.constantFrom(...partlyKnown),
        (condition, values) => {
          if (!createMatcher(moveNegations(condition))(values)) return;
          const others = completions(values).filter((whole) => !createMatcher(condition)(whole));
          expect(others).to.deep.equal([]);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('leaves no "not", and the same condition where there was none', () => {
    fc.assert(
      fc.property(anyFacts, (condition) => {
        const moved = moveNegations(condition);
        expect(JSON.stringify(moved)).not.to.include('"not"');
        expect(moveNegations(moved)).to.equal(moved);
      }),
      { numRuns: RUNS },
    );
  });

  it('makes "any" of "not all", and the opposite of each comparison', () => {
    const few = createComparison(fact('few'), 'greaterThan', 1);
    const some = createComparison(fact('some'), 'in', [1, 2]);
    const known = createComparison(fact('flag'), 'known', true);
    expect(moveNegations(not(allOf(few, some, known)))).to.deep.equal(
      anyOf(
        createComparison(fact('few'), 'lessThanInclusive', 1),
        createComparison(fact('some'), 'notIn', [1, 2]),
        createComparison(fact('flag'), 'known', false),
      ),
    );
  });

  it('keeps the name of a condition, and loses it where the condition must fail', () => {
    const flag = createComparison(fact('flag'), 'equal', true);
    const named: Condition = { kind: 'reference', name: 'flagged', condition: flag, at: HERE };
    expect(moveNegations(allOf(named))).to.deep.equal(allOf(named));
    expect(moveNegations(not(named))).to.deep.equal(createComparison(fact('flag'), 'notEqual', true));
  });
});

describe('the complement of a condition', () => {
  it('holds exactly where the condition does not, also where a value is not known', () => {
    fc.assert(
      fc.property(anyFacts, fc.constantFrom(...assignments), (condition, values) => {
        const holds = createMatcher(moveNegations(condition))(values);
        expect(createMatcher(negateCondition(condition))(values)).to.equal(!holds);
      }),
      { numRuns: RUNS },
    );
  });
});
