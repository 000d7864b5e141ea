import type { FactReading } from '#decision/facts/fact.ts';
import { type Condition, type Expected, foldCondition, isFactRef, type OperatorName } from './condition.ts';
import { testOf } from './operators.ts';

/** Whether something holds for the values of a decision, which stand in the order of the rule set's facts. */
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

export function every(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (!matches(values)) return false;
    return true;
  };
}

export function some(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (matches(values)) return true;
    return false;
  };
}

/** Compares one of the values of a decision with constants. */
export function comparisonMatcher(index: number, operator: OperatorName, expected: Expected): Matcher {
  const test = testOf(operator, expected);
  return (values) => test(values[index]);
}

/** Compares two values of a decision. */
export function pairMatcher(index: number, operator: OperatorName, other: number): Matcher {
  return (values) => testOf(operator, values[other])(values[index]);
}
