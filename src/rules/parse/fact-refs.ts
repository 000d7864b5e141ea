import { FACTS } from '../../facts/catalogue.ts';
import type { Fact } from '../../facts/fact.ts';
import type { FactRef } from '../condition.ts';
import { DURATION_FORM, formatDuration, parseDuration } from '../duration.ts';

/** The facts that a rule set uses, each with its place among the values of a decision. */
export class FactRefs {
  readonly #refs = new Map<string, FactRef>();

  /** Starts with every fact that needs no parameter: decisions record them whether rules ask or not. */
  constructor() {
    for (const [name, fact] of FACTS) if (fact.kind !== 'windowed') this.intern(name, fact, 0);
  }

  intern(name: string, fact: Fact, windowMs: number): FactRef {
    const label = fact.kind === 'windowed' ? `${name}(${formatDuration(windowMs)})` : name;
    const known = this.#refs.get(label);
    if (known !== undefined) return known;
    const ref = { label, name, fact, windowMs, index: this.#refs.size };
    this.#refs.set(label, ref);
    return ref;
  }

  all(): readonly FactRef[] {
    return [...this.#refs.values()];
  }
}

/** What a placeholder names, or what is wrong with it. */
export type PlaceholderFact =
  | { readonly kind: 'fact'; readonly fact: FactRef }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'bad window'; readonly message: string };

/** The fact that a reason placeholder names, like `paidCount` or `verdicts(10m)`. */
export function factOfPlaceholder(placeholder: string, refs: FactRefs): PlaceholderFact {
  const match = /^(\w+)(?:\((.+)\))?$/.exec(placeholder);
  const name = match?.[1] ?? placeholder;
  const fact = FACTS.get(name);
  if (fact === undefined) return { kind: 'unknown', message: `unknown fact "${name}"` };
  const window = match?.[2];
  if (fact.kind !== 'windowed') {
    return window === undefined
      ? { kind: 'fact', fact: refs.intern(name, fact, 0) }
      : { kind: 'bad window', message: `"${name}" takes no window` };
  }
  const windowMs = window === undefined ? null : parseWindow(window, fact.longestWindowMs);
  return windowMs === null
    ? { kind: 'bad window', message: `"${name}" needs a window, ${DURATION_FORM}: {${name}(10m)}` }
    : { kind: 'fact', fact: refs.intern(name, fact, windowMs) };
}

function parseWindow(text: string, longestMs: number): number | null {
  const windowMs = parseDuration(text);
  return windowMs !== null && windowMs <= longestMs ? windowMs : null;
}
