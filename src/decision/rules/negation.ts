import {
  type Comparison,
  type Condition,
  foldCondition,
  type OperatorName,
  type RuleConditionFold,
} from './condition.ts';

/** `holds` is the condition without "not". `fails` is its negation, also without "not". */
interface Polarities {
  readonly holds: Condition;
  readonly fails: Condition;
}

/** The results of `moveNegations` so far, by the condition as the author wrote it. */
export type NegationCache = Map<Condition, Polarities>;

/**
 * Moves each "not" of a condition to the comparisons within it, for evaluation: "not above 5" becomes "at most 5",
 * and "not all" becomes "any that fails". When a fact is not known, neither a comparison with it nor the "not" of
 * that comparison holds. `moved` caches the results, so that a named condition is converted once for all rules of a
 * file.
 */
export function moveNegations(condition: Condition, moved: NegationCache = new Map()): Condition {
  return foldCondition(condition, NEGATION_FOLD, moved).holds;
}

const NEGATION_FOLD: RuleConditionFold<Polarities> = {
  group: (kind, parts, condition) => ({
    holds: isUnchanged(condition, parts)
      ? condition
      : { kind, conditions: parts.map(({ holds }) => holds), at: condition.at },
    fails: {
      kind: kind === 'all' ? 'any' : 'all',
      conditions: parts.map(({ fails }) => fails),
      at: condition.at,
    },
  }),
  not: ({ holds, fails }) => ({ holds: fails, fails: holds }),
  // A name stands for the written condition, so the opposite condition has no name.
  reference: (name, part, condition) => ({
    holds: isUnchanged(condition, [part])
      ? condition
      : { kind: 'reference', name, condition: part.holds, at: condition.at },
    fails: part.fails,
  }),
  comparison: (comparison) => ({ holds: comparison, fails: findOpposite(comparison) }),
};

/**
 * Returns the condition that holds exactly where this one does not. A comparison with a fact that is not known fails,
 * so the returned condition holds for such a fact. A "not" in a rule would fail, too.
 */
export function negateCondition(condition: Condition): Condition {
  return foldCondition(moveNegations(condition), COMPLEMENT_FOLD);
}

const COMPLEMENT_FOLD: RuleConditionFold<Condition> = {
  group: (kind, conditions, { at }) => ({ kind: kind === 'all' ? 'any' : 'all', conditions, at }),
  not: (part) => part,
  reference: (_name, part) => part,
  comparison: (comparison) => {
    const { fact, operator, at } = comparison;
    const fails = findOpposite(comparison);
    if (operator === 'known' || fact.fact.absence === undefined) return fails;
    const unknown: Comparison = { kind: 'comparison', fact, operator: 'known', value: false, at };
    return { kind: 'any', conditions: [fails, unknown], at };
  },
};

/** Whether no part changed. Most conditions have no "not", and stay the same objects. */
function isUnchanged(condition: Condition, parts: readonly Polarities[]): boolean {
  const before = 'conditions' in condition ? condition.conditions : [];
  const within = 'condition' in condition ? [condition.condition] : before;
  return parts.every(({ holds }, index) => holds === within[index]);
}

/** Returns the comparison that holds for a known value exactly where this one does not. */
function findOpposite(comparison: Comparison): Comparison {
  const { operator, value } = comparison;
  if (operator === 'known') return { ...comparison, value: value !== true };
  return { ...comparison, operator: OPPOSITES[operator] };
}

const OPPOSITES: Readonly<Record<Exclude<OperatorName, 'known'>, OperatorName>> = {
  equal: 'notEqual',
  notEqual: 'equal',
  lessThan: 'greaterThanInclusive',
  lessThanInclusive: 'greaterThan',
  greaterThan: 'lessThanInclusive',
  greaterThanInclusive: 'lessThan',
  in: 'notIn',
  notIn: 'in',
  multipleOf: 'notMultipleOf',
  notMultipleOf: 'multipleOf',
};
