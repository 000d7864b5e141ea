import { FACTS } from '../../facts/catalogue.ts';
import type { Fact, ListedFact } from '../../facts/fact.ts';
import type { FactRef } from '../condition.ts';
import { DURATION_FORM, formatDuration, parseDuration } from '../duration.ts';
import { isName } from '../name.ts';

/** The facts that a rule set uses, each with its place among the values of a decision. */
export class FactRefs {
  readonly #refs = new Map<string, FactRef>();

  /**
   * Starts with every plain and concluded fact: decisions record them whether rules ask or not. Only a fact that
   * belongs to all rule sets from their first version on may be one of these, because records name facts by place.
   */
  constructor() {
    for (const [name, fact] of FACTS) {
      if (fact.kind === 'plain' || fact.kind === 'concluded') this.intern(name, fact, 0);
    }
  }

  intern(name: string, fact: Fact, windowMs: number): FactRef {
    const label = fact.kind === 'windowed' ? `${name}(${formatDuration(windowMs)})` : name;
    return this.#named(label, { name, fact, windowMs });
  }

  /** A fact about the shared list of this name. */
  internListed(name: string, fact: ListedFact, list: string): FactRef {
    return this.#named(`${name}(${list})`, { name, fact, windowMs: 0, list });
  }

  all(): readonly FactRef[] {
    return [...this.#refs.values()];
  }

  #named(label: string, named: Omit<FactRef, 'label' | 'index'>): FactRef {
    const known = this.#refs.get(label);
    if (known !== undefined) return known;
    const ref = { label, ...named, index: this.#refs.size };
    this.#refs.set(label, ref);
    return ref;
  }
}

/** What a placeholder names, or what is wrong with it. */
export type PlaceholderFact =
  | { readonly kind: 'fact'; readonly fact: FactRef }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'bad parameter'; readonly message: string };

/** The fact that a reason placeholder names, like `paidCount` or `verdicts(10m)`. */
export function factOfPlaceholder(placeholder: string, refs: FactRefs): PlaceholderFact {
  const match = /^(\w+)(?:\((.+)\))?$/.exec(placeholder);
  const name = match?.[1] ?? placeholder;
  const fact = FACTS.get(name);
  if (fact === undefined) return { kind: 'unknown', message: `unknown fact "${name}"` };
  const window = match?.[2];
  if (fact.kind === 'listed') {
    return window !== undefined && isName(window)
      ? { kind: 'fact', fact: refs.internListed(name, fact, window) }
      : { kind: 'bad parameter', message: `"${name}" needs a shared list: {${name}(blocked-devices)}` };
  }
  if (fact.kind !== 'windowed') {
    return window === undefined
      ? { kind: 'fact', fact: refs.intern(name, fact, 0) }
      : { kind: 'bad parameter', message: `"${name}" takes no window` };
  }
  const windowMs = window === undefined ? null : parseWindow(window, fact.longestWindowMs);
  return windowMs === null
    ? { kind: 'bad parameter', message: `"${name}" needs a window, ${DURATION_FORM}: {${name}(10m)}` }
    : { kind: 'fact', fact: refs.intern(name, fact, windowMs) };
}

function parseWindow(text: string, longestMs: number): number | null {
  const windowMs = parseDuration(text);
  return windowMs !== null && windowMs <= longestMs ? windowMs : null;
}
