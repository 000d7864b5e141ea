import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type Comparison, type Condition, listComparisons } from '#decision/rules/condition.ts';
import {
  type Domain,
  getHighestNumber,
  getLowestNumber,
  hasOverlap,
  includesSpans,
  intersectSpans,
  mergeSpans,
  type Spans,
} from './domain.ts';
import {
  collectFactsWithConstants,
  type FactWithConstants,
  getOrAddFact,
  numberFacts,
} from './facts-with-constants.ts';
import {
  areObviouslyContradictory,
  createNarrowRanges,
  type Formula,
  FormulaBuilder,
  listFactsOfRelation,
  type NarrowRanges,
  type NumberedFacts,
  type RemainingRanges,
} from './formula.ts';
import { type Knowledge, NOTHING_KNOWN, type Relation } from './knowledge.ts';
import { KnowledgeByFact } from './knowledge-index.ts';
import { type FixedValue, MultiplesAsFacts } from './multiples.ts';
import { listPairInvariants } from './pairs.ts';

/**
 * The answer to a question. `witness` is an example: values of facts, by label, for which all that was asked holds.
 * `none` proves that there is no such example. `undecided` means that the search took too long.
 */
export type ReasonerAnswer =
  | { readonly kind: 'witness'; readonly facts: ReadonlyMap<string, NullableFactValue> }
  | { readonly kind: 'none' }
  | { readonly kind: 'undecided' };

/** How much work a reasoner may do, in steps. A step takes about a tenth of a microsecond. */
export interface WorkLimits {
  readonly questionStepsMax: number;
  /** The limit of all questions together. Questions after that are answered with `undecided`. */
  readonly totalStepsMax: number;
}

/** The limits are enough for every rule set that people write. They allow about a second of work. */
const PROOF_LIMITS: WorkLimits = { questionStepsMax: 1_000_000, totalStepsMax: 10_000_000 };

/** Answers whether conditions can hold together, given the knowledge about the facts. */
export class Reasoner {
  readonly #knowledge: Knowledge;
  #pieces: KnowledgeByFact;
  /** The comparisons of all conditions that were read. */
  readonly #comparisons: Comparison[] = [];
  readonly #questionStepsMax: number;
  readonly #facts = new Map<string, FactWithConstants>();
  readonly #labels = new Map<Condition, readonly string[]>();
  readonly #multiples = new MultiplesAsFacts();
  #numbered: NumberedFacts | null = null;
  #formulas: FormulaBuilder | null = null;
  #stepsLeft: number;

