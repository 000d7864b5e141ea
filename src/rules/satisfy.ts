import type { FactValue } from '../facts/fact.ts';
import { type Domain, domainOf } from './domain.ts';
import { Formulas, type Numbered } from './formula.ts';
import { relationRefs } from './propagate.ts';
import { type Knowledge, NOTHING_KNOWN, type Relation } from './relations.ts';
import type { Condition, FactRef } from './rule-set.ts';
import { Search } from './search.ts';
import { lowest } from './spans.ts';

/**
 * Facts by label for which everything asked for holds; or none, which is proved; or undecided, when the
 * search took longer than it may.
 */
export type Answer =
  | { readonly kind: 'witness'; readonly facts: ReadonlyMap<string, FactValue> }
  | { readonly kind: 'none' }
  | { readonly kind: 'undecided' };

/** Steps of a search, each a few dozen nanoseconds. */
const STEPS_PER_QUESTION = 1_000_000;
const STEPS_IN_ALL = 10_000_000;

/** Answers whether conditions can hold together, given what is known about the facts. */
export class Reasoner {
  readonly #knowledge: Knowledge;
  readonly #stepsPerQuestion: number;
  #stepsLeft: number;

  constructor(knowledge: Knowledge = NOTHING_KNOWN, stepsPerQuestion: number = STEPS_PER_QUESTION) {
    this.#knowledge = knowledge;
    this.#stepsPerQuestion = stepsPerQuestion;
    this.#stepsLeft = STEPS_IN_ALL;
  }

  /** Facts for which all of `must` hold and none of `mustNot`. */
  find(must: readonly Condition[], mustNot: readonly Condition[] = []): Answer {
    const asked = [...must, ...mustNot];
    const relevant = relevantKnowledge(asked, this.#knowledge);
    const facts = collectFacts([...asked, ...relevant.conditions]);
    for (const ref of relevant.relations.flatMap(relationRefs)) noteFact(facts, ref);
    const numbered = numberFacts(facts);
    const steps = Math.min(this.#stepsPerQuestion, this.#stepsLeft);
    const formulas = new Formulas(numbered);
    const search = new Search(numbered, relevant.relations, formulas, steps);
    const found = search.run(
      [...must.map((item) => formulas.of(item, true)), ...mustNot.map((item) => formulas.of(item, false))],
      relevant.conditions.map((item) => formulas.of(item, true)),
    );
    this.#stepsLeft = Math.max(0, this.#stepsLeft - search.stepsTaken);
    if (found === 'none' || found === 'undecided') return { kind: found };
    const values = numbered.refs.map((ref, index): [string, FactValue] => [
      ref.label,
      domainAt(numbered.domains, index).value(lowest(found[index] ?? [])),
    ]);
    return { kind: 'witness', facts: new Map(values) };
  }
}

/** The facts that conditions name, in the order of their first mention. */
export function factsNamed(conditions: readonly Condition[]): readonly FactRef[] {
  return [...collectFacts(conditions).values()].map(({ ref }) => ref);
}

interface NamedFact {
  readonly ref: FactRef;
  readonly constants: FactValue[];
}

function collectFacts(conditions: readonly Condition[]): Map<string, NamedFact> {
  const facts = new Map<string, NamedFact>();
  const seen = new Set<Condition>();
  const visit = (condition: Condition): void => {
    if (seen.has(condition)) return;
    seen.add(condition);
    switch (condition.kind) {
      case 'all':
      case 'any':
        for (const part of condition.conditions) visit(part);
        return;
      case 'not':
      case 'reference':
        visit(condition.condition);
        return;
      case 'comparison': {
        const { value } = condition;
        noteFact(facts, condition.fact).constants.push(...(typeof value === 'object' ? value : [value]));
        return;
      }
      default:
        condition satisfies never;
    }
  };
  for (const condition of conditions) visit(condition);
  return facts;
}

function noteFact(facts: Map<string, NamedFact>, ref: FactRef): NamedFact {
  const known = facts.get(ref.label);
  if (known !== undefined) return known;
  const named = { ref, constants: [] };
  facts.set(ref.label, named);
  return named;
}

function numberFacts(facts: ReadonlyMap<string, NamedFact>): Numbered {
  const all = [...facts.values()];
  return {
    refs: all.map(({ ref }) => ref),
    domains: all.map(({ ref, constants }) => domainOf(ref, constants)),
    indexOf: new Map([...facts.keys()].map((label, index) => [label, index])),
  };
}

function domainAt(domains: readonly Domain[], index: number): Domain {
  const domain = domains[index];
  if (domain === undefined) throw new Error(`there is no fact with number ${index}`);
  return domain;
}

/**
 * What is known about the facts in question: each thing that touches one of them, and what that touches
 * in turn. Definitions only add facts when the defined one is asked for.
 */
function relevantKnowledge(
  asked: readonly Condition[],
  knowledge: Knowledge,
): Pick<Knowledge, 'conditions' | 'relations'> {
  const labels = new Set(factsNamed(asked).map(({ label }) => label));
  const conditions: Condition[] = [];
  const relations: Relation[] = [];
  const open = new Set([
    ...knowledge.conditions.map((condition) => piece([condition], [], null)),
    ...knowledge.relations.map((relation) => piece([], [relation], null)),
    ...knowledge.definitions.map(({ of, ...defined }) => piece(defined.conditions, defined.relations, of)),
  ]);
  for (let grows = true; grows; ) {
    grows = false;
    for (const candidate of open) {
      if (!candidate.when.some((label) => labels.has(label))) continue;
      open.delete(candidate);
      grows = true;
      for (const label of candidate.labels) labels.add(label);
      conditions.push(...candidate.conditions);
      relations.push(...candidate.relations);
    }
  }
  return { conditions, relations };
}

interface Piece {
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
  readonly labels: readonly string[];
  /** It matters as soon as one of these facts does. */
  readonly when: readonly string[];
}

function piece(conditions: readonly Condition[], relations: readonly Relation[], of: FactRef | null): Piece {
  const refs = [...factsNamed(conditions), ...relations.flatMap(relationRefs)];
  const labels = refs.map(({ label }) => label);
  return { conditions, relations, labels, when: of === null ? labels : [of.label] };
}
