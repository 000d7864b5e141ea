import { Engine, type EngineResult, type RuleProperties, type TopLevelCondition } from 'json-rules-engine';
import type { FactValue } from '../../facts/fact.ts';
import { formatDuration } from '../duration.ts';
import type { Condition, FactRef, Rule } from '../rule-set.ts';

/** The event of every rule in the engine: that it matched. Its name says which, its params what follows. */
const MATCHED = 'matched';

type EngineCondition = Extract<TopLevelCondition, { all: unknown }>['all'][number];

/**
 * A condition as json-rules-engine writes it. References stay references, so that a trace shows a named
 * condition by its name; `buildEngine` tells the engine what the names mean.
 */
export function toEngineConditions(condition: Condition): TopLevelCondition {
  switch (condition.kind) {
    case 'all':
      return { all: condition.conditions.map(toEngineCondition) };
    case 'any':
      return { any: condition.conditions.map(toEngineCondition) };
    case 'not':
      return { not: toEngineCondition(condition.condition) };
    case 'reference':
      return { condition: condition.name };
    case 'comparison':
      // The engine wants a boolean condition on top; `parse` refuses rules that are a bare comparison.
      return { all: [toEngineCondition(condition)] };
    default:
      return condition satisfies never;
  }
}

/**
 * An engine with the rules of one rule file and their named conditions, and without facts.
 *
 * It must run once only: two overlapping runs of one engine silently lose rules (the first to finish
 * makes the other skip its remaining priorities). Throws when the engine does not accept a rule.
 */
export function buildEngine(rules: readonly Rule<object>[]): Engine {
  const engine = new Engine(rules.map(engineRule), {
    allowUndefinedFacts: false,
    allowUndefinedConditions: false,
  });
  for (const rule of rules) defineConditions(engine, rule.condition);
  return engine;
}

/**
 * Lets json-rules-engine judge the rules of one file by the values of a decision, in a fresh engine.
 * `values` has one value for each of `facts`, as `Decision.facts` recorded them.
 */
export function runEngine(
  rules: readonly Rule<object>[],
  facts: readonly FactRef[],
  values: readonly FactValue[],
): Promise<EngineResult> {
  const engine = buildEngine(rules);
  const byLabel = new Map(facts.map(({ label, index }) => [label, values[index]]));
  for (const name of new Set(facts.map((ref) => ref.name))) {
    engine.addFact(name, ({ window }) => recordedValue(byLabel, name, window));
  }
  return engine.run();
}

function engineRule({ name, priority, condition, params }: Rule<object>): RuleProperties {
  return {
    name,
    priority,
    conditions: toEngineConditions(condition),
    event: { type: MATCHED, params: { ...params } },
  };
}

function toEngineCondition(condition: Condition): EngineCondition {
  if (condition.kind !== 'comparison') return toEngineConditions(condition);
  const { fact, operator, value } = condition;
  const params = fact.windowMs === 0 ? {} : { params: { window: formatDuration(fact.windowMs) } };
  return { fact: fact.name, operator, value, ...params };
}

/** Named conditions may refer to each other; `parse` refuses circles. */
function defineConditions(engine: Engine, condition: Condition): void {
  switch (condition.kind) {
    case 'all':
    case 'any':
      for (const part of condition.conditions) defineConditions(engine, part);
      return;
    case 'not':
      defineConditions(engine, condition.condition);
      return;
    case 'reference':
      engine.setCondition(condition.name, toEngineConditions(condition.condition));
      defineConditions(engine, condition.condition);
      return;
    case 'comparison':
      return;
    default:
      condition satisfies never;
  }
}

function recordedValue(
  values: ReadonlyMap<string, FactValue | undefined>,
  name: string,
  window: unknown,
): FactValue {
  const label = window === undefined ? name : `${name}(${window})`;
  const value = values.get(label);
  if (value === undefined) throw new Error(`the decision has no value for ${label}`);
  return value;
}