  constructor(knowledge: Knowledge = NOTHING_KNOWN, limits: WorkLimits = PROOF_LIMITS) {
    this.#knowledge = this.#rewriteMultiples(knowledge);
    this.#pieces = new KnowledgeByFact(this.#knowledge);
    this.#questionStepsMax = limits.questionStepsMax;
    this.#stepsLeft = limits.totalStepsMax;
    for (const { conditions, relations } of this.#pieces.all) {
      this.prepare(conditions);
      for (const ref of relations.flatMap(listFactsOfRelation)) getOrAddFact(this.#facts, ref);
    }
  }

  /**
   * Reads conditions before they are asked about. Many questions are answered faster after all conditions were read.
   */
  prepare(conditions: readonly Condition[]): void {
    for (const written of conditions) {
      const condition = this.#multiples.rewrite(written);
      if (this.#labels.has(condition)) continue;
      const comparisons = listComparisons([condition]);
      this.#comparisons.push(...comparisons);
      const facts = collectFactsWithConstants(comparisons);
      this.#labels.set(condition, [...facts.keys()]);
      for (const { ref, constants } of facts.values()) {
        const known = getOrAddFact(this.#facts, ref);
        for (const constant of constants) known.constants.add(constant);
      }
      // The numbers that stand for values depend on the constants in conditions.
      this.#numbered = null;
    }
  }

  #rewriteMultiples({ conditions, relations, definitions }: Knowledge): Knowledge {
    const rewrite = (condition: Condition) => this.#multiples.rewrite(condition);
    return {
      conditions: conditions.map(rewrite),
      relations,
      definitions: definitions.map((defined) => ({
        ...defined,
        conditions: defined.conditions.map(rewrite),
      })),
    };
  }

  /** Searches for values of facts that meet every condition of `mustHold` and no condition of `mustNotHold`. */
  find(mustHold: readonly Condition[], mustNotHold: readonly Condition[] = []): ReasonerAnswer {
    if (this.#stepsLeft <= 0) return { kind: 'undecided' };
    const rewrite = (condition: Condition) => this.#multiples.rewrite(condition);
    const must = mustHold.map(rewrite);
    const mustNot = mustNotHold.map(rewrite);
    const asked = [...must, ...mustNot];
    this.prepare(asked);
    if (this.#numbered === null || this.#formulas === null) {
      this.#relatePairs();
      this.#numbered = numberFacts(this.#facts);
      this.#formulas = new FormulaBuilder(this.#numbered);
    }
    const formulas = this.#formulas;
    const wanted = [
      ...must.map((item) => formulas.build(item)),
      ...mustNot.map((item) => formulas.negate(formulas.build(item))),
    ];
    this.#stepsLeft -= wanted.length;
    if (areObviouslyContradictory(wanted)) return { kind: 'none' };
    return this.#search(this.#numbered, formulas, asked, wanted);
  }

  /**
   * Adds the knowledge about facts that conditions compare with each other, for the values that the conditions read
   * so far distinguish.
   */
  #relatePairs(): void {
    const conditions = listPairInvariants(this.#comparisons);
    if (conditions.length === 0) return;
    this.#pieces = new KnowledgeByFact({
      ...this.#knowledge,
      conditions: [...this.#knowledge.conditions, ...conditions],
    });
    const read = this.#comparisons.length;
    this.prepare(conditions);
    // The conditions of pairs follow from the conditions read before, and distinguish no further values.
    this.#comparisons.length = read;
  }

  #search(
    numbered: NumberedFacts,
    formulas: FormulaBuilder,
    asked: readonly Condition[],
    wanted: readonly Formula[],
  ): ReasonerAnswer {
    const labels = asked.flatMap((condition) => this.#labels.get(condition) ?? []);
    const relevant = this.#pieces.findAbout(labels);
    const constantsOf = (label: string) => this.#facts.get(label)?.constants ?? [];
    const known = [
      ...relevant.pieces.flatMap(({ conditions }) => conditions),
      ...this.#multiples.listMultipleConditions(relevant.labels, constantsOf),
    ].map((item) => formulas.build(item));
    const relations = relevant.pieces.flatMap((piece) => piece.relations);
    // The setup of a search is work, too, and often more work than the search itself.
    this.#stepsLeft -= numbered.domains.length + known.length + relations.length;
    const run = (pinned: readonly Formula[]): SearchResult => {
      const steps = Math.min(this.#questionStepsMax, Math.max(0, this.#stepsLeft));
      const search = new Search(numbered, relations, formulas, steps);
      const found = search.run([...pinned, ...wanted], known);
      this.#stepsLeft -= search.stepsTaken;
      return found;
    };
    const found = run([]);
    if (found === 'none' || found === 'undecided') return { kind: found };
    const values = collectValues(relevant.labels, numbered, found);
    // If no number agrees with the multiples found, the search runs again with values near the constants asked for.
    const pins = this.#multiples.listFixedValues(values, constantsOf).map((pin) => pinValue(numbered, pin));
    for (const more of [[], ...pins]) {
      const facts = this.#showWitness(relevant.labels, numbered, more.length === 0 ? found : run(more));
      if (facts !== null) return { kind: 'witness', facts };
    }
    return { kind: 'undecided' };
  }

  /**
   * Returns the facts that a search found, with values that agree with its multiples. Returns null if there are no
   * such values.
   */
  #showWitness(
    labels: ReadonlySet<string>,
    numbered: NumberedFacts,
    found: SearchResult,
  ): ReadonlyMap<string, NullableFactValue> | null {
    if (found === 'none' || found === 'undecided') return null;
    const indexOf = (label: string) => numbered.indexOf.get(label) ?? -1;
    return this.#multiples.findAgreeingValues(
      collectValues(labels, numbered, found),
      (label) => numbered.domains[indexOf(label)],
      (label) => found[indexOf(label)] ?? [],
    );
  }
}

/** Makes the formula that a fact has exactly this value. */
function pinValue({ domains, indexOf }: NumberedFacts, { label, value }: FixedValue): readonly Formula[] {
  const index = indexOf.get(label) ?? -1;
  const number = domains[index]?.toNumber(value) ?? 0;
  return [{ kind: 'within', index, allowed: [[number, number]] }];
}

function collectValues(
  labels: ReadonlySet<string>,
  { domains, indexOf }: NumberedFacts,
  left: readonly Spans[],
): ReadonlyMap<string, NullableFactValue> {
  const values = new Map<string, NullableFactValue>();
  for (const label of labels) {
    const index = indexOf.get(label) ?? -1;
    const domain = domains[index];
    if (domain !== undefined) values.set(label, domain.toValue(pickShownNumber(domain, left[index] ?? [])));
  }
  return values;
}

function pickShownNumber({ zero }: Domain, left: Spans): number {
  return zero !== undefined && includesSpans(left, [[zero, zero]]) ? zero : getLowestNumber(left);
}

/** The remaining numbers of each fact, all of which make the formulas true. If no numbers were found, the reason. */
type SearchResult = readonly Spans[] | 'none' | 'undecided';

/** An open choice between formulas. */
interface Choice {
  readonly formula: Extract<Formula, { kind: 'any' }>;
  /**
   * Whether the choice comes from the question and not from the knowledge. Choices of the question are decided first.
   */
  readonly asked: boolean;
}

interface SearchState {
  readonly left: Spans[];
  choices: Choice[];
}

class OutOfSteps extends Error {}

/**
 * Searches for numbers that make formulas true and keep to relations. The search derives every consequence, and then
 * tries the alternatives of the narrowest open choice one after the other. It tries every possibility unless it runs
 * out of steps, so the result "none" is a proof.
 */
class Search {
  readonly #left: readonly Spans[];
  readonly #propagators: readonly NarrowRanges[];
  /** Facts of relations, in the sequence in which they are given numbers. */
  readonly #related: readonly number[];
  readonly #formulas: FormulaBuilder;
  readonly #steps: number;
  #taken = 0;

