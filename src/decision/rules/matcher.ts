import type { NullableFactValue } from '#decision/facts/fact.ts';
import {
  type Condition,
  type ExpectedConstants,
  foldCondition,
  isFactRef,
  type OperatorName,
} from './condition.ts';
import { createPairTest, createTest } from './operators.ts';

/** Tests the values of a decision. The values stand in the sequence of the rule set's facts. */
export type Matcher = (values: readonly NullableFactValue[]) => boolean;

/**
 * Creates the test of a condition. The condition of a rule has no "not" here, because `moveNegations` has removed
 * each "not". A condition that `built-conditions.ts` builds, to prove something about rules, may still have a "not".
 * A "not" holds if the condition inside it does not hold.
 */
export function createMatcher(condition: Condition): Matcher {
  return foldCondition(condition, {
    group: (kind, parts) => (kind === 'all' ? matchEvery(parts) : matchSome(parts)),
    not: (part) => (values) => !part(values),
    reference: (_name, part) => part,
    comparison: ({ fact, operator, value }) =>
      isFactRef(value)
        ? createPairMatcher(fact.index, operator, value.index)
        : createComparisonMatcher(fact.index, operator, value),
  });
}

export function matchEvery(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (!matches(values)) return false;
    return true;
  };
}

export function matchSome(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (matches(values)) return true;
    return false;
  };
}

/** Creates a test that compares one value of a decision with constants. */
export function createComparisonMatcher(
  index: number,
  operator: OperatorName,
  expected: ExpectedConstants,
): Matcher {
  const test = createTest(operator, expected);
  return (values) => test(values[index]);
}

/** Creates a test that compares two values of a decision. */
export function createPairMatcher(index: number, operator: OperatorName, other: number): Matcher {
  const test = createPairTest(operator);
  return (values) => test(values[index], values[other]);
}
