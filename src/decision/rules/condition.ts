import type { Fact, FactValue } from '#decision/facts/fact.ts';
import type { Location } from './problem.ts';

/** A fact as a rule names it: with its window or its list when it has one. */
export interface FactRef {
  /** `verdicts(10m)`, `clientsOnAttribute(card 1h)`, `listed(blocked-devices)` or `paidCount`: how records and explanations name it. */
  readonly label: string;
  readonly name: string;
  readonly fact: Fact;
  /** 0 for a fact without a window. */
  readonly windowMs: number;
  /** The shared list that it asks about; only of a fact about lists. */
  readonly list?: string;
  /** The attribute that it is, or about whose values it is; only of such facts. */
  readonly attribute?: string;
  /** Its index among the values of a decision. */
  readonly index: number;
}

/** Constants that a fact is compared with: a list for `in` and `notIn`, one value for the other operators. */
export type Expected = FactValue | readonly FactValue[];

/** What a fact is compared with: constants, or another fact. */
export type ComparedWith = Expected | FactRef;

/** Whether a fact is compared with another fact. */
export function isFactRef(value: ComparedWith): value is FactRef {
  return typeof value === 'object' && 'label' in value;
}

/** Whether it is an attribute of which an HMAC alone is kept. */
export function keepsPseudonym({ fact }: FactRef): boolean {
  return fact.kind === 'attribute' && fact.declared?.pseudonym === true;
}

/** The parts of a condition in json-rules-engine's terms, each with members of its own. */
export type ConditionTree<Own, Compared> =
  | (Own & { readonly kind: 'all' | 'any'; readonly conditions: readonly ConditionTree<Own, Compared>[] })
  | (Own & { readonly kind: 'not'; readonly condition: ConditionTree<Own, Compared> })
  | (Own & {
      readonly kind: 'reference';
      readonly name: string;
      readonly condition: ConditionTree<Own, Compared>;
    })
  | (Own & Compared & { readonly kind: 'comparison' });

interface Written {
  readonly at: Location;
}

interface Compared {
  readonly fact: FactRef;
  readonly operator: OperatorName;
  readonly value: ComparedWith;
  /** The list of the rule set that the values stand in; absent when they stand in the condition itself. */
  readonly list?: string;
}

/** What must hold for a rule to match, as it is written; `moveNegations` says how it is evaluated. */
export type Condition = ConditionTree<Written, Compared>;

export type Comparison = Extract<Condition, { kind: 'comparison' }>;

/** How each kind of condition is folded, once its parts are done; `condition` is the one that contains them. */
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

/** The results of folding the conditions of rules. */
export type FoldOf<Result> = ConditionFold<Written, Compared, Result>;

/**
 * Folds a condition from the inside out. This is the one way to walk a condition by its kinds. A part that occurs
 * twice, as named conditions do, is folded once; `made` lets several calls share their results.
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

/** The conditions and all their parts, from the outside in, each once. */
function conditionsIn(conditions: readonly Condition[]): readonly Condition[] {
  const found = new Set<Condition>();
  const visit = (condition: Condition): void => {
    if (found.has(condition)) return;
    found.add(condition);
    for (const part of partsOf(condition)) visit(part);
  };
  for (const condition of conditions) visit(condition);
  return [...found];
}

function partsOf(condition: Condition): readonly Condition[] {
  if ('conditions' in condition) return condition.conditions;
  return 'condition' in condition ? [condition.condition] : [];
}

/** Every comparison in the conditions, in the order in which they are written. */
export function listComparisons(conditions: readonly Condition[]): readonly Comparison[] {
  return conditionsIn(conditions).filter((condition) => condition.kind === 'comparison');
}

/** The facts that conditions compare, in the order of their first mention. */
export function listFacts(conditions: readonly Condition[]): readonly FactRef[] {
  const named = listComparisons(conditions).flatMap(listComparedFacts);
  return [...new Map(named.map((fact) => [fact.label, fact])).values()];
}

/** The facts of a comparison: one, or two that are compared with each other. */
export function listComparedFacts({ fact, value }: Comparison): readonly FactRef[] {
  return isFactRef(value) ? [fact, value] : [fact];
}

/** The conditions that are referred to by name, also from within each other. */
export function collectNamedConditions(conditions: readonly Condition[]): ReadonlyMap<string, Condition> {
  const references = conditionsIn(conditions).filter((condition) => condition.kind === 'reference');
  return new Map(references.map(({ name, condition }) => [name, condition]));
}

const EQUALITY = ['equal', 'notEqual'] as const;
const ORDER = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'] as const;
const DIVISION = ['multipleOf', 'notMultipleOf'] as const;
const MEMBERSHIP = ['in', 'notIn'] as const;
/** Asks whether the fact has a value; no other operator holds of a fact without one. */
const KNOWLEDGE = ['known'] as const;

/** The operators that rules may use: those of json-rules-engine, those of multiples, and "known". */
export const OPERATORS = [...EQUALITY, ...ORDER, ...MEMBERSHIP, ...DIVISION, ...KNOWLEDGE] as const;

export type OperatorName = (typeof OPERATORS)[number];

/** Which operators make sense for a fact. */
export function listOperators(fact: {
  readonly domain: Fact['domain'];
  readonly absence?: Fact['absence'];
}): readonly OperatorName[] {
  const compares = comparisonsOf(fact.domain);
  return fact.absence === undefined ? compares : [...compares, ...KNOWLEDGE];
}

function comparisonsOf(domain: Fact['domain']): readonly OperatorName[] {
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

/** What people read where a fact has no value. */
export const NOT_KNOWN = 'not known';
