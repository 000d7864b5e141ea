import type { RuleProblem } from '#decision/rules/problem.ts';
import type { ParsedRules, Rule } from '#decision/rules/rule-set.ts';

/**
 * Reports rules of groups or verdicts that have the priority of an earlier rule and conclude differently. Without
 * this check the sequence of the rules in the file would decide. A different reason or text is not a different
 * conclusion.
 */
export function listEqualPriorityProblems({
  groups,
  verdicts,
}: Pick<ParsedRules, 'groups' | 'verdicts'>): readonly RuleProblem[] {
  return [
    ...refuseAmong(groups.rules, ({ group }) => group),
    ...refuseAmong(verdicts.rules, ({ verdict, ladder }) => `${verdict} ${ladder}`),
  ];
}

/** `rules` stand in the sequence in which they are asked. */
function refuseAmong<Params>(
  rules: readonly Rule<Params>[],
  conclusionOf: (params: Params) => string,
): readonly RuleProblem[] {
  const firstOf = new Map<number, Rule<Params>>();
  return rules.flatMap((rule) => {
    const { name, priority, params, at } = rule;
    const first = firstOf.getOrInsert(priority, rule);
    if (conclusionOf(first.params) === conclusionOf(params)) return [];
    const message = `"${name}" and "${first.name}" (line ${first.at.line}) both have priority ${priority} and conclude differently; give each its own priority`;
    return [{ at, message }];
  });
}
