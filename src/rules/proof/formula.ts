import { type Comparison, type Condition, type FactRef, type FoldOf, foldCondition } from '../condition.ts';
import type { Domain } from './domain.ts';
import { includes, intersect, type Spans, spansOf, without } from './spans.ts';

/** A condition as a search needs it: no "not", every comparison the set of numbers that it allows. */
export type Formula =
  | { readonly kind: 'within'; readonly index: number; readonly allowed: Spans }
  | { readonly kind: 'all'; readonly parts: readonly Formula[] }
  | { readonly kind: 'any'; readonly parts: readonly Formula[] };

/** The facts of a question, numbered, each with its domain. */
export interface Numbered {
  readonly refs: readonly FactRef[];
  readonly domains: readonly Domain[];
  readonly indexOf: ReadonlyMap<string, number>;
}

export const ALWAYS: Formula = { kind: 'all', parts: [] };
export const NEVER: Formula = { kind: 'any', parts: [] };

/** Makes formulas of conditions; a condition that is used twice gives one formula. */
export class Formulas {
  readonly #facts: Numbered;
  readonly #made = new Map<Condition, Formula>();
  readonly #negations = new Map<Formula, Formula>();
  readonly #fold: FoldOf<Formula> = {
    group: (kind, parts) => this.#joined(kind, parts),
    not: (part) => this.negation(part),
    reference: (_name, part) => part,
    comparison: (comparison) => this.#comparison(comparison),
  };

  constructor(facts: Numbered) {
    this.#facts = facts;
  }

  /** That the condition holds. */
  of(condition: Condition): Formula {
    return foldCondition(condition, this.#fold, this.#made);
  }

  /** That the formula does not hold. */
  negation(formula: Formula): Formula {
    const known = this.#negations.get(formula);
    if (known !== undefined) return known;
    const negation = this.#negate(formula);
    this.#negations.set(formula, negation);
    return negation;
  }

  #comparison({ fact, operator, value }: Comparison): Formula {
    const index = this.#facts.indexOf.get(fact.label);
    const domain = index === undefined ? undefined : this.#facts.domains[index];
    if (index === undefined || domain === undefined) throw new Error(`the fact ${fact.label} has no number`);
    return this.#within(index, domain.where(operator, value));
  }

  #negate(formula: Formula): Formula {
    switch (formula.kind) {
      case 'within':
        return this.#within(formula.index, without(this.#all(formula.index), formula.allowed));
      case 'all':
      case 'any': {
        const parts = formula.parts.map((part) => this.negation(part));
        return this.#joined(formula.kind === 'all' ? 'any' : 'all', parts);
      }
      default:
        return formula satisfies never;
    }
  }

  #all(index: number): Spans {
    return this.#facts.domains[index]?.all ?? [];
  }

  #within(index: number, allowed: Spans): Formula {
    if (allowed.length === 0) return NEVER;
    return includes(allowed, this.#all(index)) ? ALWAYS : { kind: 'within', index, allowed };
  }

  /** Parts of one fact become one part; a part that decides alone is all that is left. */
  #joined(kind: 'all' | 'any', parts: readonly Formula[]): Formula {
    const allowed = new Map<number, Spans>();
    const others = new Set<Formula>();
    const flat = parts.flatMap((part) => (part.kind === kind ? part.parts : [part]));
    for (const part of flat) {
      if (part.kind !== 'within') {
        others.add(part);
        continue;
      }
      const before = allowed.get(part.index);
      allowed.set(part.index, before === undefined ? part.allowed : join(kind, before, part.allowed));
    }
    const merged = [...[...allowed].map(([index, spans]) => this.#within(index, spans)), ...others].filter(
      (part) => !isEmpty(part, kind),
    );
    const deciding = merged.find((part) => isEmpty(part, kind === 'all' ? 'any' : 'all'));
    const [only] = merged;
    if (deciding !== undefined) return deciding;
    return merged.length === 1 && only !== undefined ? only : { kind, parts: merged };
  }
}

function join(kind: 'all' | 'any', a: Spans, b: Spans): Spans {
  return kind === 'all' ? intersect(a, b) : spansOf([...a, ...b]);
}

function isEmpty(formula: Formula, kind: 'all' | 'any'): boolean {
  return formula.kind === kind && formula.parts.length === 0;
}

/** Whether the formulas exclude each other by what they demand of single facts, which is seen without a search. */
export function contradict(formulas: readonly Formula[]): boolean {
  const left = new Map<number, Spans>();
  const possible = (formula: Formula): boolean => {
    switch (formula.kind) {
      case 'within': {
        const before = left.get(formula.index);
        const now = before === undefined ? formula.allowed : intersect(before, formula.allowed);
        left.set(formula.index, now);
        return now.length > 0;
      }
      case 'all':
        return formula.parts.every(possible);
      case 'any':
        return formula.parts.length > 0;
      default:
        return formula satisfies never;
    }
  };
  return !formulas.every(possible);
}
