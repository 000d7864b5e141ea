import { Engine, type EngineResult, type RuleProperties, type TopLevelCondition } from 'json-rules-engine';
import type { FactValue } from '../../facts/fact.ts';
import { type Condition, type FactRef, type FoldOf, foldCondition, namedConditions } from '../condition.ts';
import { formatDuration } from '../duration.ts';
import type { Rule } from '../rule-set.ts';

/** The event of every rule in the engine: that it matched. Its name says which, its params what follows. */
const MATCHED = 'matched';

type EngineCondition = Extract<TopLevelCondition, { all: unknown }>['all'][number];

/** A condition as json-rules-engine writes it. */
const ENGINE_CONDITION: FoldOf<EngineCondition> = {
  group: (kind, parts) => (kind === 'all' ? { all: [...parts] } : { any: [...parts] }),
  not: (part) => ({ not: part }),
  reference: (name) => ({ condition: name }),
  comparison: ({ fact, operator, value }) => {
    return { fact: fact.name, operator, value, ...engineParams(fact) };
  },
};

function engineParams({ windowMs, list }: FactRef): { readonly params?: Readonly<Record<string, string>> } {
  if (list !== undefined) return { params: { list } };
  return windowMs === 0 ? {} : { params: { window: formatDuration(windowMs) } };
}

/**
 * The conditions of a rule as json-rules-engine writes them. References stay references, so that a trace
 * shows a named condition by its name; `buildEngine` tells the engine what the names mean.
 */
export function toEngineConditions(condition: Condition): TopLevelCondition {
  const made = foldCondition(condition, ENGINE_CONDITION);
  // The engine wants a boolean condition on top; `parse` refuses rules that are a bare comparison.
  return 'operator' in made ? { all: [made] } : made;
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
  for (const [name, condition] of namedConditions(rules.map((rule) => rule.condition))) {
    engine.setCondition(name, toEngineConditions(condition));
  }
  return engine;
}

/**
 * Runs the rules of one file over the values of a decision in json-rules-engine, in a fresh engine. `values` has one
 * value for each of `facts`, as `Decision.facts` recorded them.
 */
export function runEngine(
  rules: readonly Rule<object>[],
  facts: readonly FactRef[],
  values: readonly FactValue[],
): Promise<EngineResult> {
  const engine = buildEngine(rules);
  const byLabel = new Map(facts.map(({ label, index }) => [label, values[index]]));
  for (const name of new Set(facts.map((ref) => ref.name))) {
    engine.addFact(name, ({ window, list }) => recordedValue(byLabel, name, window ?? list));
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

function recordedValue(
  values: ReadonlyMap<string, FactValue | undefined>,
  name: string,
  parameter: unknown,
): FactValue {
  const label = parameter === undefined ? name : `${name}(${parameter})`;
  const value = values.get(label);
  if (value === undefined) throw new Error(`the decision has no value for ${label}`);
  return value;
}
