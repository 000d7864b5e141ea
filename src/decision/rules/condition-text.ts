import type { FactValue, NullableFactValue } from '#decision/facts/fact.ts';
import {
  type ComparedWith,
  type ExpectedConstants,
  isFactRef,
  NOT_KNOWN_TEXT,
  type OperatorName,
} from './condition.ts';

const SIGNS: Readonly<Record<OperatorName, string>> = {
  equal: '=',
  notEqual: '!=',
  lessThan: '<',
  lessThanInclusive: '<=',
  greaterThan: '>',
  greaterThanInclusive: '>=',
  in: 'in',
  notIn: 'not in',
  multipleOf: 'is a multiple of',
  notMultipleOf: 'is no multiple of',
  known: 'known =',
};

/**
 * Finds the sign of an operator, like `>=` for greaterThanInclusive. Returns the text unchanged if it is no operator.
 */
export function getOperatorSign(operator: string): string {
  return Object.entries(SIGNS).find(([name]) => name === operator)?.[1] ?? operator;
}

/**
 * Formats how a comparison tests its fact: `>= 3`, `in [EUR, USD]`, `in the list fast-methods`, `=
 * attribute(ipCountry)`.
 */
export function formatComparisonTest(operator: OperatorName, expected: ComparedWith, list?: string): string {
  if (isFactRef(expected)) return `${SIGNS[operator]} ${expected.label}`;
  if (operator === 'known') return expected === true ? 'is known' : 'is not known';
  return `${SIGNS[operator]} ${list === undefined ? formatExpectedValue(expected) : `the list ${list}`}`;
}

/** Formats a value or a list of values for people: `3`, `EUR`, `"two words"`, `[EUR, USD]`, `not known`. */
export function formatExpectedValue(value: ExpectedConstants | null): string {
  if (value === null) return NOT_KNOWN_TEXT;
  return typeof value === 'object' ? `[${value.map(formatFactValue).join(', ')}]` : formatFactValue(value);
}

/** Formats a value as rule files write it. */
export function formatFactValue(value: FactValue): string {
  return typeof value === 'string' ? formatCallerText(value) : String(value);
}

/** Formats a text of a caller: one plain word stays unchanged, any other text gets quotes. */
export function formatCallerText(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : quoteText(text);
}

/**
 * Puts a text in quotes, and escapes every character that could control a terminal or reverse the direction of the
 * text.
 */
export function quoteText(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Joins words like `a, b and c`. */
export function joinWords(items: readonly string[], last: 'and' | 'or'): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}

/** Formats names of shared lists like `the shared lists "a" or "b"`. */
export function formatSharedListNames(names: readonly string[]): string {
  return `the shared ${names.length === 1 ? 'list' : 'lists'} ${joinWords(
    names.map((name) => `"${name}"`),
    'or',
  )}`;
}

interface SeenFact {
  readonly fact: string;
  readonly operator: OperatorName;
  /** The constants, or the value of the other fact. Null if the other fact is not known. */
  readonly expected: ExpectedConstants | null;
  /** The list of the rule set that contains the expected values. */
  readonly list?: string;
  /** The label of the fact on the right side. `expected` is the value of that fact. */
  readonly otherFact?: string;
  readonly seen: NullableFactValue;
  readonly passed: boolean;
}

/** The text that is shown for a pseudonym that was compared with a clear constant. */
export const HIDDEN_PSEUDONYM = 'hmac:..';

/**
 * Describes the values that a comparison saw, like "waitRemainingSeconds is 1, above 0". The description is true
 * whether the comparison passed or not.
 */
export function formatSeenFact(comparison: SeenFact): string {
  const { fact, operator, expected, list, otherFact, seen, passed } = comparison;
  const is = `${fact} is ${formatExpectedValue(seen)}`;
  if (operator === 'known' && seen !== null)
    return passed ? is : `${is}, and the condition asks for no value`;
  if (seen === null) return is;
  if (otherFact !== undefined) return formatPair(is, comparison, otherFact);
  if (seen === HIDDEN_PSEUDONYM) return formatHashed(comparison);
  const limit =
    typeof expected === 'object' && expected !== null
      ? expected.map(formatExpectedValue).join(', ')
      : formatExpectedValue(expected);
  if (list !== undefined) {
    return `${is}, ${(operator === 'in') === passed ? 'an entry of' : 'none of those on'} the list ${list}`;
  }
  return formatComparison(is, operator, limit, passed);
}

/**
 * Describes a comparison of a pseudonym, like "attribute(card) is one of 411111, 400000". It does not show the
 * pseudonym, nor which of several constants the pseudonym equals.
 */
function formatHashed({ fact, operator, expected, list, passed }: SeenFact): string {
  const isOne = (operator === 'equal' || operator === 'in') === passed;
  if (list !== undefined) return `${fact} is ${isOne ? 'an entry of' : 'none of those on'} the list ${list}`;
  if (typeof expected === 'object' && expected !== null)
    return `${fact} is ${isOne ? 'one' : 'none'} of ${expected.map(formatFactValue).join(', ')}`;
  return `${fact} is ${isOne ? '' : 'not '}${formatExpectedValue(expected)}`;
}

/**
 * Describes a comparison with another fact, like "attribute(ipCountry) is DE, not attribute(cardCountry), which is
 * FR".
 */
function formatPair(is: string, { operator, expected, passed }: SeenFact, otherFact: string): string {
  const other = `${otherFact}, which is ${formatExpectedValue(expected)}`;
  if (expected === null) return `${is}, and ${otherFact} is ${NOT_KNOWN_TEXT}`;
  const isEqual = (operator === 'equal') === passed;
  if (operator === 'equal' || operator === 'notEqual') return `${is}, ${isEqual ? 'as' : 'not'} ${other}`;
  return formatComparison(is, operator, other, passed);
}

function formatComparison(is: string, operator: OperatorName, limit: string, passed: boolean): string {
  const unless = passed ? '' : 'not ';
  const texts: Readonly<Record<OperatorName, string>> = {
    equal: passed ? is : `${is}, not ${limit}`,
    notEqual: passed ? `${is}, not ${limit}` : `${is}, which the condition excludes`,
    lessThan: `${is}, ${unless}below ${limit}`,
    lessThanInclusive: `${is}, ${unless}at most ${limit}`,
    greaterThan: `${is}, ${unless}above ${limit}`,
    greaterThanInclusive: `${is}, ${unless}at least ${limit}`,
    in: `${is}, ${passed ? 'one' : 'none'} of ${limit}`,
    notIn: `${is}, ${passed ? 'none' : 'one'} of ${limit}`,
    multipleOf: `${is}, ${passed ? 'a' : 'no'} multiple of ${limit}`,
    notMultipleOf: `${is}, ${passed ? 'no' : 'a'} multiple of ${limit}`,
    known: is,
  };
  return texts[operator];
}
