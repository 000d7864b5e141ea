import type { FactValue } from '#decision/facts/fact.ts';
import {
  type Comparison,
  type Condition,
  type ExpectedConstants,
  type FactRef,
  isFactRef,
  type OperatorName,
} from '#decision/rules/condition.ts';
import { allOf, anyOf, createComparison, createProofOnlyFact, implies, not } from './built-conditions.ts';
import { toOneCharacterText } from './domain.ts';

/**
 * Two facts of one request that are compared with each other. For proofs their relation is a fact of its own: below,
 * equal or above for numbers, and equal or different for other types. The relation is not known if one of the two
 * facts is not known.
 */
interface Pair {
  readonly one: FactRef;
  readonly other: FactRef;
  readonly relation: FactRef;
  readonly isOrdered: boolean;
}

const ORDERED = ['below', 'equal', 'above'] as const;
const UNORDERED = ['equal', 'different'] as const;

type PairRelation = (typeof ORDERED)[number] | (typeof UNORDERED)[number];

/** The operator of the same comparison with its sides exchanged. */
const MIRRORED: Readonly<Partial<Record<OperatorName, OperatorName>>> = {
  lessThan: 'greaterThan',
  lessThanInclusive: 'greaterThanInclusive',
  greaterThan: 'lessThan',
  greaterThanInclusive: 'lessThanInclusive',
};

const RELATIONS_OF_OPERATOR: Readonly<Partial<Record<OperatorName, readonly PairRelation[]>>> = {
  equal: ['equal'],
  notEqual: ['below', 'above', 'different'],
  lessThan: ['below'],
  lessThanInclusive: ['below', 'equal'],
  greaterThan: ['above'],
  greaterThanInclusive: ['above', 'equal'],
};

/** A comparison with constants. */
type ConstantComparison = Comparison & { readonly value: ExpectedConstants };

/**
 * Replaces a comparison of two facts by a comparison of their relation with constants. Returns any other comparison
 * unchanged.
 */
export function toConstantComparison(comparison: Comparison): ConstantComparison {
  const { fact, operator, value } = comparison;
  if (!isFactRef(value)) return { ...comparison, value };
  const { one, relation, isOrdered } = createPair(fact, value);
  const asked = one.label === fact.label ? operator : (MIRRORED[operator] ?? operator);
  const possible: readonly PairRelation[] = isOrdered ? ORDERED : UNORDERED;
  const wanted = possible.filter((name) => RELATIONS_OF_OPERATOR[asked]?.includes(name));
  return { ...comparison, fact: relation, operator: 'in', value: wanted };
}

/** Makes the pair of two facts. It is the same pair whichever fact a rule names first. */
function createPair(fact: FactRef, compared: FactRef): Pair {
  const [one, other] = fact.label < compared.label ? [fact, compared] : [compared, fact];
  const isOrdered = one.fact.domain.type === 'number';
  const values = isOrdered ? ORDERED : UNORDERED;
  const named = createProofOnlyFact(`${one.label} to ${other.label}`, { type: 'enum', values });
  const absence = { of: 'a payer without one of the two', mistakenFor: '' };
  return { one, other, isOrdered, relation: { ...named, fact: { ...named.fact, absence } } };
}

/**
 * Lists the conditions that hold for facts that rules compare with each other. `comparisons` tell which values of the
 * facts are distinguished.
 */
export function listPairInvariants(comparisons: readonly Comparison[]): readonly Condition[] {
  const pairs = new Map(
    comparisons.flatMap(({ fact, value }) => {
      if (!isFactRef(value)) return [];
      const pair = createPair(fact, value);
      return [[pair.relation.label, pair] as const];
    }),
  );
  const all = [...pairs.values()];
  return all.flatMap((pair) => [
    ...relateKnowledge(pair),
    ...(pair.isOrdered ? relateNumbers(pair, comparisons) : relateTexts(pair, all, comparisons)),
  ]);
}

function isKnown(ref: FactRef): Condition {
  return ref.fact.absence === undefined ? allOf() : createComparison(ref, 'known', true);
}

function relateKnowledge({ one, other, relation }: Pair): readonly Condition[] {
  const both = allOf(isKnown(one), isKnown(other));
  return [implies(isKnown(relation), both), implies(both, isKnown(relation))];
}

function collectConstants(
  refs: readonly FactRef[],
  comparisons: readonly Comparison[],
): readonly FactValue[] {
  const labels = new Set(refs.map(({ label }) => label));
  const found = comparisons.flatMap(({ fact, operator, value }) =>
    !labels.has(fact.label) || operator === 'known' || isFactRef(value) ? [] : [value].flat(),
  );
  return [...new Set(found)];
}

function relateNumbers(
  { one, other, relation }: Pair,
  comparisons: readonly Comparison[],
): readonly Condition[] {
  const stands = (name: PairRelation) => createComparison(relation, 'equal', name);
  const limits = new Set<FactValue>([0, ...collectConstants([one, other], comparisons)]);
  return [...limits].flatMap((limit) => {
    const side = (operator: OperatorName) => [
      createComparison(one, operator, limit),
      createComparison(other, operator, limit),
    ];
    const [oneBelow, otherBelow] = side('lessThan').map((below) => below);
    const [oneAbove, otherAbove] = side('greaterThan').map((above) => above);
    if (!oneBelow || !otherBelow || !oneAbove || !otherAbove) return [];
    return [
      implies(stands('below'), anyOf(oneBelow, otherAbove)),
      implies(stands('above'), anyOf(oneAbove, otherBelow)),
      implies(
        stands('equal'),
        anyOf(allOf(oneBelow, otherBelow), allOf(oneAbove, otherAbove), allOf(...side('equal'))),
      ),
    ];
  });
}

function listUnnamedTexts(count: number, named: ReadonlySet<FactValue>): readonly string[] {
  const found: string[] = [];
  for (let number = 0; found.length < count; number++) {
    const text = toOneCharacterText(number);
    if (!named.has(text)) found.push(text);
  }
  return found;
}

/**
 * Relates two texts or two booleans. Besides the named texts there are enough other texts, so that the two facts of a
 * pair can differ.
 */
function relateTexts(
  { one, other, relation }: Pair,
  pairs: readonly Pair[],
  comparisons: readonly Comparison[],
): readonly Condition[] {
  const texts = [...new Set(pairs.flatMap((pair) => (pair.isOrdered ? [] : [pair.one, pair.other])))];
  const named = collectConstants(texts, comparisons);
  const words = texts.flatMap(({ fact: { domain } }) => (domain.type === 'enum' ? domain.values : []));
  const flags = one.fact.domain.type === 'boolean' ? [true, false] : [];
  const some = flags.length > 0 ? [] : listUnnamedTexts(texts.length, new Set([...named, ...words]));
  const values = [...new Set([...named, ...words, ...some, ...flags])].filter((value) => {
    return typeof value === (flags.length > 0 ? 'boolean' : 'string');
  });
  const within = (ref: FactRef) => anyOf(not(isKnown(ref)), createComparison(ref, 'in', values));
  return [
    ...(flags.length > 0 ? [] : [within(one), within(other)]),
    ...values.flatMap((value) => {
      const both = [createComparison(one, 'equal', value), createComparison(other, 'equal', value)];
      const [isOne, isOther] = both;
      if (isOne === undefined || isOther === undefined) return [];
      return [
        implies(createComparison(relation, 'equal', 'different'), not(allOf(...both))),
        implies(createComparison(relation, 'equal', 'equal'), anyOf(allOf(...both), not(anyOf(...both)))),
      ];
    }),
  ];
}
