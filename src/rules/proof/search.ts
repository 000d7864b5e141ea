import type { Formula, Formulas, Numbered } from './formula.ts';
import { type Propagator, propagatorOf, type Ranges, relationRefs } from './propagate.ts';
import type { Relation } from './relations.ts';
import { highest, includes, intersect, lowest, overlaps, type Spans, spansOf } from './spans.ts';

/** The numbers left for each fact, every one of which makes the formulas true; or why there are none. */
export type Found = readonly Spans[] | 'none' | 'undecided';

/** A choice between formulas that is not made yet. */
interface Choice {
  readonly formula: Extract<Formula, { kind: 'any' }>;
  /** It was asked for, rather than known: what is asked is decided first. */
  readonly asked: boolean;
}

interface State {
  readonly left: Spans[];
  choices: Choice[];
}

class OutOfSteps extends Error {}

/**
 * Looks for numbers that make formulas true and keep to relations: takes what follows, then tries the
 * alternatives of the narrowest open choice one after the other. It sees every possibility or runs out
 * of steps, so "none" is a proof.
 */
export class Search {
  readonly #left: readonly Spans[];
  readonly #propagators: readonly Propagator[];
  /** Facts of relations, in the order in which they are given numbers. */
  readonly #related: readonly number[];
  readonly #formulas: Formulas;
  readonly #steps: number;
  #taken = 0;

  constructor(facts: Numbered, relations: readonly Relation[], formulas: Formulas, steps: number) {
    this.#left = facts.domains.map(({ all }) => all);
    this.#propagators = relations.map((relation) => propagatorOf(relation, facts));
    const related = relations.flatMap(relationRefs).map(({ label }) => facts.indexOf.get(label) ?? -1);
    this.#related = [...new Set(related)];
    this.#formulas = formulas;
    this.#steps = steps;
  }

  get stepsTaken(): number {
    return this.#taken;
  }

  run(asked: readonly Formula[], known: readonly Formula[]): Found {
    try {
      const state: State = { left: [...this.#left], choices: [] };
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

  /** Null when there is no way. */
  #solve(state: State): readonly Spans[] | null {
    if (!this.#propagate(state)) return null;
    const choice = this.#narrowest(state);
    if (choice === null) return this.#giveNumbers(state);
    const { asked } = choice;
    const rest = state.choices.filter((other) => other !== choice);
    const alternatives = this.#possible(state, choice.formula);
    for (const [index, alternative] of alternatives.entries()) {
      const next: State = { left: [...state.left], choices: [...rest] };
      // What was tried in vain before needs no second look.
      const others = alternatives.slice(0, index).map((other) => this.#formulas.negation(other));
      if (![alternative, ...others].every((formula) => this.#assert(next, formula, asked))) continue;
      const found = this.#solve(next);
      if (found !== null) return found;
    }
    return null;
  }

  /** The conditions hold by now; only numbers that relations tie together are still open. */
  #giveNumbers(state: State): readonly Spans[] | null {
    const open = this.#related.find((index) => !isSingle(state.left[index] ?? []));
    if (open === undefined) return state.left;
    for (const part of split(state.left[open] ?? [])) {
      this.#step();
      const next: State = { left: [...state.left], choices: [] };
      next.left[open] = part;
      if (!this.#propagate(next)) continue;
      const found = this.#giveNumbers(next);
      if (found !== null) return found;
    }
    return null;
  }

  /** False when the formula cannot hold any more. */
  #assert(state: State, formula: Formula, asked: boolean): boolean {
    this.#step();
    switch (formula.kind) {
      case 'within': {
        const left = intersect(state.left[formula.index] ?? [], formula.allowed);
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

  /** Takes what follows until nothing more does; false when something became impossible. */
  #propagate(state: State): boolean {
    for (let moved = true; moved; ) {
      const before = [...state.left];
      const open = state.choices.length;
      if (!this.#settleChoices(state) || !this.#keepRelations(state)) return false;
      moved = state.choices.length !== open || before.some((spans, index) => spans !== state.left[index]);
    }
    return true;
  }

  /** Drops choices that are made, and makes those that have one alternative left. */
  #settleChoices(state: State): boolean {
    const choices = state.choices;
    state.choices = [];
    for (const choice of choices) {
      const parts = choice.formula.parts.filter((part) => this.#status(state.left, part) !== 'false');
      const [only] = parts;
      if (only === undefined) return false;
      if (parts.some((part) => this.#status(state.left, part) === 'true')) continue;
      if (parts.length === 1) {
        if (!this.#assert(state, only, choice.asked)) return false;
      } else if (parts.length === choice.formula.parts.length) state.choices.push(choice);
      else state.choices.push({ ...choice, formula: { kind: 'any', parts } });
    }
    return true;
  }

  #keepRelations(state: State): boolean {
    const { left } = state;
    const ranges: Ranges = {
      low: (index) => lowest(left[index] ?? []),
      high: (index) => highest(left[index] ?? []),
      keep: (index, low, high) => {
        const now = left[index] ?? [];
        if (low <= lowest(now) && high >= highest(now)) return now.length > 0;
        left[index] = intersect(now, [[low, high]]);
        return left[index].length > 0;
      },
    };
    return this.#propagators.every((propagate) => {
      this.#step();
      return propagate(ranges);
    });
  }

  #status(left: readonly Spans[], formula: Formula): 'true' | 'false' | 'open' {
    this.#step();
    switch (formula.kind) {
      case 'within': {
        const now = left[formula.index] ?? [];
        if (!overlaps(now, formula.allowed)) return 'false';
        return includes(formula.allowed, now) ? 'true' : 'open';
      }
      case 'all':
        return this.#statusOf(left, formula.parts, 'false', 'true');
      case 'any':
        return this.#statusOf(left, formula.parts, 'true', 'false');
      default:
        return formula satisfies never;
    }
  }

  /** `deciding` as soon as one part says so, `unanimous` when all parts do. */
  #statusOf(
    left: readonly Spans[],
    parts: readonly Formula[],
    deciding: 'true' | 'false',
    unanimous: 'true' | 'false',
  ): 'true' | 'false' | 'open' {
    let open = false;
    for (const part of parts) {
      const status = this.#status(left, part);
      if (status === deciding) return deciding;
      if (status === 'open') open = true;
    }
    return open ? 'open' : unanimous;
  }

  #possible(state: State, { parts }: Choice['formula']): readonly Formula[] {
    return parts.filter((part) => this.#status(state.left, part) !== 'false');
  }

  /** What is asked for comes first, and of that the choice with the fewest alternatives. */
  #narrowest({ choices }: State): Choice | null {
    const width = ({ formula, asked }: Choice) => formula.parts.length + (asked ? 0 : 1e6);
    return choices.reduce<Choice | null>(
      (best, choice) => (best === null || width(choice) < width(best) ? choice : best),
      null,
    );
  }
}

function isSingle(spans: Spans): boolean {
  return lowest(spans) === highest(spans);
}

/** The least number alone, then the rest in halves: small examples are found first. */
function split(spans: Spans): readonly Spans[] {
  const low = lowest(spans);
  const high = spans[0]?.[1] ?? low;
  const least: Spans = [[low, low]];
  if (high === low) return [least, spans.slice(1)];
  const middle = low + 1 + Math.floor((high - low - 1) / 2);
  return [least, spansOf([[low + 1, middle]]), spansOf([[middle + 1, high], ...spans.slice(1)])].filter(
    (part) => part.length > 0,
  );
}
