import { Engine, Rule as EngineRule, Fact, type TopLevelCondition } from 'json-rules-engine';
import { formatDuration } from '#base/duration.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import {
  type Condition,
  type ExpectedConstants,
  type FactRef,
  foldCondition,
  isFactRef,
  mapNamedConditions,
  OPERATOR_NAMES,
  type OperatorName,
  type RuleConditionFold,
} from '#decision/rules/condition.ts';
import {
  createComparisonMatcher,
  createPairMatcher,
  type Matcher,
  matchEvery,
  matchSome,
} from '#decision/rules/matcher.ts';
import { createTest } from '#decision/rules/operators.ts';
import type { LoadedEngine, Rule } from '#decision/rules/rule-set.ts';

/**
 * The event type of every rule in the engine. The rule's name says which rule matched, and the params say what the
 * rule concludes.
 */
const MATCHED_EVENT = 'matched';

type EngineCondition = Extract<TopLevelCondition, { all: unknown }>['all'][number];

/** Writes a condition in the form of json-rules-engine. */
const ENGINE_CONDITION: RuleConditionFold<EngineCondition> = {
  group: (kind, parts) => (kind === 'all' ? { all: [...parts] } : { any: [...parts] }),
  not: (part) => ({ not: part }),
  reference: (name) => ({ condition: name }),
  comparison: ({ fact, operator, value }) => {
    const expected = isFactRef(value) ? { fact: value.name, ...toEngineParams(value) } : value;
    return { fact: fact.name, operator, value: expected, ...toEngineParams(fact) };
  },
};

function toEngineParams({ windowMs, list, attribute }: FactRef): {
  readonly params?: Readonly<Record<string, string>>;
} {
  if (list !== undefined) return { params: { list } };
  const name = attribute === undefined ? {} : { name: attribute };
  const window = windowMs === 0 ? {} : { window: formatDuration(windowMs) };
  const params = { ...name, ...window };
  return Object.keys(params).length === 0 ? {} : { params };
}

/**
 * Writes the conditions of a rule in the form of json-rules-engine. References stay references, so that a trace shows
 * a named condition by its name. `RuleEngine` tells the engine which conditions the names stand for.
 */
export function toEngineConditions(condition: Condition): TopLevelCondition {
  const made = foldCondition(condition, ENGINE_CONDITION);
  // The engine needs a boolean condition at the top. `parseRuleSet` refuses a rule that is a bare comparison.
  return 'operator' in made ? { all: [made] } : made;
}

/**
 * The rules of one rule file in json-rules-engine, with the operators of this service. `getMatcher` makes functions of
 * its rules and conditions, for answers that cannot wait for the engine's scheduler. `evaluateRules` runs the engine
 * itself. Throws when the engine does not accept a rule.
 */
export class RuleEngine implements LoadedEngine {
  readonly #rules: ReadonlyMap<string, EngineRule>;
  readonly #compiler: ConditionCompiler;
  readonly #engine = new Engine([], { allowUndefinedFacts: false, allowUndefinedConditions: false });
  readonly #facts: readonly FactRef[];
  #running: Promise<unknown> = Promise.resolve();

