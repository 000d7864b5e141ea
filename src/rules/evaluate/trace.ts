import type { FactValue } from '../../facts/fact.ts';
import {
  type Condition,
  type ConditionTree,
  type Expected,
  type FactRef,
  foldCondition,
} from '../condition.ts';
import { matcher } from '../matcher.ts';
import type { OperatorName } from '../operators.ts';
import type { Location } from '../problem.ts';
import type { Matchable, RuleSet } from '../rule-set.ts';
import { runEngine } from './engine.ts';

/** A condition with what it saw: the tree that the analyst wrote, with values and places. */
export type ConditionTrace = ConditionTree<Judged, Seen>;

interface Judged {
  readonly passed: boolean;
  readonly at: Location;
}

interface Seen {
  /** `paidCount` or `verdicts(10m)`. */
  readonly fact: string;
  readonly operator: OperatorName;
  readonly expected: Expected;
  /** The list of the rule set that the expected values stand in. */
  readonly list?: string;
  readonly seen: FactValue;
}

export type ComparisonTrace = Extract<ConditionTrace, { kind: 'comparison' }>;

/** One rule with what it saw. */
export interface RuleTrace {
  readonly name: string;
  readonly description: string;
  readonly priority: number;
  readonly at: Location;
  /** What it gives when it matches: a group, a weight, a verdict. */
  readonly gives: string | number;
  /** False for a rule behind the first match: the decision did not depend on it. */
  readonly asked: boolean;
  /** Whether its conditions hold, asked or not. */
  readonly matched: boolean;
  /** The client is held out of it, so that it does not count although it matched. */
  readonly heldOut?: true;
  readonly condition: ConditionTrace;
}

export interface RuleSetTrace {
  readonly groups: readonly RuleTrace[];
  readonly signals: readonly RuleTrace[];
  readonly verdicts: readonly RuleTrace[];
}

/**
 * Every rule of a rule set over the values of one decision, its conclusions included, in the order in
 * which the rules are asked. Throws when json-rules-engine, whose language the rules are, and the
 * compiled rules disagree: that is a bug.
 */
export async function traceRuleSet(rules: RuleSet, values: readonly FactValue[]): Promise<RuleSetTrace> {
  const { groups, signals, verdicts, facts } = rules;
  const [groupTraces, signalTraces, verdictTraces] = await Promise.all([
    traceRules(groups.rules, facts, values, ({ group }) => group),
    traceRules(signals.rules, facts, values, ({ weight }) => weight),
    traceRules(verdicts.rules, facts, values, ({ verdict }) => verdict),
  ]);
  return {
    groups: untilFirstMatch(groupTraces),
    signals: signalTraces,
    verdicts: untilFirstMatch(verdictTraces),
  };
}

/** The rules of one file; each is taken as asked. */
async function traceRules<Params extends object>(
  rules: readonly Matchable<Params>[],
  facts: readonly FactRef[],
  values: readonly FactValue[],
  gives: (params: Params) => string | number,
): Promise<readonly RuleTrace[]> {
  const { results, failureResults } = await runEngine(rules, facts, values);
  const engineMatches = new Map([
    ...results.map(({ name }) => [name, true] as const),
    ...failureResults.map(({ name }) => [name, false] as const),
  ]);
  return rules.map((rule) => {
    const { name, description, priority, at } = rule;
    const matched = engineMatches.get(name);
    const condition = traceCondition(rule.condition, values);
    if (matched !== rule.matches(values) || matched !== condition.passed) {
      throw new Error(
        `json-rules-engine and the compiled rule "${name}" disagree: ${matched} and ${rule.matches(values)}`,
      );
    }
    return {
      name,
      description,
      priority,
      at,
      gives: gives(rule.params),
      asked: true,
      matched,
      condition,
    };
  });
}

/** A condition and all below it; nothing is skipped, so that every value can be shown. */
export function traceCondition(condition: Condition, values: readonly FactValue[]): ConditionTrace {
  const judged = (part: Condition): Judged => ({ passed: matcher(part)(values), at: part.at });
  return foldCondition(condition, {
    group: (kind, conditions, part): ConditionTrace => ({ kind, ...judged(part), conditions }),
    not: (inner, part) => ({ kind: 'not', ...judged(part), condition: inner }),
    reference: (name, inner, part) => ({ kind: 'reference', name, ...judged(part), condition: inner }),
    comparison: (comparison) => {
      const { fact, operator, value: expected, list } = comparison;
      const seen = valueSeen(fact, values);
      const named = list === undefined ? {} : { list };
      const judgement = { ...judged(comparison), fact: fact.label };
      return { kind: 'comparison', ...judgement, operator, expected, ...named, seen };
    },
  });
}

function untilFirstMatch(traces: readonly RuleTrace[]): readonly RuleTrace[] {
  const first = traces.findIndex(({ matched }) => matched);
  return first === -1 ? traces : traces.map((trace, index) => ({ ...trace, asked: index <= first }));
}

function valueSeen({ label, index }: FactRef, values: readonly FactValue[]): FactValue {
  const value = values[index];
  if (value === undefined) throw new Error(`the value of "${label}" is missing`);
  return value;
}
