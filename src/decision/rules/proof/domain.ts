import type { FactValue, NullableFactValue } from '#decision/facts/fact.ts';
import type { ExpectedConstants, FactRef, OperatorName } from '#decision/rules/condition.ts';
import { createComparisonMatcher } from '#decision/rules/matcher.ts';
import { findFactDecimals, findFactTextForm, type TextForm } from '#decision/rules/value-forms.ts';

/**
 * The values of a fact, numbered by size. Everything that a condition can say about the fact is then a set of whole
 * numbers. Values that no condition distinguishes may share a number.
 */
export interface Domain {
  readonly all: Spans;
  /** Finds the numbers of the values for which the comparison with `expected` holds. */
  readonly findNumbers: (operator: OperatorName, expected: ExpectedConstants) => Spans;
  readonly toValue: (number: number) => NullableFactValue;
  readonly toNumber: (value: NullableFactValue) => number;
  /**
   * The number of the value 0, if values may be below 0. When a proof picks a value for an example, it picks 0 if 0
   * is possible, and the least value otherwise.
   */
  readonly zero?: number;
}

/**
 * How many multiples a domain lists one by one. If there are more, proofs use a separate fact, see
 * `MultiplesAsFacts`.
 */
const LISTED_MULTIPLES_MAX = 4096;

/** Whether the multiples of a divisor are listed among the values of the fact. */
export function hasListedMultiples(ref: FactRef, divisor: number): boolean {
  const { domain } = ref.fact;
  if (domain.type !== 'number' || divisor <= 0) return true;
  const isStepped = domain.integer || findFactDecimals(ref) !== null;
  return isStepped && (domain.max - domain.min) / divisor <= LISTED_MULTIPLES_MAX;
}

/**
 * Makes a different text of one character for each number from 0. The texts are that short because an attribute may
 * be declared with a length of one character.
 */
export function toOneCharacterText(number: number): string {
  return String.fromCodePoint(number < LETTERS ? 0x41 + number : 0x61 + number - LETTERS);
}

const LETTERS = 26;

const SHORT_FORM: TextForm = {
  pattern: /^/,
  words: 'an attribute is any text',
  createText: toOneCharacterText,
};

/** Builds the domain of a fact. `constants` are the values with which conditions compare the fact. */
export function buildDomain(ref: FactRef, constants: readonly FactValue[]): Domain {
  const known = createKnownDomain(ref, constants);
  return ref.fact.absence === undefined ? known : addUnknown(known);
}

/** Adds a last number, which stands for "no value". */
function addUnknown(known: Domain): Domain {
  const unknown = getHighestNumber(known.all) + 1;
  const alone: Spans = [[unknown, unknown]];
  return {
    all: mergeSpans([...known.all, ...alone]),
    findNumbers: (operator, expected) =>
      operator === 'known' && expected !== true ? alone : known.findNumbers(operator, expected),
    toValue: (number) => (number === unknown ? null : known.toValue(number)),
    toNumber: (value) => (value === null ? unknown : known.toNumber(value)),
    ...(known.zero === undefined ? {} : { zero: known.zero }),
  };
}

function createKnownDomain(ref: FactRef, constants: readonly FactValue[]): Domain {
  const { domain } = ref.fact;
  switch (domain.type) {
    case 'number': {
      const decimals = domain.integer ? 0 : findFactDecimals(ref);
      if (decimals === null && domain.min < 0) return createDomainWithZero(domain, constants);
      if (decimals === null) return createContinuousDomain(domain.min, domain.max, constants);
      const steps = 10 ** decimals;
      return createSteppedDomain(Math.ceil(domain.min * steps), Math.floor(domain.max * steps), steps);
    }
    case 'boolean':
      return createListedDomain([false, true]);
    case 'enum':
      return createListedDomain(domain.values);
    case 'text':
      return createListedDomain(
        listTexts(constants, ref.fact.kind === 'attribute' ? SHORT_FORM : findFactTextForm(ref)),
      );
    default:
      return domain satisfies never;
  }
}

