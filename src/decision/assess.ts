import type { ClientGroup } from '../client/client-group.ts';
import type { Conclusions, FactContext, FactValue } from '../facts/fact.ts';
import { type Matchable, type RuleSet, settingsOf, type VerdictParams } from '../rules/rule-set.ts';
import { totalWeight } from '../rules/signal-weight.ts';
import { type Decision, OTHERWISE } from './decision.ts';

/** What a rule set concludes about a payer before any verdict. */
export interface Assessment {
  /** One value for each of the rule set's facts, in their order. */
  readonly values: readonly FactValue[];
  readonly clientGroup: ClientGroup;
  /** Names of the bot signals that matched. */
  readonly signals: readonly string[];
  readonly isBot: boolean;
}

/** Facts, then the client group, then the bot flag: each may use what came before it. */
export function assess(rules: RuleSet, context: FactContext): Assessment {
  return conclude(rules, readFacts(rules, context), context.isNew);
}

/** The same from values that were read earlier, such as those of a recorded decision. */
export function conclude(rules: RuleSet, facts: readonly FactValue[], isNew: boolean): Assessment {
  const values = [...facts];
  const clientGroup = firstMatch(rules.groups.rules, values)?.params.group ?? rules.groups.otherwise;
  setConclusions(rules, values, { clientGroup, botWeight: 0, isBot: false });
  const matching = rules.signals.rules.filter((signal) => signal.matches(values));
  const botWeight = totalWeight(matching.map((signal) => signal.params.weight));
  // The contract: a client new to the platform is not a bot, whatever its first request showed.
  const isBot = !isNew && botWeight >= rules.signals.threshold;
  setConclusions(rules, values, { clientGroup, botWeight, isBot });
  return { values, clientGroup, signals: matching.map((signal) => signal.name), isBot };
}

/** The rule that gives the verdict, or `otherwise`. */
export function verdictRule(
  rules: RuleSet,
  values: readonly FactValue[],
): { readonly rule: string; readonly params: VerdictParams } {
  const match = firstMatch(rules.verdicts.rules, values);
  if (match === undefined) return { rule: OTHERWISE, params: rules.verdicts.otherwise };
  return { rule: match.name, params: match.params };
}

/** The values of a decision by the labels of their facts, as decisions record them. */
export function factsByLabel(rules: RuleSet, values: readonly FactValue[]): Record<string, FactValue> {
  const record = { ...rules.blankRecord };
  for (const { label, index } of rules.facts) record[label] = values[index] ?? false;
  return record;
}

/**
 * The facts that the record of a decision tells by where and when it was made, as this rule set takes them: another
 * version may have another time zone. By label.
 */
export function circumstantialFacts(
  rules: RuleSet,
  { platform, at: now }: Pick<Decision, 'platform' | 'at'>,
): Readonly<Record<string, FactValue>> {
  const { timeZone } = settingsOf(rules, platform);
  return Object.fromEntries(
    rules.facts.flatMap(({ label, fact }) =>
      fact.kind === 'circumstantial' ? [[label, fact.read({ platform, timeZone, now })]] : [],
    ),
  );
}

function readFacts(rules: RuleSet, context: FactContext): readonly FactValue[] {
  return rules.facts.map(({ fact, windowMs, list = '' }) => {
    switch (fact.kind) {
      case 'plain':
      case 'circumstantial':
        return fact.read(context);
      case 'windowed':
        return fact.read(context, windowMs);
      case 'listed':
        return fact.read(context, list);
      case 'concluded':
        return false;
      default:
        return fact satisfies never;
    }
  });
}

/** Rules are in order of priority, so the first match is the one that counts. */
function firstMatch<Params>(
  rules: readonly Matchable<Params>[],
  values: readonly FactValue[],
): Matchable<Params> | undefined {
  return rules.find((rule) => rule.matches(values));
}

function setConclusions(rules: RuleSet, values: FactValue[], conclusions: Conclusions): void {
  for (const { fact, index } of rules.concludedFacts) values[index] = fact.read(conclusions);
}