  constructor(facts: NumberedFacts, relations: readonly Relation[], formulas: FormulaBuilder, steps: number) {
    this.#left = facts.domains.map(({ all }) => all);
    this.#propagators = relations.map((relation) => createNarrowRanges(relation, facts));
    const related = relations.flatMap(listFactsOfRelation).map(({ label }) => facts.indexOf.get(label) ?? -1);
    this.#related = [...new Set(related)];
    this.#formulas = formulas;
    this.#steps = steps;
  }

  get stepsTaken(): number {
    return this.#taken;
  }

  run(asked: readonly Formula[], known: readonly Formula[]): SearchResult {
    try {
      const state: SearchState = { left: [...this.#left], choices: [] };
      const possible =
        asked.every((formula) => this.#assert(state, formula, true)) &&
        known.every((formula) => this.#assert(state, formula, false));
      return (possible ? this.#solve(state) : null) ?? 'none';
    } catch (error) {
      if (error instanceof OutOfSteps) return 'undecided';
      throw error;
    }
  }

  #step(): void {
    if (++this.#taken > this.#steps) throw new OutOfSteps();
  }

  /** Returns null if there is no solution. */
  #solve(state: SearchState): readonly Spans[] | null {
    if (!this.#propagate(state)) return null;
    const choice = this.#pickNarrowest(state);
    if (choice === null) return this.#giveNumbers(state);
    const { asked } = choice;
    const rest = state.choices.filter((other) => other !== choice);
    const alternatives = this.#listPossible(state, choice.formula);
    for (const [index, alternative] of alternatives.entries()) {
      const next: SearchState = { left: [...state.left], choices: [...rest] };
      // An alternative that failed is not tried again.
      const others = alternatives.slice(0, index).map((other) => this.#formulas.negate(other));
      if (![alternative, ...others].every((formula) => this.#assert(next, formula, asked))) continue;
      const found = this.#solve(next);
      if (found !== null) return found;
    }
    return null;
  }

  /** Gives numbers to facts that relations connect. At this point all conditions hold. */
  #giveNumbers(state: SearchState): readonly Spans[] | null {
    const open = this.#related.find((index) => !isSingle(state.left[index] ?? []));
    if (open === undefined) return state.left;
    for (const part of splitSpans(state.left[open] ?? [])) {
      this.#step();
      const next: SearchState = { left: [...state.left], choices: [] };
      next.left[open] = part;
      if (!this.#propagate(next)) continue;
      const found = this.#giveNumbers(next);
      if (found !== null) return found;
    }
    return null;
  }

  /** Returns false if the formula can no longer hold. */
  #assert(state: SearchState, formula: Formula, asked: boolean): boolean {
    this.#step();
    switch (formula.kind) {
      case 'within': {
        const left = intersectSpans(state.left[formula.index] ?? [], formula.allowed);
        state.left[formula.index] = left;
        return left.length > 0;
      }
      case 'all':
        return formula.parts.every((part) => this.#assert(state, part, asked));
      case 'any':
        if (formula.parts.length === 0) return false;
        state.choices.push({ formula, asked });
        return true;
      default:
        return formula satisfies never;
    }
  }

  /** Derives consequences until there are no more. Returns false if something became impossible. */
  #propagate(state: SearchState): boolean {
    for (let moved = true; moved; ) {
      const before = [...state.left];
      const open = state.choices.length;
      if (!this.#settleChoices(state) || !this.#keepRelations(state)) return false;
      moved = state.choices.length !== open || before.some((spans, index) => spans !== state.left[index]);
    }
    return true;
  }

  /** Drops choices that are decided, and decides the choices with one alternative left. */
  #settleChoices(state: SearchState): boolean {
    const choices = state.choices;
    state.choices = [];
    for (const choice of choices) {
      const parts = choice.formula.parts.filter((part) => this.#findStatus(state.left, part) !== 'false');
      const [only] = parts;
      if (only === undefined) return false;
      if (parts.some((part) => this.#findStatus(state.left, part) === 'true')) continue;
      if (parts.length === 1) {
        if (!this.#assert(state, only, choice.asked)) return false;
      } else if (parts.length === choice.formula.parts.length) state.choices.push(choice);
      else state.choices.push({ ...choice, formula: { kind: 'any', parts } });
    }
    return true;
  }

  #keepRelations(state: SearchState): boolean {
    const { left } = state;
    const ranges: RemainingRanges = {
      low: (index) => getLowestNumber(left[index] ?? []),
      high: (index) => getHighestNumber(left[index] ?? []),
      keep: (index, low, high) => {
        const now = left[index] ?? [];
        if (low <= getLowestNumber(now) && high >= getHighestNumber(now)) return now.length > 0;
        left[index] = intersectSpans(now, [[low, high]]);
        return left[index].length > 0;
      },
    };
    return this.#propagators.every((propagate) => {
      this.#step();
      return propagate(ranges);
    });
  }

  #findStatus(left: readonly Spans[], formula: Formula): 'true' | 'false' | 'open' {
    this.#step();
    switch (formula.kind) {
      case 'within': {
        const now = left[formula.index] ?? [];
        if (!hasOverlap(now, formula.allowed)) return 'false';
        return includesSpans(formula.allowed, now) ? 'true' : 'open';
      }
      case 'all':
        return this.#combineStatus(left, formula.parts, 'false', 'true');
      case 'any':
        return this.#combineStatus(left, formula.parts, 'true', 'false');
      default:
        return formula satisfies never;
    }
  }

  /** Returns `deciding` if one part has this status, and `unanimous` if all parts have this status. */
  #combineStatus(
    left: readonly Spans[],
    parts: readonly Formula[],
    deciding: 'true' | 'false',
    unanimous: 'true' | 'false',
  ): 'true' | 'false' | 'open' {
    let open = false;
    for (const part of parts) {
      const status = this.#findStatus(left, part);
      if (status === deciding) return deciding;
      if (status === 'open') open = true;
    }
    return open ? 'open' : unanimous;
  }

  #listPossible(state: SearchState, { parts }: Choice['formula']): readonly Formula[] {
    return parts.filter((part) => this.#findStatus(state.left, part) !== 'false');
  }

  /** Picks a choice of the question before one of the knowledge, and then the choice with the fewest alternatives. */
  #pickNarrowest({ choices }: SearchState): Choice | null {
    const width = ({ formula, asked }: Choice) => formula.parts.length + (asked ? 0 : 1e6);
    return choices.reduce<Choice | null>(
      (best, choice) => (best === null || width(choice) < width(best) ? choice : best),
      null,
    );
  }
}

function isSingle(spans: Spans): boolean {
  return getLowestNumber(spans) === getHighestNumber(spans);
}

/**
 * Splits the numbers into the least number alone and two halves of the rest, so that small examples are found first.
 */
function splitSpans(spans: Spans): readonly Spans[] {
  const low = getLowestNumber(spans);
  const high = spans[0]?.[1] ?? low;
  const least: Spans = [[low, low]];
  if (high === low) return [least, spans.slice(1)];
  const middle = low + 1 + Math.floor((high - low - 1) / 2);
  return [least, mergeSpans([[low + 1, middle]]), mergeSpans([[middle + 1, high], ...spans.slice(1)])].filter(
    (part) => part.length > 0,
  );
}
