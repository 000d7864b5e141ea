import type { FactReading } from '#decision/facts/fact.ts';
import { type Condition, type Expected, foldCondition, isFactRef, type OperatorName } from './condition.ts';
import { isMultipleOf } from './multiples.ts';

export type Matcher = (values: readonly FactReading[]) => boolean;

/** `condition` is without "not", see `moveNegations`; a "not" of proofs holds wherever its part does not. */
export function matcher(condition: Condition): Matcher {
  return foldCondition(condition, {
    group: (kind, parts) => (kind === 'all' ? every(parts) : some(parts)),
    not: (part) => (values) => !part(values),
    reference: (_name, part) => part,
    comparison: ({ fact, operator, value }) =>
      isFactRef(value)
        ? pairMatcher(fact.index, operator, value.index)
        : comparisonMatcher(fact.index, operator, value),
  });
}

function every(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (!matches(values)) return false;
    return true;
  };
}

function some(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (matches(values)) return true;
    return false;
  };
}

/**
 * What the operators mean, for one of the values of a decision: a fact without a value matches none but "known".
 * Decisions, proofs and examples all ask this one function, and a property test holds it equal to json-rules-engine.
 */
export function comparisonMatcher(index: number, operator: OperatorName, expected: Expected): Matcher {
  switch (operator) {
    case 'equal':
      return (values) => values[index] === expected;
    case 'notEqual':
      return (values) => isKnown(values[index]) && values[index] !== expected;
    case 'in':
    case 'notIn': {
      const wanted = operator === 'in';
      const members = new Set<FactReading | undefined>(typeof expected === 'object' ? expected : []);
      return (values) => isKnown(values[index]) && members.has(values[index]) === wanted;
    }
    case 'known':
      return (values) => isKnown(values[index]) === expected;
    case 'lessThan':
      return numeric(index, expected, (seen, limit) => seen < limit);
    case 'lessThanInclusive':
      return numeric(index, expected, (seen, limit) => seen <= limit);
    case 'greaterThan':
      return numeric(index, expected, (seen, limit) => seen > limit);
    case 'greaterThanInclusive':
      return numeric(index, expected, (seen, limit) => seen >= limit);
    case 'multipleOf':
      return numeric(index, expected, isMultipleOf);
    case 'notMultipleOf':
      return numeric(index, expected, (seen, divisor) => !isMultipleOf(seen, divisor));
    default:
      return operator satisfies never;
  }
}

/** The same of two values of a decision: they match nothing where one of them is not known. */
function pairMatcher(index: number, operator: OperatorName, other: number): Matcher {
  return (values) => {
    const expected = values[other];
    if (expected === undefined || expected === null) return false;
    return comparisonMatcher(index, operator, expected)(values);
  };
}

function isKnown(seen: FactReading | undefined): boolean {
  return seen !== null && seen !== undefined;
}

function numeric(index: number, limit: Expected, holds: (seen: number, limit: number) => boolean): Matcher {
  if (typeof limit !== 'number') return () => false;
  return (values) => {
    const seen = values[index];
    return typeof seen === 'number' && holds(seen, limit);
  };
}
