import { listComparisons } from '#decision/rules/condition.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import type { ParsedRules, Rule } from '#decision/rules/rule-set.ts';
import { createComparison, FactsByName } from './built-conditions.ts';
import { collectKnowledge, type RulesForProofs } from './knowledge.ts';
import { Reasoner, type WorkLimits } from './reasoner.ts';

/** How many proof steps the check of holdouts may take when a rule set is loaded. */
const REFUSAL_LIMITS: WorkLimits = { questionStepsMax: 200_000, totalStepsMax: 1_000_000 };

/**
 * Reports holdouts of rules that match only clients who have an override or are on a shared list. Such a rule repeats
 * a person's decision, so nobody may be held out of it.
 */
export function listHoldoutProblems(
  rules: RulesForProofs & Pick<ParsedRules, 'verdicts'>,
): readonly RuleProblem[] {
  const refuse = (some: readonly Rule<unknown>[], moment: 'any request' | 'a verdict') => {
    const holding = some.filter(({ holdout }) => holdout !== undefined);
    if (holding.length === 0) return [];
    const reasoner = new Reasoner(collectKnowledge(rules, moment), REFUSAL_LIMITS);
    return holding.flatMap((rule) => refuseHoldout(rule, rules, reasoner));
  };
  return [
    ...refuse([...rules.groups.rules, ...rules.signals.rules], 'any request'),
    ...refuse(rules.verdicts.rules, 'a verdict'),
  ];
}

function refuseHoldout(
  { name, condition, holdout }: Rule<unknown>,
  { facts }: RulesForProofs,
  reasoner: Reasoner,
): readonly RuleProblem[] {
  if (holdout === undefined) return [];
  const byName = new FactsByName(facts);
  const undecided = createComparison(byName.requireFact('overrideGroup'), 'equal', 'NONE');
  const unlisted = facts
    .filter(({ fact }) => fact.kind === 'listed')
    .map((ref) => createComparison(ref, 'equal', false));
  const named = listComparisons([condition]).filter(
    ({ list, operator }) => list !== undefined && operator === 'in',
  );
  if (reasoner.find([condition]).kind === 'none') return [];
  if (reasoner.find([condition, undecided, ...unlisted], named).kind !== 'none') return [];
  const message = `"${name}" cannot have a holdout: it matches only payers whom a person decided about or who are on a list; put the holdout on a rule that counts`;
  return [{ at: holdout.at, message }];
}
