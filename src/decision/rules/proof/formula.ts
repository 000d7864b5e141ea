import { computePaymentScore } from '#decision/payer/payment-score.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  foldCondition,
  type RuleConditionFold,
} from '#decision/rules/condition.ts';
import { type SignalParams, sumSignalWeights } from '#decision/rules/rule-set.ts';
import {
  type Domain,
  includesSpans,
  intersectSpans,
  mergeSpans,
  type Spans,
  subtractSpans,
} from './domain.ts';
import type { Relation } from './knowledge.ts';
import { toConstantComparison } from './pairs.ts';

/**
 * A condition in the form that the search of a proof needs. Each comparison is the set of numbers (see `Domain`) that
 * it allows for its fact. A formula has no "not", because in a proof a "not" can be replaced by the opposite formula.
 */
export type Formula =
  | { readonly kind: 'within'; readonly index: number; readonly allowed: Spans }
  | { readonly kind: 'all'; readonly parts: readonly Formula[] }
  | { readonly kind: 'any'; readonly parts: readonly Formula[] };

/** The facts of a question that a proof answers. Each fact has an index and a domain. */
export interface NumberedFacts {
  readonly refs: readonly FactRef[];
  readonly domains: readonly Domain[];
  readonly indexOf: ReadonlyMap<string, number>;
}

const ALWAYS: Formula = { kind: 'all', parts: [] };
const NEVER: Formula = { kind: 'any', parts: [] };

/** Makes formulas of conditions. A condition that is used twice gives one formula. */
export class FormulaBuilder {
  readonly #facts: NumberedFacts;
  readonly #made = new Map<Condition, Formula>();
  readonly #negations = new Map<Formula, Formula>();
  readonly #fold: RuleConditionFold<Formula> = {
    group: (kind, parts) => this.#join(kind, parts),
    not: (part) => this.negate(part),
    reference: (_name, part) => part,
    comparison: (comparison) => this.#buildComparison(comparison),
  };

  constructor(facts: NumberedFacts) {
    this.#facts = facts;
  }

  /** Makes the formula that is true where the condition holds. */
  build(condition: Condition): Formula {
    return foldCondition(condition, this.#fold, this.#made);
  }

  negate(formula: Formula): Formula {
    return this.#negations.getOrInsertComputed(formula, () => this.#buildNegation(formula));
  }

  #buildComparison(comparison: Comparison): Formula {
    const { fact, operator, value } = toConstantComparison(comparison);
    const index = this.#facts.indexOf.get(fact.label);
    const domain = index === undefined ? undefined : this.#facts.domains[index];
    if (index === undefined || domain === undefined) throw new Error(`the fact ${fact.label} has no number`);
    return this.#createWithin(index, domain.findNumbers(operator, value));
  }

  #buildNegation(formula: Formula): Formula {
    switch (formula.kind) {
      case 'within':
        return this.#createWithin(
          formula.index,
          subtractSpans(this.#listAll(formula.index), formula.allowed),
        );
      case 'all':
      case 'any': {
        const parts = formula.parts.map((part) => this.negate(part));
        return this.#join(formula.kind === 'all' ? 'any' : 'all', parts);
      }
      default:
        return formula satisfies never;
    }
  }

  #listAll(index: number): Spans {
    return this.#facts.domains[index]?.all ?? [];
  }

  #createWithin(index: number, allowed: Spans): Formula {
    if (allowed.length === 0) return NEVER;
    return includesSpans(allowed, this.#listAll(index)) ? ALWAYS : { kind: 'within', index, allowed };
  }

  /** Joins parts, and merges the parts about one fact. If one part alone decides the result, it replaces all others. */
  #join(kind: 'all' | 'any', parts: readonly Formula[]): Formula {
    const allowed = new Map<number, Spans>();
    const others = new Set<Formula>();
    const flat = parts.flatMap((part) => (part.kind === kind ? part.parts : [part]));
    for (const part of flat) {
      if (part.kind !== 'within') {
        others.add(part);
        continue;
      }
      const before = allowed.get(part.index);
      const both = (a: Spans) =>
        kind === 'all' ? intersectSpans(a, part.allowed) : mergeSpans([...a, ...part.allowed]);
      allowed.set(part.index, before === undefined ? part.allowed : both(before));
    }
    const merged = [
      ...[...allowed].map(([index, spans]) => this.#createWithin(index, spans)),
      ...others,
    ].filter((part) => !isEmpty(part, kind));
    const deciding = merged.find((part) => isEmpty(part, kind === 'all' ? 'any' : 'all'));
    const [only] = merged;
    if (deciding !== undefined) return deciding;
    return merged.length === 1 && only !== undefined ? only : { kind, parts: merged };
  }
}

function isEmpty(formula: Formula, kind: 'all' | 'any'): boolean {
  return formula.kind === kind && formula.parts.length === 0;
}

