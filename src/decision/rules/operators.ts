import type { NullableFactValue } from '#decision/facts/fact.ts';
import type { ExpectedConstants, OperatorName } from './condition.ts';
import { isMultipleOf } from './multiples.ts';

/** Tests the recorded value of a fact. Null and undefined mean that the fact has no value. */
type Test = (seen: NullableFactValue | undefined) => boolean;

type Relation = (seen: number, limit: number) => boolean;

/** The operators that compare numbers by size. */
const RELATIONS = {
  lessThan: (seen, limit) => seen < limit,
  lessThanInclusive: (seen, limit) => seen <= limit,
  greaterThan: (seen, limit) => seen > limit,
  greaterThanInclusive: (seen, limit) => seen >= limit,
} as const satisfies Partial<Record<OperatorName, Relation>>;

/**
 * The meaning of each operator, given the right side of a comparison. A fact without a value passes no operator but
 * "known". Compiled rules, json-rules-engine, proofs and examples all use this table.
 */
const TESTS: Readonly<Record<OperatorName, (expected: ExpectedConstants) => Test>> = {
  equal: (expected) => (seen) => seen === expected,
  notEqual: (expected) => (seen) => isKnown(seen) && seen !== expected,
  in: (expected) => createMemberTest(expected, true),
  notIn: (expected) => createMemberTest(expected, false),
  known: (expected) => (seen) => isKnown(seen) === expected,
  lessThan: (expected) => createNumberTest(expected, RELATIONS.lessThan),
  lessThanInclusive: (expected) => createNumberTest(expected, RELATIONS.lessThanInclusive),
  greaterThan: (expected) => createNumberTest(expected, RELATIONS.greaterThan),
  greaterThanInclusive: (expected) => createNumberTest(expected, RELATIONS.greaterThanInclusive),
  multipleOf: (expected) => createNumberTest(expected, isMultipleOf),
  notMultipleOf: (expected) => createNumberTest(expected, (seen, divisor) => !isMultipleOf(seen, divisor)),
};

/**
 * Creates the test of an operator. If the right side is not known (null or undefined), the test fails for every
 * value.
 */
export function createTest(operator: OperatorName, expected: ExpectedConstants | null | undefined): Test {
  return expected === null || expected === undefined ? () => false : TESTS[operator](expected);
}

/** Tests the values of two facts. The test fails if one of the two values is not known. */
type PairTest = (seen: NullableFactValue | undefined, other: NullableFactValue | undefined) => boolean;

/** Creates the test of an operator that compares two facts. Throws for an operator that cannot compare facts. */
export function createPairTest(operator: OperatorName): PairTest {
  if (operator === 'equal') return (seen, other) => isKnown(other) && seen === other;
  if (operator === 'notEqual') return (seen, other) => isKnown(seen) && isKnown(other) && seen !== other;
  const relations: Partial<Record<OperatorName, Relation>> = RELATIONS;
  const holds = relations[operator];
  if (holds === undefined) throw new Error(`${operator} does not compare two facts`);
  return (seen, other) => typeof seen === 'number' && typeof other === 'number' && holds(seen, other);
}

function isKnown(seen: NullableFactValue | undefined): boolean {
  return seen !== null && seen !== undefined;
}

function createMemberTest(expected: ExpectedConstants, wanted: boolean): Test {
  const members = new Set<NullableFactValue | undefined>(typeof expected === 'object' ? expected : []);
  return (seen) => isKnown(seen) && members.has(seen) === wanted;
}

function createNumberTest(limit: ExpectedConstants, holds: Relation): Test {
  if (typeof limit !== 'number') return () => false;
  return (seen) => typeof seen === 'number' && holds(seen, limit);
}
