import type { FactValue, Sightings } from '../../facts/fact.ts';
import {
  type ConcludedFactRef,
  type Condition,
  compiled,
  type Matchable,
  type Matcher,
  type ParsedRules,
  type Rule,
  type RuleSet,
} from '../rule-set.ts';

/**
 * Turns the conditions of a rule set into plain functions over the values of a decision.
 * They agree with json-rules-engine on every rule that `parse` accepts (a property test holds them
 * equal) and cost nanoseconds, where the engine's own `run` costs microseconds a rule.
 */
export function compile(rules: ParsedRules, digest: string, released: boolean): RuleSet {
  return {
    ...rules,
    [compiled]: true,
    digest,
    released,
    blankRecord: Object.fromEntries(rules.facts.map(({ label }) => [label, false])),
    concludedFacts: concludedFacts(rules),
    sharingWindowsMs: { fingerprint: sharingWindows(rules, 'fingerprint'), ip: sharingWindows(rules, 'ip') },
    groups: { ...rules.groups, rules: rules.groups.rules.map(matchable) },
    signals: { ...rules.signals, rules: rules.signals.rules.map(matchable) },
    verdicts: { ...rules.verdicts, rules: rules.verdicts.rules.map(matchable) },
  };
}

function concludedFacts({ facts }: ParsedRules): readonly ConcludedFactRef[] {
  return facts.flatMap(({ fact, index }) => (fact.kind === 'concluded' ? [{ fact, index }] : []));
}

function sharingWindows({ facts }: ParsedRules, kind: keyof Sightings): readonly number[] {
  return facts
    .filter(({ fact }) => fact.kind === 'windowed' && fact.sharing === kind)
    .map(({ windowMs }) => windowMs);
}

function matchable<Params>(rule: Rule<Params>): Matchable<Params> {
  return { ...rule, matches: matcher(rule.condition) };
}

/** The function that says whether a condition holds. */
export function matcher(condition: Condition): Matcher {
  switch (condition.kind) {
    case 'all':
      return every(condition.conditions.map(matcher));
    case 'any':
      return some(condition.conditions.map(matcher));
    case 'not': {
      const inner = matcher(condition.condition);
      return (values) => !inner(values);
    }
    case 'reference':
      return matcher(condition.condition);
    case 'comparison':
      return comparison(condition);
    default:
      return condition satisfies never;
  }
}

function every(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (!matches(values)) return false;
    return true;
  };
}

function some(matchers: readonly Matcher[]): Matcher {
  return (values) => {
    for (const matches of matchers) if (matches(values)) return true;
    return false;
  };
}

function comparison({ fact, operator, value }: Extract<Condition, { kind: 'comparison' }>): Matcher {
  const { index } = fact;
  switch (operator) {
    case 'equal':
      return (values) => values[index] === value;
    case 'notEqual':
      return (values) => values[index] !== value;
    case 'in':
    case 'notIn': {
      const wanted = operator === 'in';
      const members = new Set<FactValue | undefined>(Array.isArray(value) ? value : []);
      return (values) => members.has(values[index]) === wanted;
    }
    case 'lessThan':
      return numeric(index, value, (seen, limit) => seen < limit);
    case 'lessThanInclusive':
      return numeric(index, value, (seen, limit) => seen <= limit);
    case 'greaterThan':
      return numeric(index, value, (seen, limit) => seen > limit);
    case 'greaterThanInclusive':
      return numeric(index, value, (seen, limit) => seen >= limit);
    default:
      return operator satisfies never;
  }
}

function numeric(
  index: number,
  limit: FactValue | readonly FactValue[],
  holds: (seen: number, limit: number) => boolean,
): Matcher {
  if (typeof limit !== 'number') return () => false;
  return (values) => {
    const seen = values[index];
    return typeof seen === 'number' && holds(seen, limit);
  };
}
