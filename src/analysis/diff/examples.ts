import { setImmediate as pause } from 'node:timers/promises';
import type { ClientGroup } from '../../client/client-group.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import type { FactValue } from '../../facts/fact.ts';
import type { Condition, FactRef } from '../../rules/condition.ts';
import type { RuleSet, Verdict } from '../../rules/rule-set.ts';
import { type ExampleFacts, ordinaryFacts, possibleFacts, withFact } from './payer.ts';

/** What a rule set says to a payer with these facts. */
export interface ExampleAnswer {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly clientGroup: ClientGroup;
  readonly isBot: boolean;
}

/** A payer whom two rule sets answer differently. */
export interface DiffExample {
  /** By label, only what rules ask and the difference needs; all others are as of an ordinary first request. */
  readonly facts: ExampleFacts;
  readonly before: ExampleAnswer;
  readonly after: ExampleAnswer;
}

type Comparison = Extract<Condition, { kind: 'comparison' }>;

/** Enough to meet rare combinations, and still done in a second. */
const RANDOM_TRIES = 20_000;

const MOST_EXAMPLES = 10;

/**
 * Looks for facts on which two rule sets differ in verdict, group or bot flag, one example for each way
 * of differing. Candidates are built from the constants of both: what makes each rule match, then the values
 * around every boundary, then random combinations of them. A search, not a proof: finding none does not
 * mean that there is none.
 */
export function diffExamples(before: RuleSet, after: RuleSet): readonly DiffExample[] {
  const search = new ExampleSearch(before, after);
  for (const _tried of search.run());
  return search.found();
}

/** The longest that requests wait behind a search that goes on beside them. */
const SLICE_MS = 2;

/**
 * The same search beside other work, for at most `limitMs`: it pauses every few milliseconds, so that
 * requests are answered meanwhile. `searched` is false when time was up before everything was tried.
 */
export async function diffExamplesWithin(
  before: RuleSet,
  after: RuleSet,
  limitMs: number,
): Promise<{ readonly examples: readonly DiffExample[]; readonly searched: boolean }> {
  const search = new ExampleSearch(before, after);
  const end = performance.now() + limitMs;
  let sliceEnd = performance.now() + SLICE_MS;
  for (const _tried of search.run()) {
    const now = performance.now();
    if (now >= end) return { examples: search.found(), searched: false };
    if (now < sliceEnd) continue;
    await pause();
    sliceEnd = performance.now() + SLICE_MS;
  }
  return { examples: search.found(), searched: true };
}

class ExampleSearch {
  readonly #before: RuleSet;
  readonly #after: RuleSet;
  readonly #facts: ReadonlyMap<string, FactRef>;
  /** The values worth trying, by label. */
  readonly #values: ReadonlyMap<string, readonly FactValue[]>;
  readonly #ordinary: ExampleFacts;
  readonly #found = new Map<string, DiffExample>();

  constructor(before: RuleSet, after: RuleSet) {
    this.#before = before;
    this.#after = after;
    const comparisons = [...comparisonsOf(before), ...comparisonsOf(after)];
    this.#facts = new Map([...before.facts, ...after.facts].map((fact) => [fact.label, fact]));
    this.#values = boundaryValues(comparisons);
    this.#ordinary = ordinaryFacts([...this.#facts.values()], before.settings);
  }

  /** Yields after every try, so that the caller may pause or stop. */
  *run(): Generator<void> {
    const seeds = [this.#ordinary, ...this.#matchingFacts()];
    for (const seed of seeds) yield this.#try(seed);
    for (const seed of seeds) yield* this.#tryNeighbours(seed);
    yield* this.#tryAtRandom(seeds);
  }

  /** What was found so far, the simplest first. */
  found(): readonly DiffExample[] {
    return [...this.#found.values()]
      .toSorted((a, b) => Object.keys(a.facts).length - Object.keys(b.facts).length)
      .slice(0, MOST_EXAMPLES);
  }

  /** For each rule of both, facts that ought to make it match. */
  #matchingFacts(): readonly ExampleFacts[] {
    return [this.#before, this.#after].flatMap(({ groups, signals, verdicts }) =>
      [...groups.rules, ...signals.rules, ...verdicts.rules].map(({ condition }) =>
        Object.entries(satisfying(condition, true)).reduce(
          (facts, [label, value]) => this.#with(facts, label, value),
          this.#ordinary,
        ),
      ),
    );
  }

  *#tryNeighbours(seed: ExampleFacts): Generator<void> {
    for (const [label, values] of this.#values) {
      for (const value of values) yield this.#try(this.#with(seed, label, value));
    }
  }

  /** The same numbers every time, so that the same two versions always show the same examples. */
  *#tryAtRandom(seeds: readonly ExampleFacts[]): Generator<void> {
    let state = 1;
    const below = (limit: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return Math.floor((state / 0x80000000) * limit);
    };
    const labels = [...this.#values.keys()];
    for (let tries = 0; tries < RANDOM_TRIES && labels.length > 0; tries++) {
      let facts = seeds[below(seeds.length)] ?? this.#ordinary;
      for (let changes = 1 + below(4); changes > 0; changes--) {
        const label = labels[below(labels.length)] ?? '';
        const values = this.#values.get(label) ?? [];
        facts = this.#with(facts, label, values[below(values.length)] ?? false);
      }
      yield this.#try(facts);
    }
  }

