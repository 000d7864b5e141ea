import type { Fact, FactValue } from '#decision/facts/fact.ts';
import type { Location } from './problem.ts';

/** A reference to a fact in a rule, with the window or the list that the rule names. */
export interface FactRef {
  /**
   * The name in records and explanations: `verdicts(10m)`, `clientsOnAttribute(card 1h)`, `listed(blocked-devices)`
   * or `paidCount`.
   */
  readonly label: string;
  readonly name: string;
  readonly fact: Fact;
  /** The window in ms. It is 0 for a fact without a window. */
  readonly windowMs: number;
  /** The shared list of a fact about lists. Missing for other facts. */
  readonly list?: string;
  /** The attribute that the fact is, or whose values the fact counts. Missing for other facts. */
  readonly attribute?: string;
  /** The fact's index among the values of a decision. */
  readonly index: number;
}

/** The constants that a fact is compared with: a list for `in` and `notIn`, one value for the other operators. */
export type ExpectedConstants = FactValue | readonly FactValue[];

/** The right side of a comparison: constants, or another fact. */
export type ComparedWith = ExpectedConstants | FactRef;

/** Whether the right side of a comparison is another fact. */
export function isFactRef(value: ComparedWith): value is FactRef {
  return typeof value === 'object' && 'label' in value;
}

/** Whether the fact is an attribute that is kept as an HMAC alone. */
export function isPseudonymFact({ fact }: FactRef): boolean {
  return fact.kind === 'attribute' && fact.declared?.pseudonym === true;
}

/**
 * A condition in the terms of json-rules-engine. Every part has the members `Own`, and a comparison has `Compared` as
 * well.
 */
export type ConditionTree<Own, Compared> =
  | (Own & { readonly kind: 'all' | 'any'; readonly conditions: readonly ConditionTree<Own, Compared>[] })
  | (Own & { readonly kind: 'not'; readonly condition: ConditionTree<Own, Compared> })
  | (Own & {
      readonly kind: 'reference';
      readonly name: string;
      readonly condition: ConditionTree<Own, Compared>;
    })
  | (Own & Compared & { readonly kind: 'comparison' });

interface WrittenMembers {
  readonly at: Location;
}

interface ComparisonMembers {
  readonly fact: FactRef;
  readonly operator: OperatorName;
  readonly value: ComparedWith;
  /** The list of the rule set that contains the values. Missing if the condition itself has the values. */
  readonly list?: string;
}

/** The written condition of a rule. Evaluation uses the form that `moveNegations` makes of it. */
export type Condition = ConditionTree<WrittenMembers, ComparisonMembers>;

export type Comparison = Extract<Condition, { kind: 'comparison' }>;

/**
 * The functions that compute the result of each kind of condition from the results of its parts. `condition` is the
 * condition that contains the parts.
 */
interface ConditionFold<Own, Compared, Result> {
  readonly group: (
    kind: 'all' | 'any',
    parts: readonly Result[],
    condition: ConditionTree<Own, Compared>,
  ) => Result;
  readonly not: (part: Result, condition: ConditionTree<Own, Compared>) => Result;
  readonly reference: (name: string, part: Result, condition: ConditionTree<Own, Compared>) => Result;
  readonly comparison: (comparison: Own & Compared & { readonly kind: 'comparison' }) => Result;
}

/** The functions that compute results of one type from the conditions of rules. */
export type RuleConditionFold<Result> = ConditionFold<WrittenMembers, ComparisonMembers, Result>;

/**
 * Computes the result of a condition from the results of its parts, beginning with the innermost ones. All code that
 * distinguishes the kinds of conditions uses this function. The result of a part that occurs twice, such as a named
 * condition, is computed once. Several calls share results through `made`.
 */
export function foldCondition<Own, Compared, Result>(
  condition: ConditionTree<Own, Compared>,
  fold: ConditionFold<Own, Compared, Result>,
  made: Map<ConditionTree<Own, Compared>, Result> = new Map(),
): Result {
  return made.getOrInsertComputed(condition, () =>
    foldNode(condition, fold, (part) => foldCondition(part, fold, made)),
  );
}

