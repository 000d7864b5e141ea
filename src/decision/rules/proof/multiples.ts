import type { FactValue, NullableFactValue } from '#decision/facts/fact.ts';
import { BOOLEAN_DOMAIN } from '#decision/facts/fact.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  foldCondition,
  listComparisons,
} from '#decision/rules/condition.ts';
import { getLeastMultipleAbove, isMultipleOf } from '#decision/rules/multiples.ts';
import { allOf, createComparison, createProofOnlyFact, implies } from './built-conditions.ts';
import { type Domain, hasListedMultiples, includesSpans, type Spans } from './domain.ts';

/** A fact with so many values that its multiples cannot be listed, and the divisors that conditions ask about. */
interface AskedFact {
  readonly ref: FactRef;
  /** Facts by divisor. Each tells whether the value is a multiple of the divisor. */
  readonly flags: Map<number, FactRef>;
}

/** How many multiples are tried to find a number that fits a witness, which is an example that a proof has found. */
const CANDIDATES_MAX = 200;

/** How many values of a fact are tried, each in a search of its own. */
const FIXED_VALUES_MAX = 8;

/** A value that a fact must have. */
export interface FixedValue {
  readonly label: string;
  readonly value: number;
}

/**
 * Replaces questions like whether an amount is a multiple of 1000 by separate facts that are true or false. For each
 * constant that the amount is compared with, the proof is told whether the constant is a multiple. The replacement
 * excludes no possible payer, so a proof that something is impossible stays right. A witness (an example that a proof
 * has found) is accepted only if a number fits it. Otherwise the answer is undecided.
 */
export class MultiplesAsFacts {
  readonly #asked = new Map<string, AskedFact>();
  readonly #rewritten = new Map<Condition, Condition>();

  /**
   * Rewrites a condition, so that separate facts replace its comparisons with multiples. Most conditions have no such
   * comparison and are returned unchanged.
   */
  rewrite(condition: Condition): Condition {
    return this.#rewritten.getOrInsertComputed(condition, () => {
      if (!listComparisons([condition]).some(isAboutUnlisted)) return condition;
      return foldCondition<{ readonly at: Condition['at'] }, ComparedPart, Condition>(condition, {
        group: (kind, conditions, { at }) => ({ kind, conditions, at }),
        not: (part, { at }) => ({ kind: 'not', condition: part, at }),
        reference: (_name, part) => part,
        comparison: (comparison) => this.#rewriteComparison(comparison),
      });
    });
  }

  /**
   * Lists the conditions that relate a fact to its multiples, for the facts that `labels` names. `constants` are the
   * values with which the fact is compared.
   */
  *listMultipleConditions(
    labels: ReadonlySet<string>,
    constantsOf: (label: string) => Iterable<FactValue>,
  ): Generator<Condition> {
    for (const { ref, flags } of this.#listRelevant(labels)) {
      const points = listPoints(ref, constantsOf(ref.label));
      for (const [divisor, flag] of flags) {
        yield* listFlagsAtPoints(ref, points, divisor, flag);
        for (const [other, otherFlag] of flags) {
          if (other !== divisor && isMultipleOf(divisor, other))
            yield implies(flagEquals(flag, true), flagEquals(otherFlag, true));
        }
      }
    }
  }

  /**
   * Replaces the numbers of a witness by numbers that agree with the witness on whether they are multiples. Returns
   * null if no such number is found.
   */
  findAgreeingValues(
    values: ReadonlyMap<string, NullableFactValue>,
    domainOf: (label: string) => Domain | undefined,
    leftOf: (label: string) => Spans,
  ): ReadonlyMap<string, NullableFactValue> | null {
    const facts = [...this.#listRelevant(new Set(values.keys()))];
    if (facts.length === 0) return values;
    const shown = new Map(values);
    for (const { ref, flags } of facts) {
      const value = shown.get(ref.label);
      const agrees = (seen: number) =>
        flags.entries().every(([divisor, { label }]) => {
          const flag = values.get(label);
          return flag === undefined || isMultipleOf(seen, divisor) === flag;
        });
      for (const { label } of flags.values()) shown.delete(label);
      if (typeof value !== 'number' || agrees(value)) continue;
      const domain = domainOf(ref.label);
      const left = leftOf(ref.label);
      const isLeft = (seen: number) => {
        const number = domain?.toNumber(seen) ?? Number.NaN;
        return includesSpans(left, [[number, number]]) && !(isWhole(ref) && !Number.isInteger(seen));
      };
      const found = listCandidates(domain, left, [...flags.keys()]).find(
        (seen) => isLeft(seen) && agrees(seen),
      );
      if (found === undefined) return null;
      shown.set(ref.label, found);
    }
    return shown;
  }

  /**
   * Finds values for the whole-number facts of a witness. The values are near the constants, and agree with the
   * witness on whether they are multiples.
   */
  listFixedValues(
    values: ReadonlyMap<string, NullableFactValue>,
    constantsOf: (label: string) => Iterable<FactValue>,
  ): readonly FixedValue[] {
    return [...this.#listRelevant(new Set(values.keys()))].flatMap(({ ref, flags }) => {
      if (!isWhole(ref)) return [];
      const near = listPoints(ref, constantsOf(ref.label)).flatMap((point) => [
        point + 1,
        point + 2,
        ...[...flags.keys()].map((divisor) => getLeastMultipleAbove(point, divisor)),
      ]);
      const agrees = (seen: number) =>
        flags.entries().every(([divisor, { label }]) => isMultipleOf(seen, divisor) === values.get(label));
      return near
        .filter((value) => Number.isSafeInteger(value) && agrees(value))
        .slice(0, FIXED_VALUES_MAX)
        .map((value) => ({ label: ref.label, value }));
    });
  }

  *#listRelevant(labels: ReadonlySet<string>): Generator<AskedFact> {
    for (const { ref, flags } of this.#asked.values()) {
      const asked = [...flags].filter(([, { label }]) => labels.has(label));
      if (asked.length > 0) yield { ref, flags: new Map(asked) };
    }
  }

  #rewriteComparison(comparison: Comparison): Condition {
    const { fact, operator, value } = comparison;
    if (!isAboutUnlisted(comparison) || typeof value !== 'number') return comparison;
    const { flags } = this.#asked.getOrInsertComputed(fact.label, () => ({ ref: fact, flags: new Map() }));
    const flag = flags.getOrInsertComputed(value, () =>
      createProofOnlyFact(`${fact.label} is a multiple of ${value}`, BOOLEAN_DOMAIN),
    );
    const is = flagEquals(flag, operator === 'multipleOf');
    // The condition also names the fact itself, so that what is known about the fact is used for the separate fact,
    // too.
    const { min } = fact.fact.domain.type === 'number' ? fact.fact.domain : { min: 0 };
    return allOf(createComparison(fact, 'greaterThanInclusive', min), is);
  }
}