/** Whether single facts alone show, without a search, that the formulas exclude each other. */
export function areObviouslyContradictory(formulas: readonly Formula[]): boolean {
  const left = new Map<number, Spans>();
  const possible = (formula: Formula): boolean => {
    switch (formula.kind) {
      case 'within': {
        const before = left.get(formula.index);
        const now = before === undefined ? formula.allowed : intersectSpans(before, formula.allowed);
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

/** The numbers that a search still considers for each fact, by the index of the fact. */
export interface RemainingRanges {
  readonly low: (index: number) => number;
  readonly high: (index: number) => number;
  /** Keeps only the numbers from `low` to `high`. Returns false if none is left. */
  readonly keep: (index: number, low: number, high: number) => boolean;
}

/** Removes numbers that a relation excludes. Returns false if a fact has no number left. */
export type NarrowRanges = (ranges: RemainingRanges) => boolean;

/** Lists the facts of a relation. The total or the score comes last, because it follows from the others. */
export function listFactsOfRelation(relation: Relation): readonly FactRef[] {
  switch (relation.kind) {
    case 'sum':
      return [...relation.parts, relation.total];
    case 'at most':
      return [relation.lesser, relation.greater];
    case 'payment score':
      return [relation.platform, relation.unpaid, relation.paid, relation.score];
    case 'weight':
      return [...relation.signals.map(({ matches }) => matches), relation.total];
    default:
      return relation satisfies never;
  }
}

export function createNarrowRanges(relation: Relation, facts: NumberedFacts): NarrowRanges {
  const at = (ref: FactRef) => facts.indexOf.get(ref.label) ?? -1;
  switch (relation.kind) {
    case 'sum': {
      const [first, second] = relation.parts;
      return createSumPropagator(at(first), at(second), at(relation.total));
    }
    case 'at most':
      return createAtMostPropagator(at(relation.lesser), at(relation.greater), relation.by);
    case 'payment score':
      return createScorePropagator(relation, at, facts);
    case 'weight':
      return createWeightPropagator(relation, at, facts);
    default:
      return relation satisfies never;
  }
}

function createSumPropagator(a: number, b: number, total: number): NarrowRanges {
  return ({ low, high, keep }) =>
    keep(total, low(a) + low(b), high(a) + high(b)) &&
    keep(a, low(total) - high(b), high(total) - low(b)) &&
    keep(b, low(total) - high(a), high(total) - low(a));
}

function createAtMostPropagator(lesser: number, greater: number, by: number): NarrowRanges {
  return ({ low, high, keep }) =>
    keep(lesser, Number.NEGATIVE_INFINITY, high(greater) - by) &&
    keep(greater, low(lesser) + by, Number.POSITIVE_INFINITY);
}

/**
 * Creates the propagator of the payment score. The score rises with paid orders and falls with unpaid ones. The
 * result is exact when the counts are known. Until then the bounds are one step wider than the formula gives, because
 * doubles are rounded.
 */
function createScorePropagator(
  relation: Extract<Relation, { kind: 'payment score' }>,
  at: (ref: FactRef) => number,
  facts: NumberedFacts,
): NarrowRanges {
  const [platform, paid, unpaid, result] = [
    relation.platform,
    relation.paid,
    relation.unpaid,
    relation.score,
  ].map(at);
  const domain = facts.domains[result ?? -1];
  if (platform === undefined || paid === undefined || unpaid === undefined || result === undefined || !domain)
    return () => true;
  return ({ low, high, keep }) => {
    const smoothing = relation.smoothings[low(platform)];
    if (smoothing === undefined || low(platform) !== high(platform)) return true;
    const number = (paidCount: number, unpaidCount: number) =>
      domain.toNumber(computePaymentScore(paidCount, paidCount + unpaidCount, smoothing));
    if (low(paid) === high(paid) && low(unpaid) === high(unpaid)) {
      const exact = number(low(paid), low(unpaid));
      return keep(result, exact, exact);
    }
    // If there is no outcome, the score is fixed, whatever the formula says.
    const bounds = [number(low(paid), high(unpaid)), number(high(paid), low(unpaid))];
    if (low(paid) === 0 && low(unpaid) === 0) bounds.push(number(0, 0), number(1, 0), number(0, 1));
    return keep(result, Math.min(...bounds) - 1, Math.max(...bounds) + 1);
  };
}

/**
 * Creates the propagator of a weight. Weights are added as decisions add them, so the total is exact when all signals
 * are known.
 */
function createWeightPropagator(
  { signals, total }: Extract<Relation, { kind: 'weight' }>,
  at: (ref: FactRef) => number,
  facts: NumberedFacts,
): NarrowRanges {
  const weights = signals.map(({ matches, ...params }) => ({ ...params, index: at(matches) }));
  const result = at(total);
  const domain = facts.domains[result];
  if (domain === undefined) return () => true;
  const number = (some: readonly SignalParams[]) => domain.toNumber(sumSignalWeights(some));
  return ({ low, high, keep }) => {
    const certain = weights.filter(({ index }) => low(index) === 1);
    const possible = weights.filter(({ index }) => high(index) === 1);
    const least = number(certain);
    const most = number(possible);
    if (!keep(result, least, most)) return false;
    // These limits are two steps wider than the sums above, because doubles are rounded. The sums are exact when all
    // signals are known.
    const spare = high(result) - least + 2;
    const excess = most - low(result) + 2;
    return weights.every((signal) => {
      if (low(signal.index) === high(signal.index)) return true;
      // Of several signals about the same thing, a heavier one adds only the difference between the weights.
      const isAlone = signal.about === undefined;
      const added = isAlone ? number([signal]) : number([...certain, signal]) - least;
      if (added > spare) return keep(signal.index, 0, 0);
      const lost = isAlone ? added : most - number(possible.filter((other) => other !== signal));
      return lost > excess ? keep(signal.index, 1, 1) : true;
    });
  };
}
