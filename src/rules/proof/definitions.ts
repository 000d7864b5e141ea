import { CLIENT_GROUPS } from '../../client/client-group.ts';
import { YES_NO } from '../../facts/fact.ts';
import type { Condition, FactRef } from '../condition.ts';
import { type GroupParams, type Rule, type SignalParams, withoutHoldout } from '../rule-set.ts';
import { allOf, anyOf, compare, FactsByName, implies, inner, not } from './facts-by-name.ts';
import type { Definition, KnownRules } from './relations.ts';

/** What the rules themselves conclude on the way: the group, the weight of the signals and the bot flag. */
export function definitionsOf(rules: KnownRules): readonly Definition[] {
  const facts = new FactsByName(rules.facts);
  return [groupDefinition(rules, facts), ...botDefinitions(rules, facts)];
}

/** clientGroup is what groups.yaml concludes: the first match, or `otherwise`. */
function groupDefinition({ groups }: KnownRules, facts: FactsByName): Definition {
  const clientGroup = facts.plain('clientGroup');
  const conditions = CLIENT_GROUPS.map((group) => {
    const others = (rules: readonly Rule<GroupParams>[]) =>
      withoutHoldout(rules)
        .filter((rule) => rule.params.group !== group)
        .map((rule) => not(rule.condition));
    const ways = groups.rules.flatMap((rule, index) =>
      rule.params.group === group ? [allOf(rule.condition, ...others(groups.rules.slice(0, index)))] : [],
    );
    const otherwise = groups.otherwise === group ? [allOf(...others(groups.rules))] : [];
    return anyOf(compare(clientGroup, 'notEqual', group), ...ways, ...otherwise);
  });
  return { of: clientGroup, conditions, relations: [] };
}

/** botWeight is the sum over the signals that match; a client who is not new is a bot from the threshold on. */
function botDefinitions({ signals }: KnownRules, facts: FactsByName): readonly Definition[] {
  const botWeight = facts.plain('botWeight');
  const isBot = facts.plain('isBot');
  const matching = signals.rules.map((rule) => ({
    rule,
    matches: inner(signalFact(rule.name), YES_NO),
    weight: rule.params.weight,
  }));
  const reached = compare(botWeight, 'greaterThanInclusive', signals.threshold);
  return [
    {
      of: botWeight,
      conditions: matching.flatMap(({ rule, matches }) => matchesExactly(rule, matches)),
      relations: [{ kind: 'weight', signals: matching, total: botWeight }],
    },
    {
      of: isBot,
      conditions: [
        implies(facts.is('isBot', true), allOf(reached, facts.is('isNewClient', false))),
        implies(allOf(reached, facts.is('isNewClient', false)), facts.is('isBot', true)),
      ],
      relations: [],
    },
  ];
}

/** A signal that somebody may be held out of counts at most when it matches, the others exactly then. */
function matchesExactly({ condition, holdout }: Rule<SignalParams>, matches: FactRef): readonly Condition[] {
  const does = compare(matches, 'equal', true);
  return [implies(does, condition), ...(holdout === undefined ? [implies(condition, does)] : [])];
}

/** How a witness names whether a signal matches. */
export function signalFact(name: string): string {
  return `signal ${name}`;
}