type ComparedPart = Omit<Comparison, 'kind' | 'at'>;

function isAboutUnlisted({ fact, operator, value }: Comparison): boolean {
  if (operator !== 'multipleOf' && operator !== 'notMultipleOf') return false;
  return typeof value === 'number' && !hasListedMultiples(fact, value);
}

function flagEquals(flag: FactRef, value: boolean): Condition {
  return createComparison(flag, 'equal', value);
}

function isWhole({ fact: { domain } }: FactRef): boolean {
  return domain.type === 'number' && domain.integer;
}

/** Lists, sorted, the numbers with which conditions compare the fact, and the fact's least and greatest value. */
function listPoints({ fact: { domain } }: FactRef, constants: Iterable<FactValue>): readonly number[] {
  if (domain.type !== 'number') return [];
  const { min, max } = domain;
  const inside = [...constants].filter((value) => typeof value === 'number' && value > min && value < max);
  return [...new Set([min, ...inside.map(Number), max])].toSorted((a, b) => a - b);
}

/** Lists what is certain about the multiples at each point, and between each point and the next one. */
function* listFlagsAtPoints(
  ref: FactRef,
  points: readonly number[],
  divisor: number,
  flag: FactRef,
): Generator<Condition> {
  for (const [index, point] of points.entries()) {
    yield implies(createComparison(ref, 'equal', point), flagEquals(flag, isMultipleOf(point, divisor)));
    const next = points[index + 1];
    if (next === undefined) continue;
    const between = allOf(
      createComparison(ref, 'greaterThan', point),
      createComparison(ref, 'lessThan', next),
    );
    if (getLeastMultipleAbove(point, divisor) >= next) yield implies(between, flagEquals(flag, false));
    else if (isWhole(ref) && divisor === 1) yield implies(between, flagEquals(flag, true));
    else if (isWhole(ref) && next - point === 2) yield implies(between, flagEquals(flag, true));
  }
}

/** Lists numbers near the beginning of each remaining span: multiples and other numbers. */
function listCandidates(
  domain: Domain | undefined,
  left: Spans,
  divisors: readonly number[],
): readonly number[] {
  if (domain === undefined) return [];
  return left.flatMap(([low]) => {
    const [start, before] = [domain.toValue(low), domain.toValue(low - 1)].map(Number);
    if (start === undefined || before === undefined) return [];
    const found = [start, start + 0.01, start + 0.1, start + 0.5, start + 1, start + 2, start + 3];
    for (const divisor of divisors) {
      let multiple = Math.min(before, start);
      for (let tried = 0; tried < CANDIDATES_MAX; tried++) {
        multiple = getLeastMultipleAbove(multiple, divisor);
        found.push(multiple);
      }
    }
    return found;
  });
}