  #try(wanted: ExampleFacts): void {
    const facts = this.#possible(wanted);
    const difference = this.#difference(facts);
    if (difference === null || this.#found.has(difference.key)) return;
    const fewest = this.#withoutNeedless(facts, difference.key);
    const answers = this.#difference(fewest) ?? difference;
    this.#found.set(difference.key, {
      facts: this.#unlikeOrdinary(fewest),
      before: answers.before,
      after: answers.after,
    });
  }

  /** Null when both answer alike; the key says what differs, and nothing of what does not. */
  #difference(facts: ExampleFacts) {
    const before = answer(this.#before, facts);
    const after = answer(this.#after, facts);
    const key = [
      ...(before.verdict === after.verdict ? [] : [before.verdict, before.rule, after.verdict, after.rule]),
      ...(before.clientGroup === after.clientGroup ? [] : [before.clientGroup, after.clientGroup]),
      ...(before.isBot === after.isBot ? [] : [before.isBot ? 'a bot no more' : 'now a bot']),
    ].join(' ');
    return key === '' ? null : { before, after, key };
  }

  /** Puts back to ordinary, one by one, whatever the difference does not need. */
  #withoutNeedless(facts: ExampleFacts, key: string): ExampleFacts {
    let fewest = facts;
    for (const label of Object.keys(this.#unlikeOrdinary(facts))) {
      const fewer = this.#possible({ ...fewest, [label]: this.#ordinary[label] ?? false });
      const less = Object.keys(this.#unlikeOrdinary(fewer)).length;
      if (less >= Object.keys(this.#unlikeOrdinary(fewest)).length) continue;
      if (this.#difference(fewer)?.key === key) fewest = fewer;
    }
    return fewest;
  }

  #with(facts: ExampleFacts, label: string, value: FactValue): ExampleFacts {
    return withFact(facts, label, value, this.#before.settings);
  }

  #possible(facts: ExampleFacts): ExampleFacts {
    return possibleFacts(facts, [...this.#facts.values()], this.#before.settings);
  }

  #unlikeOrdinary(facts: ExampleFacts): ExampleFacts {
    return Object.fromEntries(
      Object.entries(facts).filter(
        ([label, value]) => value !== this.#ordinary[label] && this.#values.has(label),
      ),
    );
  }
}

function answer(rules: RuleSet, facts: ExampleFacts): ExampleAnswer {
  const own = possibleFacts(facts, rules.facts, rules.settings);
  const values = rules.facts.map(({ label }): FactValue => own[label] ?? false);
  const { values: concluded, clientGroup, isBot } = conclude(rules, values, false);
  const { rule, params } = verdictRule(rules, concluded);
  return { verdict: params.verdict, rule, clientGroup, isBot };
}

function comparisonsOf({ groups, signals, verdicts }: RuleSet): readonly Comparison[] {
  return [...groups.rules, ...signals.rules, ...verdicts.rules].flatMap(({ condition }) =>
    comparisonsIn(condition),
  );
}

function comparisonsIn(condition: Condition): readonly Comparison[] {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return condition.conditions.flatMap(comparisonsIn);
    case 'not':
    case 'reference':
      return comparisonsIn(condition.condition);
    case 'comparison':
      return [condition];
    default:
      return condition satisfies never;
  }
}

function boundaryValues(comparisons: readonly Comparison[]): ReadonlyMap<string, readonly FactValue[]> {
  const found = new Map<string, Set<FactValue>>();
  for (const comparison of comparisons) {
    const { fact } = comparison;
    if (fact.fact.kind === 'concluded') continue;
    const values = found.get(fact.label) ?? new Set();
    for (const value of valuesAround(comparison)) values.add(value);
    found.set(fact.label, values);
  }
  return new Map([...found].map(([label, values]) => [label, [...values]]));
}

/** The constants of a comparison, and what lies just below and above them. */
function valuesAround({ fact, value }: Comparison): readonly FactValue[] {
  const { domain } = fact.fact;
  const constants = typeof value === 'object' ? value : [value];
  switch (domain.type) {
    case 'boolean':
      return [true, false];
    case 'enum':
      return domain.values;
    case 'text':
      return [...constants, 'another'];
    case 'number': {
      const step = domain.integer ? 1 : 0.01;
      return constants
        .flatMap((constant) =>
          typeof constant === 'number' ? [constant - step, constant, constant + step] : [],
        )
        .map((near) => Math.round(near * 10_000) / 10_000)
        .filter((near) => near >= domain.min && near <= domain.max);
    }
    default:
      return domain satisfies never;
  }
}

/** Facts under which a condition comes out as `wanted`, part by part; parts may contradict each other. */
function satisfying(condition: Condition, wanted: boolean): ExampleFacts {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const parts = condition.conditions.map((inner) => satisfying(inner, wanted));
      // One part is enough for "any" to hold and for "all" to fail.
      return (condition.kind === 'all') === wanted ? Object.assign({}, ...parts) : (parts[0] ?? {});
    }
    case 'not':
      return satisfying(condition.condition, !wanted);
    case 'reference':
      return satisfying(condition.condition, wanted);
    case 'comparison':
      return satisfyingComparison(condition, wanted);
    default:
      return condition satisfies never;
  }
}

function satisfyingComparison(comparison: Comparison, wanted: boolean): ExampleFacts {
  const { fact } = comparison;
  if (fact.fact.kind === 'concluded') return {};
  const value = valuesAround(comparison).find((candidate) => holds(comparison, candidate) === wanted);
  return value === undefined ? {} : { [fact.label]: value };
}

function holds({ operator, value }: Comparison, seen: FactValue): boolean {
  switch (operator) {
    case 'equal':
      return seen === value;
    case 'notEqual':
      return seen !== value;
    case 'in':
      return typeof value === 'object' && value.includes(seen);
    case 'notIn':
      return typeof value === 'object' && !value.includes(seen);
    case 'lessThan':
      return seen < value;
    case 'lessThanInclusive':
      return seen <= value;
    case 'greaterThan':
      return seen > value;
    case 'greaterThanInclusive':
      return seen >= value;
    default:
      return operator satisfies never;
  }
}
