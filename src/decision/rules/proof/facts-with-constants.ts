import type { FactDomain, FactValue } from '#decision/facts/fact.ts';
import { type Comparison, type FactRef, listComparedFacts } from '#decision/rules/condition.ts';
import { buildDomain } from './domain.ts';
import type { NumberedFacts } from './formula.ts';
import { toConstantComparison } from './pairs.ts';

/** A fact that conditions name, and the constants with which they compare it. */
export interface FactWithConstants {
  readonly ref: FactRef;
  readonly constants: Set<FactValue>;
}

/** Collects the facts that comparisons name, by label, each with the constants with which it is compared. */
export function collectFactsWithConstants(
  comparisons: readonly Comparison[],
): Map<string, FactWithConstants> {
  const facts = new Map<string, FactWithConstants>();
  for (const comparison of comparisons) {
    for (const ref of listComparedFacts(comparison)) getOrAddFact(facts, ref);
    const { fact, value } = toConstantComparison(comparison);
    const { constants } = getOrAddFact(facts, fact);
    for (const constant of typeof value === 'object' ? value : [value]) constants.add(constant);
  }
  return facts;
}

export function getOrAddFact(facts: Map<string, FactWithConstants>, ref: FactRef): FactWithConstants {
  return facts.getOrInsertComputed(ref.label, () => ({ ref, constants: new Set<FactValue>() }));
}

/**
 * Collects, for each domain of numbers that need not be whole, all constants with which its facts are compared. All
 * amounts, for example, have one domain. The domain of such a fact is built from these constants. So equal values of
 * two such facts have equal numbers, and relations can compare these numbers.
 */
function collectSharedConstants(
  facts: readonly FactWithConstants[],
): ReadonlyMap<FactDomain, ReadonlySet<FactValue>> {
  const shared = new Map<FactDomain, Set<FactValue>>();
  for (const { ref, constants } of facts) {
    const { domain } = ref.fact;
    if (domain.type !== 'number' || domain.integer) continue;
    shared.set(domain, (shared.get(domain) ?? new Set()).union(constants));
  }
  return shared;
}

/** Gives each fact an index and a domain of values. The constants cut the domain into pieces. */
export function numberFacts(facts: ReadonlyMap<string, FactWithConstants>): NumberedFacts {
  const all = [...facts.values()];
  const shared = collectSharedConstants(all);
  return {
    refs: all.map(({ ref }) => ref),
    domains: all.map(({ ref, constants }) =>
      buildDomain(ref, [...(shared.get(ref.fact.domain) ?? constants)]),
    ),
    indexOf: new Map([...facts.keys()].map((label, index) => [label, index])),
  };
}
