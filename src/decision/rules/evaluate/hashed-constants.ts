import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import {
  type Comparison,
  type Condition,
  type ExpectedConstants,
  type FactRef,
  foldCondition,
  isFactRef,
  isPseudonymFact,
  listComparisons,
} from '#decision/rules/condition.ts';

/** Lists the facts that are kept as pseudonyms and compared with constants, each once. */
export function listFactsComparedAsPseudonyms(conditions: readonly Condition[]): readonly FactRef[] {
  const compared = listComparisons(conditions).filter((one) => findConstantsToHash(one) !== null);
  return [...new Map(compared.map(({ fact }) => [fact.label, fact])).values()];
}

/**
 * Decisions hold pseudonyms as HMACs. Therefore this function puts HMACs in the place of the constants with which a
 * condition compares pseudonyms.
 */
export function hashConstants(condition: Condition, hmacs: AttributePseudonymizer): Condition {
  if (listFactsComparedAsPseudonyms([condition]).length === 0) return condition;
  return foldCondition(condition, {
    group: (kind, conditions, { at }): Condition => ({ kind, conditions, at }),
    not: (inner, { at }) => ({ kind: 'not', condition: inner, at }),
    reference: (name, inner, { at }) => ({ kind: 'reference', name, condition: inner, at }),
    comparison: (comparison) => hashComparison(comparison, hmacs),
  });
}

function hashComparison(comparison: Comparison, hmacs: AttributePseudonymizer): Comparison {
  const constants = findConstantsToHash(comparison);
  if (constants === null) return comparison;
  const { operator } = comparison;
  // While the secret is being changed, a text has several HMACs. A pseudonym stands for the text if it equals one of
  // them.
  const value = [constants].flat().flatMap((text) => hmacs.derivePseudonyms(String(text)));
  return { ...comparison, operator: operator === 'notEqual' || operator === 'notIn' ? 'notIn' : 'in', value };
}

/** Finds the clear constants that a pseudonym is compared with. Returns null for every other comparison. */
export function findConstantsToHash({
  fact,
  operator,
  value,
}: Pick<Comparison, 'fact' | 'operator' | 'value'>): ExpectedConstants | null {
  return operator === 'known' || isFactRef(value) || !isPseudonymFact(fact) ? null : value;
}
