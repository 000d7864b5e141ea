import type { FactDomain, FactValue } from '#decision/facts/fact.ts';
import type { Comparison, Condition, Expected, FactRef, OperatorName } from '#decision/rules/condition.ts';

/** The facts of a rule set by their names; below are the conditions that proofs state of them. */
export class FactsByName {
  readonly #refs = new Map<string, FactRef[]>();

  constructor(refs: readonly FactRef[]) {
    for (const ref of refs) this.#refs.set(ref.name, [...(this.#refs.get(ref.name) ?? []), ref]);
  }

  /** A fact that decisions record only where a rule asks: none or one. */
  onDemand(name: string): readonly FactRef[] {
    return this.#refs.get(name) ?? [];
  }

  /** A fact without a window; every rule set has all of them but those on demand. */
  plain(name: string): FactRef {
    const [ref] = this.#refs.get(name) ?? [];
    if (ref === undefined) throw new Error(`there is no fact "${name}" among those of the rule set`);
    return ref;
  }

  /** A windowed fact, once for each window in use, the shortest first; of those about attributes all of them together. */
  windows(name: string): readonly FactRef[] {
    return (this.#refs.get(name) ?? []).toSorted((a, b) => a.windowMs - b.windowMs);
  }

  /** Each windowed fact with its windows, of each attribute its own. */
  windowed(): readonly (readonly FactRef[])[] {
    const names = [...this.#refs.entries()].filter(([, refs]) => refs[0]?.fact.kind === 'windowed');
    return names.flatMap(([name]) => [
      ...Map.groupBy(this.windows(name), ({ attribute }) => attribute ?? '').values(),
    ]);
  }

  is(name: string, value: FactValue): Condition {
    return compare(this.plain(name), 'equal', value);
  }

  /** That it has a value. */
  known(name: string): Condition {
    return compare(this.plain(name), 'known', true);
  }

  above(name: string, value: number): Condition {
    return compare(this.plain(name), 'greaterThan', value);
  }
}

/** Facts that rules cannot name but that proofs use. */
export function createInnerFact(label: string, domain: FactDomain): FactRef {
  const fact = { kind: 'plain', domain, unit: null, description: label, read: () => false } as const;
  return { label, name: label, fact, windowMs: 0, index: -1 };
}

/** These conditions are in no file. */
const NOWHERE = { file: '', line: 0, column: 0 };

export function compare(fact: FactRef, operator: OperatorName, value: Expected): Comparison {
  return { kind: 'comparison', fact, operator, value, at: NOWHERE };
}

export function allOf(...conditions: readonly Condition[]): Condition {
  return { kind: 'all', conditions, at: NOWHERE };
}

export function anyOf(...conditions: readonly Condition[]): Condition {
  return { kind: 'any', conditions, at: NOWHERE };
}

export function not(condition: Condition): Condition {
  return { kind: 'not', condition, at: NOWHERE };
}

export function implies(condition: Condition, consequence: Condition): Condition {
  return anyOf(not(condition), consequence);
}

export function iff(one: Condition, other: Condition): readonly Condition[] {
  return [implies(one, other), implies(other, one)];
}
