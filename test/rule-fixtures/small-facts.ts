import fc from 'fast-check';
import type { FactDomain, FactValue, NullableFactValue } from '#decision/facts/fact.ts';
import { type Condition, type FactRef, listFittingOperators } from '#decision/rules/condition.ts';
import { allOf, anyOf, createComparison, not } from '#decision/rules/proof/built-conditions.ts';

/** A fact with so few values that all can be tried. */
export interface SmallFact {
  readonly ref: FactRef;
  /** Every value that conditions can tell apart. */
  readonly values: readonly NullableFactValue[];
  /** What conditions compare it with. */
  readonly constants: readonly FactValue[];
}

function small(
  index: number,
  label: string,
  domain: FactDomain,
  values: readonly FactValue[],
  constants: readonly FactValue[] = values,
): SmallFact {
  const fact = { kind: 'plain', domain, unit: null, description: label, read: () => false } as const;
  return { ref: { label, name: label, fact, windowMs: 0, index }, values, constants };
}

/** The same fact, which may have no value. */
function orUnknown({ ref, values, constants }: SmallFact): SmallFact {
  const absence = { of: 'a payer without one', mistakenFor: false };
  return { ref: { ...ref, fact: { ...ref.fact, absence } }, values: [...values, null], constants };
}

/** One fact of each type of domain, some of which may have no value; `amount` is the only number that is not whole. */
export const SMALL_FACTS: readonly SmallFact[] = [
  small(0, 'few', { type: 'number', integer: true, min: 0, max: 3 }, [0, 1, 2, 3]),
  orUnknown(small(1, 'some', { type: 'number', integer: true, min: 1, max: 4 }, [1, 2, 3, 4])),
  orUnknown(small(2, 'flag', { type: 'boolean' }, [false, true])),
  small(3, 'kind', { type: 'enum', values: ['A', 'B', 'C'] }, ['A', 'B', 'C']),
  orUnknown(
    small(4, 'amount', { type: 'number', integer: false, min: 0, max: 2 }, [0, 0.5, 1, 1.5, 2], [0, 1, 2]),
  ),
  small(5, 'word', { type: 'text' }, ['x', 'y', 'neither'], ['x', 'y']),
];

/** All assignments of values to the facts, in the order of their places. */
export function allAssignments(facts: readonly SmallFact[]): readonly (readonly NullableFactValue[])[] {
  return facts.reduce<readonly (readonly NullableFactValue[])[]>(
    (assignments, { values }) =>
      assignments.flatMap((assignment) => values.map((value) => [...assignment, value])),
    [[]],
  );
}

export const HERE = { file: 'test.yaml', line: 1, column: 1 };

function comparison({ ref, constants }: SmallFact): fc.Arbitrary<Condition> {
  const one = fc.constantFrom(...constants);
  return fc.constantFrom(...listFittingOperators(ref.fact)).chain((operator) => {
    if (operator === 'multipleOf' || operator === 'notMultipleOf')
      return fc
        .constantFrom(...constants.filter((value) => Number(value) > 0))
        .map((value) => createComparison(ref, operator, value));
    if (operator === 'known') return fc.boolean().map((isKnown) => createComparison(ref, operator, isKnown));
    const list = operator === 'in' || operator === 'notIn';
    const value: fc.Arbitrary<FactValue | readonly FactValue[]> = list
      ? fc.array(one, { minLength: 1, maxLength: 2 })
      : one;
    return value.map((expected) => createComparison(ref, operator, expected));
  });
}

/** Any condition over the facts, nested `depth` levels at most. */
export function anyCondition(facts: readonly SmallFact[], depth: number): fc.Arbitrary<Condition> {
  const leaf = fc.constantFrom(...facts).chain(comparison);
  if (depth === 0) return leaf;
  const inner = anyCondition(facts, depth - 1);
  const parts = fc.array(inner, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    { weight: 2, arbitrary: parts.map((conditions) => allOf(...conditions)) },
    { weight: 1, arbitrary: parts.map((conditions) => anyOf(...conditions)) },
    { weight: 1, arbitrary: inner.map(not) },
    {
      weight: 1,
      arbitrary: inner.map(
        (condition) => ({ kind: 'reference', name: 'named', condition, at: HERE }) as const,
      ),
    },
  );
}
