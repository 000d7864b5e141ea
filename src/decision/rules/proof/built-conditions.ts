import type { FactDomain, FactValue } from '#decision/facts/fact.ts';
import type {
  Comparison,
  Condition,
  ExpectedConstants,
  FactRef,
  OperatorName,
} from '#decision/rules/condition.ts';

/** The facts of a rule set by their names, with functions that build conditions about them for proofs. */
export class FactsByName {
  readonly #refs = new Map<string, FactRef[]>();

  constructor(refs: readonly FactRef[]) {
    for (const ref of refs) this.#refs.set(ref.name, [...(this.#refs.get(ref.name) ?? []), ref]);
  }

  /**
   * Lists a fact that is recorded only on demand. The list is empty if no rule asks for the fact. For the fact
   * `attribute` the list has one fact per declared attribute.
   */
  listFacts(name: string): readonly FactRef[] {
    return this.#refs.get(name) ?? [];
  }

  /** Returns a fact without a window. Every rule set has every fact without a window, except facts on demand. */
  requireFact(name: string): FactRef {
    const [ref] = this.#refs.get(name) ?? [];
    if (ref === undefined) throw new Error(`there is no fact "${name}" among those of the rule set`);
    return ref;
  }

  /**
   * Returns a windowed fact once for each window in use, the shortest window first. The facts of different attributes
   * are returned together.
   */
  listWindows(name: string): readonly FactRef[] {
    return (this.#refs.get(name) ?? []).toSorted((a, b) => a.windowMs - b.windowMs);
  }

  /**
   * Groups the windowed facts by name, so that a group has one fact with all its windows. A fact about attributes has
   * a group for each attribute.
   */
  listWindowGroups(): readonly (readonly FactRef[])[] {
    const names = [...this.#refs.entries()].filter(([, refs]) => refs[0]?.fact.kind === 'windowed');
    return names.flatMap(([name]) => [
      ...Map.groupBy(this.listWindows(name), ({ attribute }) => attribute ?? '').values(),
    ]);
  }

  is(name: string, value: FactValue): Condition {
    return createComparison(this.requireFact(name), 'equal', value);
  }

  /** Builds the condition that the fact has a value. */
  known(name: string): Condition {
    return createComparison(this.requireFact(name), 'known', true);
  }

  above(name: string, value: number): Condition {
    return createComparison(this.requireFact(name), 'greaterThan', value);
  }
}

/** Creates a fact that only proofs use and that rules cannot name. */
export function createProofOnlyFact(label: string, domain: FactDomain): FactRef {
  const fact = { kind: 'plain', domain, unit: null, description: label, read: () => false } as const;
  return { label, name: label, fact, windowMs: 0, index: -1 };
}

/** The place of conditions that stand in no file. */
const NOWHERE = { file: '', line: 0, column: 0 };

export function createComparison(
  fact: FactRef,
  operator: OperatorName,
  value: ExpectedConstants,
): Comparison {
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

/** Builds the conditions that say that two conditions are equivalent: both hold, or neither does. */
export function iff(one: Condition, other: Condition): readonly Condition[] {
  return [implies(one, other), implies(other, one)];
}