  /** `facts` are the facts of the rule set, in the sequence of the values of a decision. */
  constructor(rules: readonly Rule<object>[], facts: readonly FactRef[]) {
    this.#facts = facts;
    for (const operator of OPERATOR_NAMES)
      this.#engine.addOperator(operator, (seen: NullableFactValue, expected: ExpectedConstants | null) =>
        createTest(operator, expected)(seen),
      );
    const named = new Map<string, TopLevelCondition>();
    for (const [name, condition] of mapNamedConditions(rules.map((rule) => rule.condition))) {
      const conditions = toEngineConditions(condition);
      named.set(name, conditions);
      this.#engine.setCondition(name, conditions);
    }
    const loaded = rules.map(toEngineRule);
    for (const rule of loaded) this.#engine.addRule(rule);
    this.#rules = new Map(loaded.map((rule) => [rule.name, rule]));
    this.#compiler = new ConditionCompiler(named, facts);
  }

  /** Creates the function that tells whether the rule of this name matches. */
  getMatcher(name: string): Matcher {
    const rule = this.#rules.get(name);
    if (rule === undefined) throw new Error(`there is no rule ${name}`);
    return this.#compiler.compile(rule.conditions);
  }

  /**
   * Runs the engine, and returns for each rule by name whether it matches. Runs wait for each other. If two runs
   * overlapped, the first to finish would make the other one skip its remaining priorities.
   */
  async evaluateRules(values: readonly NullableFactValue[]): Promise<ReadonlyMap<string, boolean>> {
    const run = this.#running.then(() => this.#engine.run(this.#toEngineFacts(values)));
    this.#running = run.catch(() => {});
    const { results, failureResults } = await run;
    return new Map([
      ...results.map(({ name }) => [name, true] as const),
      ...failureResults.map(({ name }) => [name, false] as const),
    ]);
  }

  #toEngineFacts(values: readonly NullableFactValue[]): Readonly<Record<string, Fact>> {
    const byLabel = new Map(this.#facts.map(({ label, index }) => [label, values[index]]));
    const names = [...new Set(this.#facts.map(({ name }) => name))];
    return Object.fromEntries(
      names.map((name) => [
        name,
        new Fact(name, (params) => getRecordedValue(byLabel, formatEngineLabel(name, params))),
      ]),
    );
  }
}

/** Makes functions of the conditions in the form of json-rules-engine. */
class ConditionCompiler {
  readonly #named: ReadonlyMap<string, TopLevelCondition>;
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #made = new Map<string, Matcher>();

  constructor(named: ReadonlyMap<string, TopLevelCondition>, facts: readonly FactRef[]) {
    this.#named = named;
    this.#indexes = new Map(facts.map(({ label, index }) => [label, index]));
  }

  compile(condition: EngineCondition): Matcher {
    if ('all' in condition) return matchEvery(condition.all.map((part) => this.compile(part)));
    if ('any' in condition) return matchSome(condition.any.map((part) => this.compile(part)));
    if ('condition' in condition) return this.#getNamedMatcher(condition.condition);
    if ('not' in condition) {
      const part = this.compile(condition.not);
      return (values) => !part(values);
    }
    const { fact, params, operator, value } = condition;
    const index = this.#findIndex(fact, params);
    if (isOtherFact(value))
      return createPairMatcher(index, parseOperator(operator), this.#findIndex(value.fact, value.params));
    return createComparisonMatcher(index, parseOperator(operator), value);
  }

  /** Makes the function of a named condition once, even when several rules refer to it. */
  #getNamedMatcher(name: string): Matcher {
    const condition = this.#named.get(name);
    if (condition === undefined) throw new Error(`there is no condition ${name}`);
    return this.#made.getOrInsertComputed(name, () => this.compile(condition));
  }

  #findIndex(fact: string, params: EngineParams | undefined): number {
    const index = this.#indexes.get(formatEngineLabel(fact, params));
    if (index === undefined) throw new Error(`the rule set has no fact ${formatEngineLabel(fact, params)}`);
    return index;
  }
}

type EngineParams = Readonly<Record<string, string>>;

/** Writes the label of a fact from the params with which a rule asks for the fact. */
function formatEngineLabel(fact: string, { list, name, window }: EngineParams = {}): string {
  const params = [list, name, window].filter((param) => param !== undefined);
  return params.length === 0 ? fact : `${fact}(${params.join(' ')})`;
}

function isOtherFact(value: unknown): value is { readonly fact: string; readonly params?: EngineParams } {
  return typeof value === 'object' && value !== null && 'fact' in value;
}

function parseOperator(name: string): OperatorName {
  const operator = OPERATOR_NAMES.find((one) => one === name);
  if (operator === undefined) throw new Error(`there is no operator ${name}`);
  return operator;
}

function toEngineRule({ name, priority, condition, params }: Rule<object>): EngineRule {
  return new EngineRule({
    name,
    priority,
    conditions: toEngineConditions(condition),
    event: { type: MATCHED_EVENT, params: { ...params } },
  });
}

function getRecordedValue(
  values: ReadonlyMap<string, NullableFactValue | undefined>,
  label: string,
): NullableFactValue {
  const value = values.get(label);
  if (value === undefined) throw new Error(`the decision has no value for ${label}`);
  return value;
}
