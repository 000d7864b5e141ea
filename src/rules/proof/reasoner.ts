import type { FactValue } from '../../facts/fact.ts';
import { type Condition, comparisonsIn, type FactRef, factsNamed } from '../condition.ts';
import { domainOf } from './domain.ts';
import { Formulas, type Numbered } from './formula.ts';
import { relationRefs } from './propagate.ts';
import { type Knowledge, NOTHING_KNOWN, type Relation } from './relations.ts';
import { Search } from './search.ts';
import { lowest, type Spans } from './spans.ts';

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
  readonly #pieces: readonly Piece[];
  readonly #stepsPerQuestion: number;
  readonly #facts = new Map<string, NamedFact>();
  readonly #labels = new Map<Condition, readonly string[]>();
  #numbered: Numbered | null = null;
  #formulas: Formulas | null = null;
  #stepsLeft: number;

  constructor(knowledge: Knowledge = NOTHING_KNOWN, stepsPerQuestion: number = STEPS_PER_QUESTION) {
    this.#pieces = piecesOf(knowledge);
    this.#stepsPerQuestion = stepsPerQuestion;
    this.#stepsLeft = STEPS_IN_ALL;
    for (const { conditions, relations } of this.#pieces) {
      this.prepare(conditions);
      for (const ref of relations.flatMap(relationRefs)) noteFact(this.#facts, ref);
    }
  }

  /** Reads conditions that will be asked about: many questions are answered faster when all were read before. */
  prepare(conditions: readonly Condition[]): void {
    for (const condition of conditions) {
      if (this.#labels.has(condition)) continue;
      const facts = collectFacts(condition);
      this.#labels.set(condition, [...facts.keys()]);
      for (const { ref, constants } of facts.values()) {
        const known = noteFact(this.#facts, ref);
        for (const constant of constants) known.constants.add(constant);
      }
      // The numbers of values depend on what conditions compare them with.
      this.#numbered = null;
    }
  }

  /** Facts for which all of `must` hold and none of `mustNot`. */
  find(must: readonly Condition[], mustNot: readonly Condition[] = []): Answer {
    const asked = [...must, ...mustNot];
    this.prepare(asked);
    if (this.#numbered === null || this.#formulas === null) {
      this.#numbered = numberFacts(this.#facts);
      this.#formulas = new Formulas(this.#numbered);
    }
    const numbered = this.#numbered;
    const formulas = this.#formulas;
    const relevant = relevantPieces(
      asked.flatMap((condition) => this.#labels.get(condition) ?? []),
      this.#pieces,
    );
    const steps = Math.min(this.#stepsPerQuestion, this.#stepsLeft);
    const relations = relevant.pieces.flatMap((piece) => piece.relations);
    const search = new Search(numbered, relations, formulas, steps);
    const found = search.run(
      [
        ...must.map((item) => formulas.of(item)),
        ...mustNot.map((item) => formulas.negation(formulas.of(item))),
      ],
      relevant.pieces.flatMap(({ conditions }) => conditions.map((item) => formulas.of(item))),
    );
    this.#stepsLeft = Math.max(0, this.#stepsLeft - search.stepsTaken);
    if (found === 'none' || found === 'undecided') return { kind: found };
    return { kind: 'witness', facts: valuesOf(relevant.labels, numbered, found) };
  }
}

function valuesOf(
  labels: ReadonlySet<string>,
  { domains, indexOf }: Numbered,
  left: readonly Spans[],
): ReadonlyMap<string, FactValue> {
  const values = new Map<string, FactValue>();
  for (const label of labels) {
    const index = indexOf.get(label) ?? -1;
    const domain = domains[index];
    if (domain !== undefined) values.set(label, domain.value(lowest(left[index] ?? [])));
  }
  return values;
}

interface NamedFact {
  readonly ref: FactRef;
  readonly constants: Set<FactValue>;
}

function collectFacts(condition: Condition): Map<string, NamedFact> {
  const facts = new Map<string, NamedFact>();
  for (const { fact, value } of comparisonsIn([condition])) {
    const { constants } = noteFact(facts, fact);
    for (const constant of typeof value === 'object' ? value : [value]) constants.add(constant);
  }
  return facts;
}

function noteFact(facts: Map<string, NamedFact>, ref: FactRef): NamedFact {
  const known = facts.get(ref.label);
  if (known !== undefined) return known;
  const named = { ref, constants: new Set<FactValue>() };
  facts.set(ref.label, named);
  return named;
}

function numberFacts(facts: ReadonlyMap<string, NamedFact>): Numbered {
  const all = [...facts.values()];
  return {
    refs: all.map(({ ref }) => ref),
    domains: all.map(({ ref, constants }) => domainOf(ref, [...constants])),
    indexOf: new Map([...facts.keys()].map((label, index) => [label, index])),
  };
}

interface Piece {
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
  readonly labels: readonly string[];
  /** It matters as soon as one of these facts does. */
  readonly when: readonly string[];
}

/** Each thing that is known, by itself. Definitions only matter when somebody asks for what they define. */
function piecesOf(knowledge: Knowledge): readonly Piece[] {
  return [
    ...knowledge.conditions.map((condition) => piece([condition], [], null)),
    ...knowledge.relations.map((relation) => piece([], [relation], null)),
    ...knowledge.definitions.map(({ of, ...defined }) => piece(defined.conditions, defined.relations, of)),
  ];
}

function piece(conditions: readonly Condition[], relations: readonly Relation[], of: FactRef | null): Piece {
  const refs = [...factsNamed(conditions), ...relations.flatMap(relationRefs)];
  const labels = refs.map(({ label }) => label);
  return { conditions, relations, labels, when: of === null ? labels : [of.label] };
}

/** What is known about the facts in question: what touches one of them, and what that touches in turn. */
function relevantPieces(
  asked: readonly string[],
  pieces: readonly Piece[],
): { readonly labels: ReadonlySet<string>; readonly pieces: readonly Piece[] } {
  const labels = new Set(asked);
  const relevant = new Set<Piece>();
  for (let grows = true; grows; ) {
    grows = false;
    for (const candidate of pieces) {
      if (relevant.has(candidate) || !candidate.when.some((label) => labels.has(label))) continue;
      relevant.add(candidate);
      for (const label of candidate.labels) labels.add(label);
      grows = true;
    }
  }
  return { labels, pieces: [...relevant] };
}
