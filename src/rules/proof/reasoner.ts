import type { FactDomain, FactValue } from '../../facts/fact.ts';
import { type Condition, comparisonsIn, type FactRef, factsNamed } from '../condition.ts';
import { domainOf } from './domain.ts';
import { contradict, type Formula, Formulas, type Numbered } from './formula.ts';
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

/** How much work a reasoner may do. A step costs about a tenth of a microsecond. */
export interface WorkLimits {
  readonly questionStepsMax: number;
  /** For all questions together; what is asked after that is undecided. */
  readonly totalStepsMax: number;
}

/** Enough for every rule set that people write: about a second at most. */
const PROOF_LIMITS: WorkLimits = { questionStepsMax: 1_000_000, totalStepsMax: 10_000_000 };

/** Answers whether conditions can hold together, given what is known about the facts. */
export class Reasoner {
  readonly #pieces: Pieces;
  readonly #questionStepsMax: number;
  readonly #facts = new Map<string, NamedFact>();
  readonly #labels = new Map<Condition, readonly string[]>();
  #numbered: Numbered | null = null;
  #formulas: Formulas | null = null;
  #stepsLeft: number;

  constructor(knowledge: Knowledge = NOTHING_KNOWN, limits: WorkLimits = PROOF_LIMITS) {
    this.#pieces = new Pieces(knowledge);
    this.#questionStepsMax = limits.questionStepsMax;
    this.#stepsLeft = limits.totalStepsMax;
    for (const { conditions, relations } of this.#pieces.all) {
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
    if (this.#stepsLeft <= 0) return { kind: 'undecided' };
    const asked = [...must, ...mustNot];
    this.prepare(asked);
    if (this.#numbered === null || this.#formulas === null) {
      this.#numbered = numberFacts(this.#facts);
      this.#formulas = new Formulas(this.#numbered);
    }
    const formulas = this.#formulas;
    const wanted = [
      ...must.map((item) => formulas.of(item)),
      ...mustNot.map((item) => formulas.negation(formulas.of(item))),
    ];
    this.#stepsLeft -= wanted.length;
    if (contradict(wanted)) return { kind: 'none' };
    return this.#search(this.#numbered, formulas, asked, wanted);
  }

  #search(
    numbered: Numbered,
    formulas: Formulas,
    asked: readonly Condition[],
    wanted: readonly Formula[],
  ): Answer {
    const labels = asked.flatMap((condition) => this.#labels.get(condition) ?? []);
    const relevant = this.#pieces.about(labels);
    const known = relevant.pieces.flatMap(({ conditions }) => conditions.map((item) => formulas.of(item)));
    const relations = relevant.pieces.flatMap((piece) => piece.relations);
    // To set a search up is work too, and more of it than many a search has.
    this.#stepsLeft -= numbered.domains.length + known.length + relations.length;
    const steps = Math.min(this.#questionStepsMax, Math.max(0, this.#stepsLeft));
    const search = new Search(numbered, relations, formulas, steps);
    const found = search.run(wanted, known);
    this.#stepsLeft -= search.stepsTaken;
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

/**
 * Numbers that are not whole are numbered by the constants they are compared with. Facts of one domain, as all
 * amounts are, share them, so that relations can compare the numbers of one with those of another.
 */
function sharedConstants(facts: readonly NamedFact[]): ReadonlyMap<FactDomain, ReadonlySet<FactValue>> {
  const shared = new Map<FactDomain, Set<FactValue>>();
  for (const { ref, constants } of facts) {
    const { domain } = ref.fact;
    if (domain.type !== 'number' || domain.integer) continue;
    shared.set(domain, (shared.get(domain) ?? new Set()).union(constants));
  }
  return shared;
}

function numberFacts(facts: ReadonlyMap<string, NamedFact>): Numbered {
  const all = [...facts.values()];
  const shared = sharedConstants(all);
  return {
    refs: all.map(({ ref }) => ref),
    domains: all.map(({ ref, constants }) => domainOf(ref, [...(shared.get(ref.fact.domain) ?? constants)])),
    indexOf: new Map([...facts.keys()].map((label, index) => [label, index])),
  };
}

/** One thing that is known about the facts, taken alone. */
interface Piece {
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
  /** The facts that it is about. */
  readonly labels: readonly string[];
}

/** Of all that is known, finds what matters to a question. */
class Pieces {
  readonly all: readonly Piece[];
  /** By the label of a fact: the pieces that matter as soon as it does. */
  readonly #when = new Map<string, Piece[]>();

  constructor(knowledge: Knowledge) {
    this.all = [
      ...knowledge.conditions.map((condition) => this.#add([condition], [], null)),
      ...knowledge.relations.map((relation) => this.#add([], [relation], null)),
      ...knowledge.definitions.map(({ of, conditions, relations }) => this.#add(conditions, relations, of)),
    ];
  }

  /** What touches one of these facts, and what that touches in turn. */
  about(asked: readonly string[]): {
    readonly labels: ReadonlySet<string>;
    readonly pieces: readonly Piece[];
  } {
    const labels = new Set(asked);
    const relevant = new Set<Piece>();
    // Iterating a set includes what is added to it meanwhile.
    for (const label of labels) {
      for (const piece of this.#when.get(label) ?? []) {
        if (relevant.has(piece)) continue;
        relevant.add(piece);
        for (const other of piece.labels) labels.add(other);
      }
    }
    // In the order in which they are known, so that the same question is searched in the same way.
    return { labels, pieces: this.all.filter((piece) => relevant.has(piece)) };
  }

  /** A definition, unlike other knowledge, only matters when somebody asks for what it defines. */
  #add(conditions: readonly Condition[], relations: readonly Relation[], defines: FactRef | null): Piece {
    const refs = [...factsNamed(conditions), ...relations.flatMap(relationRefs)];
    const labels = refs.map(({ label }) => label);
    const piece = { conditions, relations, labels };
    for (const label of defines === null ? new Set(labels) : [defines.label]) {
      const known = this.#when.get(label);
      if (known === undefined) this.#when.set(label, [piece]);
      else known.push(piece);
    }
    return piece;
  }
}
