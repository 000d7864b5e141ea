import type { Condition } from '../condition.ts';
import type { Problem } from '../problem.ts';
import { type ParsedRules, type Rule, withoutHoldout } from '../rule-set.ts';
import { type Example, exampleOf, formatExample } from './example.ts';
import { Reasoner, type WorkLimits } from './reasoner.ts';
import { type KnownRules, knowledgeOf } from './relations.ts';

/**
 * What loading a rule set may spend on rules of equal priority in each file. It is counted in steps and not
 * in time, so that a rule set is sound on every machine or on none.
 */
const ORDER_LIMITS: WorkLimits = { questionStepsMax: 1_000_000, totalStepsMax: 1_000_000 };

/**
 * Every pair of group or verdict rules for which it is not clear which one is first; also the pairs that were
 * undecided when the steps of loading ran out.
 */
export function refuseUnclearOrder(rules: KnownRules & Pick<ParsedRules, 'verdicts'>): readonly Problem[] {
  const anyRequest = new Reasoner(knowledgeOf(rules, 'any request'), ORDER_LIMITS);
  const aVerdict = new Reasoner(knowledgeOf(rules, 'a verdict'), ORDER_LIMITS);
  const groups = unclear(rules.groups.rules, anyRequest, (a, b) => a.group === b.group);
  const verdicts = unclear(
    rules.verdicts.rules,
    aVerdict,
    (a, b) => a.verdict === b.verdict && a.ladder === b.ladder,
  );
  return [...groups, ...verdicts];
}

function unclear<Params>(
  rules: readonly Rule<Params>[],
  reasoner: Reasoner,
  same: (a: Params, b: Params) => boolean,
): readonly Problem[] {
  return conflicts(rules, reasoner, same).map(({ first, second, example }) => {
    const both = `"${second.name}" and "${first.name}" (line ${first.at.line}) both have priority ${second.priority}`;
    const message =
      example === null
        ? `${both}, and whether both can match first was not decided within ${ORDER_LIMITS.totalStepsMax.toLocaleString('en')} steps of proof; give each its own priority`
        : `${both} and can both match first, e.g. when ${formatExample(example)}; give each its own priority`;
    return { at: second.at, message };
  });
}

/** Two rules of one priority that can both be first and conclude differently. */
interface Conflict<Params> {
  readonly first: Rule<Params>;
  readonly second: Rule<Params>;
  /** Null when the search for one took too long: then nobody knows whether there is one. */
  readonly example: Example | null;
}

/**
 * For each rule, the first rule before it in the file that has its priority, can be first together with
 * it and concludes differently. `rules` are in the order in which they are asked.
 */
export function conflicts<Params>(
  rules: readonly Rule<Params>[],
  reasoner: Reasoner,
  same: (a: Params, b: Params) => boolean,
): readonly Conflict<Params>[] {
  // Most rule sets have no equals, and need no search.
  const priorities = new Set(rules.map((rule) => rule.priority));
  if (priorities.size === rules.length) return [];
  reasoner.prepare(rules.map((rule) => rule.condition));
  return rules.flatMap((second, index) => {
    const rivals = rules
      .slice(0, index)
      .filter((rule) => rule.priority === second.priority && !same(rule.params, second.params));
    const higher =
      rivals.length === 0 ? [] : withoutHoldout(rules).filter((rule) => rule.priority > second.priority);
    const before = higher.map((rule) => rule.condition);
    for (const first of rivals) {
      const found = conflict(first, second, before, reasoner);
      if (found !== null) return [found];
    }
    return [];
  });
}

/** `before` are the conditions of the rules that are asked before the two. */
function conflict<Params>(
  first: Rule<Params>,
  second: Rule<Params>,
  before: readonly Condition[],
  reasoner: Reasoner,
): Conflict<Params> | null {
  const both = [first.condition, second.condition];
  // Mostly they exclude each other, which needs no search.
  if (reasoner.find(both).kind === 'none') return null;
  const answer = reasoner.find(both, before);
  switch (answer.kind) {
    case 'witness':
      return { first, second, example: exampleOf(answer.facts, both) };
    case 'none':
      return null;
    case 'undecided':
      return { first, second, example: null };
    default:
      return answer satisfies never;
  }
}
