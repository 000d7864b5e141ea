import type { FactReading } from '#decision/facts/fact.ts';
import type { Expected, OperatorName } from './condition.ts';
import { isMultipleOf } from './multiples.ts';

/** Tests the recorded value of a fact. Null and undefined: the fact has no value. */
type Test = (seen: FactReading | undefined) => boolean;

/**
 * The meaning of each operator, given the right side of a comparison. A fact without a value passes no operator but
 * "known". Compiled rules, json-rules-engine, proofs and examples all use this table.
 */
const TESTS: Readonly<Record<OperatorName, (expected: Expected) => Test>> = {
  equal: (expected) => (seen) => seen === expected,
  notEqual: (expected) => (seen) => isKnown(seen) && seen !== expected,
  in: (expected) => member(expected, true),
  notIn: (expected) => member(expected, false),
  known: (expected) => (seen) => isKnown(seen) === expected,
  lessThan: (expected) => numeric(expected, (seen, limit) => seen < limit),
  lessThanInclusive: (expected) => numeric(expected, (seen, limit) => seen <= limit),
  greaterThan: (expected) => numeric(expected, (seen, limit) => seen > limit),
  greaterThanInclusive: (expected) => numeric(expected, (seen, limit) => seen >= limit),
  multipleOf: (expected) => numeric(expected, isMultipleOf),
  notMultipleOf: (expected) => numeric(expected, (seen, divisor) => !isMultipleOf(seen, divisor)),
};

/** Creates the test of an operator. When the right side is not known (null or undefined), the test passes nothing. */
export function createTest(operator: OperatorName, expected: Expected | null | undefined): Test {
  return expected === null || expected === undefined ? () => false : TESTS[operator](expected);
}

function isKnown(seen: FactReading | undefined): boolean {
  return seen !== null && seen !== undefined;
}

function member(expected: Expected, wanted: boolean): Test {
  const members = new Set<FactReading | undefined>(typeof expected === 'object' ? expected : []);
  return (seen) => isKnown(seen) && members.has(seen) === wanted;
}

function numeric(limit: Expected, holds: (seen: number, limit: number) => boolean): Test {
  if (typeof limit !== 'number') return () => false;
  return (seen) => typeof seen === 'number' && holds(seen, limit);
}
