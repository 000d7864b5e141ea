import { type Decision, OTHERWISE } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { RuleEngine } from '#decision/rules/evaluate/engine.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';

/** Returns the fact values of a decision in the order of the rule set's facts. Throws when one is missing. */
export function requireRecordedFactValues(rules: RuleSet, { facts }: Decision): readonly NullableFactValue[] {
  return rules.facts.map(({ label }) => {
    const value = facts[label];
    // A fact without a value would make the peer look faster than it is.
    if (value === undefined) throw new Error(`no value for ${label}`);
    return value;
  });
}

/**
 * Runs json-rules-engine on all three rule files. Returns the name of the rule that decides the verdict. Each call
 * builds its engines. Keeping the engines would be faster but give wrong verdicts, because overlapping runs of one
 * engine lose rules without a sign.
 */
export async function decideByJsonRulesEngine(
  rules: RuleSet,
  values: readonly NullableFactValue[],
): Promise<string> {
  const { groups, signals, verdicts, facts } = rules;
  await new RuleEngine(groups.rules, facts).evaluateRules(values);
  await new RuleEngine(signals.rules, facts).evaluateRules(values);
  const matched = await new RuleEngine(verdicts.rules, facts).evaluateRules(values);
  return verdicts.rules.find(({ name }) => matched.get(name) === true)?.name ?? OTHERWISE;
}