function createListedDomain(values: readonly FactValue[]): Domain {
  const each = values.map((_, index): Spans => [[index, index]]);
  const value = (number: number) => values[number] ?? false;
  return {
    all: mergeSpans([[0, values.length - 1]]),
    findNumbers: (operator, expected) => findNumbersWhere(operator, expected, each, value),
    toValue: value,
    toNumber: (wanted) => (wanted === null ? -1 : values.indexOf(wanted)),
  };
}

/**
 * Finds the numbers of the values for which the comparison with `expected` holds. The operator treats all values of
 * one piece alike, so only the first value of each piece is tested.
 */
function findNumbersWhere(
  operator: OperatorName,
  expected: ExpectedConstants,
  pieces: readonly Spans[],
  value: (number: number) => FactValue,
): Spans {
  const holds = createComparisonMatcher(0, operator, expected);
  return mergeSpans(
    pieces.filter((piece) => piece.length > 0 && holds([value(getLowestNumber(piece))])).flat(),
  );
}

/** Builds a domain of the multiples of 1 / `steps`. */
function createSteppedDomain(low: number, high: number, steps: number): Domain {
  const all = mergeSpans([[low, high]]);
  const domain = createOrderedDomain(all, {
    below: (value) => {
      let number = Math.ceil(value * steps);
      while (number / steps >= value) number--;
      return number;
    },
    upTo: (value) => {
      let number = Math.floor(value * steps) + 1;
      while (number / steps > value) number--;
      return number;
    },
    value: (number) => number / steps,
  });
  return {
    ...domain,
    findNumbers: (operator, expected) => {
      if (operator !== 'multipleOf' && operator !== 'notMultipleOf')
        return domain.findNumbers(operator, expected);
      const multiples = listMultiples(all, Math.max(1, Math.round(Number(expected) * steps)));
      return operator === 'multipleOf' ? multiples : subtractSpans(all, multiples);
    },
  };
}

function listMultiples(all: Spans, by: number): Spans {
  const multiples: Span[] = [];
  for (let number = Math.ceil(getLowestNumber(all) / by) * by; number <= getHighestNumber(all); number += by)
    multiples.push([number, number]);
  return mergeSpans(multiples);
}

/**
 * Builds a domain of all values between `min` and `max`. Each constant gets an even number. All values between two
 * constants share the odd number between the numbers of these constants.
 */
function createContinuousDomain(min: number, max: number, constants: readonly FactValue[]): Domain {
  const inside = constants.filter((value) => typeof value === 'number').filter((value) => value > min);
  const points = [...new Set([min, ...inside.filter((value) => value < max), max])].toSorted((a, b) => a - b);
  const position = (value: number) => points.findIndex((point) => point >= value);
  const gap = (index: number): number | null => findBetween(points[index] ?? min, points[index + 1] ?? max);
  const numbers = points.flatMap((_, index): Span[] => {
    const point: Span = [2 * index, 2 * index];
    const last = index === points.length - 1;
    return last || gap(index) === null ? [point] : [point, [2 * index + 1, 2 * index + 1]];
  });
  const last = 2 * (points.length - 1);
  return createOrderedDomain(mergeSpans(numbers), {
    below: (value) => (position(value) < 0 ? last : 2 * position(value) - 1),
    upTo: (value) => {
      const at = position(value);
      return at < 0 ? last : points[at] === value ? 2 * at : 2 * at - 1;
    },
    value: (number) => (number % 2 === 0 ? points[number / 2] : (gap((number - 1) / 2) ?? undefined)) ?? min,
  });
}

function createDomainWithZero(
  { min, max }: { readonly min: number; readonly max: number },
  constants: readonly FactValue[],
): Domain {
  const domain = createContinuousDomain(min, max, [...constants, 0]);
  return { ...domain, zero: domain.toNumber(0) };
}

interface NumberOrder {
  /** Returns the number of the greatest value below the given value. */
  readonly below: (value: number) => number;
  /** Returns the number of the greatest value that is at most the given value. */
  readonly upTo: (value: number) => number;
  readonly value: (number: number) => number;
}

