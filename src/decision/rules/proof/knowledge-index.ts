import { type Condition, type FactRef, listConditionFacts } from '#decision/rules/condition.ts';
import { listFactsOfRelation } from './formula.ts';
import type { Knowledge, Relation } from './knowledge.ts';

/** A single piece of knowledge about the facts. */
interface Piece {
  readonly conditions: readonly Condition[];
  readonly relations: readonly Relation[];
  readonly labels: readonly string[];
}

/** Finds the knowledge that matters to a question. */
export class KnowledgeByFact {
  readonly all: readonly Piece[];
  /** The pieces by the label of a fact. A question about the fact needs these pieces. */
  readonly #when = new Map<string, Piece[]>();

  constructor(knowledge: Knowledge) {
    this.all = [
      ...knowledge.conditions.map((condition) => this.#add([condition], [], null)),
      ...knowledge.relations.map((relation) => this.#add([], [relation], null)),
      ...knowledge.definitions.map(({ defined, conditions, relations }) =>
        this.#add(conditions, relations, defined),
      ),
    ];
  }

  /** Finds what is known about these facts, and about the facts that they depend on. */
  findAbout(asked: readonly string[]): {
    readonly labels: ReadonlySet<string>;
    readonly pieces: readonly Piece[];
  } {
    const labels = new Set(asked);
    const relevant = new Set<Piece>();
    // The loop over a set also visits members that are added during the loop.
    for (const label of labels) {
      for (const piece of this.#when.get(label) ?? []) {
        if (relevant.has(piece)) continue;
        relevant.add(piece);
        for (const other of piece.labels) labels.add(other);
      }
    }
    // The pieces keep their sequence, so that the same question is always searched in the same way.
    return { labels, pieces: this.all.filter((piece) => relevant.has(piece)) };
  }

  /**
   * Adds a piece. A definition matters only if a question asks for the defined fact. Other knowledge matters for each
   * of its facts.
   */
  #add(conditions: readonly Condition[], relations: readonly Relation[], defines: FactRef | null): Piece {
    const refs = [...listConditionFacts(conditions), ...relations.flatMap(listFactsOfRelation)];
    const labels = refs.map(({ label }) => label);
    const piece = { conditions, relations, labels };
    for (const label of defines === null ? new Set(labels) : [defines.label]) {
      this.#when.getOrInsertComputed(label, () => []).push(piece);
    }
    return piece;
  }
}
