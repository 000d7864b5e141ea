import { OTHERWISE } from './decision.ts';
import type { Conclusions, FactContext, NullableFactValue } from './facts/fact.ts';
import {
  type DrawnHoldout,
  HoldoutCollector,
  type HoldoutRuleFileName,
  type IsHeldOut,
  NOBODY_HELD_OUT,
} from './holdout.ts';
import type { ClientGroup } from './payer/client-state.ts';
import type { FactRef } from './rules/condition.ts';
import {
  type MatchableRule,
  type RuleSet,
  type SignalParams,
  sumSignalWeights,
  type VerdictParams,
} from './rules/rule-set.ts';

/** What a rule set concludes about a payer before the verdict. */
export interface Assessment {
  /** One value for each fact of the rule set, in the sequence of its facts. */
  readonly values: readonly NullableFactValue[];
  readonly clientGroup: ClientGroup;
  /** Names of the bot signals that matched. */
  readonly signals: readonly string[];
  readonly isBot: boolean;
  /** Group rules and signals that matched and have a holdout. */
  readonly drawnHoldouts: readonly DrawnHoldout[];
  /**
   * Facts whose pseudonym was made under a secret that this node lacks. Rules cannot compare such a pseudonym with a
   * constant, so the fact is not known.
   */
  readonly incomparableFacts: readonly FactRef[];
}

/**
 * Computes the facts, then the client group, then the bot flag. Each step may use the results of the steps before it.
 */
export function assessPayer(rules: RuleSet, context: FactContext, isHeldOut: IsHeldOut): Assessment {
  return assessFromFactValues(rules, readFacts(rules, context), context.isNew, isHeldOut);
}

/**
 * Concludes the client group, the bot signals and the bot flag from known values, such as those of a recorded
 * decision.
 */
export function assessFromFactValues(
  rules: RuleSet,
  facts: readonly NullableFactValue[],
  isNew: boolean,
  isHeldOut = NOBODY_HELD_OUT,
): Assessment {
  const values = [...facts];
  const incomparableFacts = forgetIncomparable(rules, values);
  const holdouts = new HoldoutCollector(rules, isHeldOut);
  const group = findFirstMatch('groups', rules.groups.rules, values, holdouts);
  const clientGroup = group?.params.group ?? rules.groups.otherwise;
  setConclusions(rules, values, { clientGroup, botWeight: 0, isBot: false });
  const matching = listMatchingSignals(rules, values, holdouts);
  const botWeight = sumSignalWeights(matching.map(({ params }) => params));
  // The interface defines that a client who is new to the platform is not a bot, whatever the first request showed.
  const isBot = !isNew && botWeight >= rules.signals.threshold;
  setConclusions(rules, values, { clientGroup, botWeight, isBot });
  const signals = matching.map((signal) => signal.name);
  return {
    values,
    clientGroup,
    signals,
    isBot,
    drawnHoldouts: holdouts.drawnHoldouts,
    incomparableFacts,
  };
}

const NO_FACTS: readonly FactRef[] = [];

/**
 * Replaces pseudonyms by "not known" if no constant can be compared with them, because their secret is missing on
 * this node.
 */
function forgetIncomparable(
  { hashedFacts, attributeHmacs }: RuleSet,
  values: NullableFactValue[],
): readonly FactRef[] {
  if (hashedFacts.length === 0) return NO_FACTS;
  const incomparable = hashedFacts.filter(({ index }) => {
    const value = values[index];
    return typeof value === 'string' && !attributeHmacs.isComparable(value);
  });
  for (const { index } of incomparable) values[index] = null;
  return incomparable;
}

/** Returns the verdict rule that decides. If no rule matches, returns `otherwise`. */
export function chooseVerdictRule(
  rules: RuleSet,
  values: readonly NullableFactValue[],
  isHeldOut = NOBODY_HELD_OUT,
): VerdictMatch {
  const holdouts = new HoldoutCollector(rules, isHeldOut);
  const match = findFirstMatch('verdicts', rules.verdicts.rules, values, holdouts);
  const { name: rule, params } = match ?? { name: OTHERWISE, params: rules.verdicts.otherwise };
  return { rule, params, drawn: holdouts.drawnHoldouts };
}

interface VerdictMatch {
  readonly rule: string;
  readonly params: VerdictParams;
  /** Verdict rules with a holdout that matched: the deciding rule, and the rules before it. */
  readonly drawn: readonly DrawnHoldout[];
}

/** Lists the flags that are recorded with a verdict, each once, in the sequence of the rules. */
export function listRaisedFlags({ flags }: RuleSet, values: readonly NullableFactValue[]): readonly string[] {
  if (flags.rules.length === 0) return NO_FLAGS;
  const raised = flags.rules.filter((rule) => rule.matches(values)).map(({ params }) => params.flag);
  return [...new Set(raised)];
}

const NO_FLAGS: readonly string[] = [];

/** Returns the values of a decision by the labels of their facts. */
export function labelFactValues(
  rules: RuleSet,
  values: readonly NullableFactValue[],
): Record<string, NullableFactValue> {
  const record = { ...rules.blankRecord };
  for (const { label, index } of rules.facts) record[label] = values[index] ?? null;
  return record;
}

function readFacts(rules: RuleSet, context: FactContext): readonly NullableFactValue[] {
  return rules.facts.map(({ fact, windowMs, list = '' }) => {
    switch (fact.kind) {
      case 'plain':
      case 'circumstantial':
      case 'attribute':
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

/** Lists the signals that match and are not held out. An exempt payer has none. */
function listMatchingSignals(
  { signals }: RuleSet,
  values: readonly NullableFactValue[],
  holdouts: HoldoutCollector,
): readonly MatchableRule<SignalParams>[] {
  if (signals.exempt?.matches(values) === true) return [];
  return signals.rules.filter(
    (signal) => signal.matches(values) && !holdouts.isSkipped('bot-signals', signal, values),
  );
}

/** Finds the rule that decides. Rules are sorted by priority, so the first match decides. */
function findFirstMatch<Params>(
  file: HoldoutRuleFileName,
  rules: readonly MatchableRule<Params>[],
  values: readonly NullableFactValue[],
  holdouts: HoldoutCollector,
): MatchableRule<Params> | undefined {
  return rules.find((rule) => rule.matches(values) && !holdouts.isSkipped(file, rule, values));
}

function setConclusions(rules: RuleSet, values: NullableFactValue[], conclusions: Conclusions): void {
  for (const { fact, index } of rules.concludedFacts) values[index] = fact.read(conclusions);
}