function foldNode<Own, Compared, Result>(
  condition: ConditionTree<Own, Compared>,
  fold: ConditionFold<Own, Compared, Result>,
  below: (part: ConditionTree<Own, Compared>) => Result,
): Result {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return fold.group(condition.kind, condition.conditions.map(below), condition);
    case 'not':
      return fold.not(below(condition.condition), condition);
    case 'reference':
      return fold.reference(condition.name, below(condition.condition), condition);
    case 'comparison':
      return fold.comparison(condition);
    default:
      return condition satisfies never;
  }
}

/** Lists conditions and all their parts from the outside in, each once. */
function listAllConditions(conditions: readonly Condition[]): readonly Condition[] {
  const found = new Set<Condition>();
  const visit = (condition: Condition): void => {
    if (found.has(condition)) return;
    found.add(condition);
    for (const part of listParts(condition)) visit(part);
  };
  for (const condition of conditions) visit(condition);
  return [...found];
}

function listParts(condition: Condition): readonly Condition[] {
  if ('conditions' in condition) return condition.conditions;
  return 'condition' in condition ? [condition.condition] : [];
}

/** Lists every comparison in the conditions, in the sequence in which they are written. */
export function listComparisons(conditions: readonly Condition[]): readonly Comparison[] {
  return listAllConditions(conditions).filter((condition) => condition.kind === 'comparison');
}

/** Lists the facts that conditions compare, in the sequence of their first mention. */
export function listConditionFacts(conditions: readonly Condition[]): readonly FactRef[] {
  const named = listComparisons(conditions).flatMap(listComparedFacts);
  return [...new Map(named.map((fact) => [fact.label, fact])).values()];
}

/** Lists the facts of a comparison: one fact, or two facts that are compared with each other. */
export function listComparedFacts({ fact, value }: Comparison): readonly FactRef[] {
  return isFactRef(value) ? [fact, value] : [fact];
}

/** Collects the conditions that are referred to by name, including references within named conditions. */
export function mapNamedConditions(conditions: readonly Condition[]): ReadonlyMap<string, Condition> {
  const references = listAllConditions(conditions).filter((condition) => condition.kind === 'reference');
  return new Map(references.map(({ name, condition }) => [name, condition]));
}

const EQUALITY = ['equal', 'notEqual'] as const;
const ORDER = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'] as const;
const DIVISION = ['multipleOf', 'notMultipleOf'] as const;
const MEMBERSHIP = ['in', 'notIn'] as const;
/** The operator that asks whether a fact has a value. No other operator matches a fact without a value. */
const KNOWLEDGE = ['known'] as const;

/** The operators of rules: those of json-rules-engine, the two for multiples, and `known`. */
export const OPERATOR_NAMES = [...EQUALITY, ...ORDER, ...MEMBERSHIP, ...DIVISION, ...KNOWLEDGE] as const;

export type OperatorName = (typeof OPERATOR_NAMES)[number];

/** Lists the operators that fit a fact. */
export function listFittingOperators(fact: {
  readonly domain: Fact['domain'];
  readonly absence?: Fact['absence'];
}): readonly OperatorName[] {
  const compares = listComparisonOperators(fact.domain);
  return fact.absence === undefined ? compares : [...compares, ...KNOWLEDGE];
}

function listComparisonOperators(domain: Fact['domain']): readonly OperatorName[] {
  switch (domain.type) {
    case 'number':
      return [...EQUALITY, ...ORDER, ...MEMBERSHIP, ...DIVISION];
    case 'enum':
    case 'text':
      return [...EQUALITY, ...MEMBERSHIP];
    case 'boolean':
      return EQUALITY;
    default:
      return domain satisfies never;
  }
}

/** The text that people read if a fact has no value. */
export const NOT_KNOWN_TEXT = 'not known';