function createOrderedDomain(all: Spans, { below, upTo, value }: NumberOrder): Domain {
  return {
    all,
    findNumbers: (operator, expected) => {
      const limits = [expected].flat().filter((limit) => typeof limit === 'number');
      const starts = new Set(limits.flatMap((limit) => [below(limit) + 1, upTo(limit) + 1]));
      const cuts = [Number.NEGATIVE_INFINITY, ...[...starts].toSorted((a, b) => a - b)];
      const pieces = cuts.map((start, index) => {
        return clipSpans(all, start, (cuts[index + 1] ?? Number.POSITIVE_INFINITY) - 1);
      });
      return findNumbersWhere(operator, expected, pieces, value);
    },
    toValue: value,
    toNumber: (wanted) => (typeof wanted === 'number' ? upTo(wanted) : Number.NaN),
  };
}

function clipSpans(all: Spans, low: number, high: number): Spans {
  return mergeSpans(all.map(([from, to]): Span => [Math.max(from, low), Math.min(to, high)]));
}

/** Finds a number with few digits between two other numbers. Returns null if no double lies between them. */
function findBetween(low: number, high: number): number | null {
  for (let digits = 0; digits <= 10; digits++) {
    const number = Number((Math.floor(low * 10 ** digits + 1) / 10 ** digits).toFixed(digits));
    if (number > low && number < high) return number;
  }
  const middle = low + (high - low) / 2;
  return middle > low && middle < high ? middle : null;
}

/** Lists the texts that conditions name, and one text that none of them names. */
function listTexts(constants: readonly FactValue[], form: TextForm | null): readonly string[] {
  const named = [...new Set(constants.filter((value) => typeof value === 'string'))];
  const possible = form === null ? named : named.filter((value) => form.pattern.test(value));
  return [...possible, findUnnamedText(new Set(named), form)];
}

function findUnnamedText(named: ReadonlySet<string>, form: TextForm | null): string {
  for (let number = 0; ; number++) {
    const text = form === null ? `other${number === 0 ? '' : `-${number}`}` : form.createText(number);
    if (!named.has(text)) return text;
  }
}

/** Whole numbers from the first to the second, both included. */
type Span = readonly [low: number, high: number];

/** A set of whole numbers: sorted spans that neither overlap nor touch. */
export type Spans = readonly Span[];

/** Merges spans to the set of all their numbers. A span that ends before it begins is empty. */
export function mergeSpans(spans: readonly Span[]): Spans {
  const merged: [number, number][] = [];
  for (const [low, high] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (high < low) continue;
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

export function intersectSpans(a: Spans, b: Spans): Spans {
  const common: Span[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [lowA, highA] = a[i] ?? [0, -1];
    const [lowB, highB] = b[j] ?? [0, -1];
    const low = Math.max(lowA, lowB);
    const high = Math.min(highA, highB);
    if (low <= high) common.push([low, high]);
    if (highA < highB) i++;
    else j++;
  }
  return common;
}

export function subtractSpans(whole: Spans, spans: Spans): Spans {
  const gaps: Span[] = [];
  let next = Number.NEGATIVE_INFINITY;
  for (const [low, high] of spans) {
    gaps.push([next, low - 1]);
    next = high + 1;
  }
  gaps.push([next, Number.POSITIVE_INFINITY]);
  return intersectSpans(whole, gaps);
}

export function hasOverlap(a: Spans, b: Spans): boolean {
  return intersectSpans(a, b).length > 0;
}

export function includesSpans(whole: Spans, part: Spans): boolean {
  let i = 0;
  for (const [low, high] of part) {
    while (i < whole.length && (whole[i]?.[1] ?? 0) < high) i++;
    const around = whole[i];
    if (around === undefined || around[0] > low) return false;
  }
  return true;
}

/** Returns the least number, or Infinity for an empty set. */
export function getLowestNumber(spans: Spans): number {
  return spans[0]?.[0] ?? Number.POSITIVE_INFINITY;
}

/** Returns the greatest number, or -Infinity for an empty set. */
export function getHighestNumber(spans: Spans): number {
  return spans.at(-1)?.[1] ?? Number.NEGATIVE_INFINITY;
}
