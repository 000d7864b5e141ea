import type { FactReading, FactValue } from '../facts/fact.ts';
import type { Expected, OperatorName } from './condition.ts';

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

/** `>=` of greaterThanInclusive; of what is no operator the text itself. */
export function signOf(operator: string): string {
  return Object.entries(SIGNS).find(([name]) => name === operator)?.[1] ?? operator;
}

/** What a comparison demands of its fact: `>= 3`, `in [EUR, USD]`, `in the list fast-methods`. */
export function testText(operator: OperatorName, expected: Expected, list?: string): string {
  if (operator === 'known') return expected === true ? 'is known' : 'is not known';
  return `${SIGNS[operator]} ${list === undefined ? valueText(expected) : `the list ${list}`}`;
}

/** A value, or a list of values, for people: `3`, `EUR`, `"two words"`, `[EUR, USD]`, `not known`. */
export function valueText(value: Expected | null): string {
  if (value === null) return NOT_KNOWN;
  return typeof value === 'object' ? `[${value.map(formatValue).join(', ')}]` : formatValue(value);
}

/** What people read where a fact has no value. */
export const NOT_KNOWN = 'not known';

/** A value as rule files write it. */
export function formatValue(value: FactValue): string {
  return typeof value === 'string' ? nameText(value) : String(value);
}

/** A caller's text as it is when it is one plain word, otherwise quoted. */
export function nameText(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : quoted(text);
}

/** In quotes, without anything that could steer a terminal or reverse the line. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `a, b and c` */
export function listText(items: readonly string[], last: 'and' | 'or'): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}

/** `the shared lists "a" or "b"` */
export function sharedListsText(names: readonly string[]): string {
  return `the shared ${names.length === 1 ? 'list' : 'lists'} ${listText(
    names.map((name) => `"${name}"`),
    'or',
  )}`;
}

interface SeenFact {
  readonly fact: string;
  readonly operator: OperatorName;
  readonly expected: Expected;
  /** The list of the rule set that the expected values stand in. */
  readonly list?: string;
  readonly seen: FactReading;
  readonly passed: boolean;
}

/** "waitRemainingSeconds is 1, above 0"; true as it stands, whether the rule wanted that or not. */
export function seenText({ fact, operator, expected, list, seen, passed }: SeenFact): string {
  const is = `${fact} is ${valueText(seen)}`;
  if (operator === 'known' && seen !== null)
    return passed ? is : `${is}, and the condition asks for no value`;
  if (seen === null) return is;
  if (list !== undefined) {
    return `${is}, ${(operator === 'in') === passed ? 'an entry of' : 'none of those on'} the list ${list}`;
  }
  return comparedText(operator, expected, is, passed);
}

function comparedText(operator: OperatorName, expected: Expected, is: string, passed: boolean): string {
  const limit = typeof expected === 'object' ? expected.map(valueText).join(', ') : valueText(expected);
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
