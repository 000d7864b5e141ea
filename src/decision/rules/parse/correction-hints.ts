import { isScalar, type Node } from 'yaml';
import { formatDuration, parseDuration } from '#base/duration.ts';

/** Members of a rule that a wrong indentation puts among its conditions. */
export const RULE_MEMBERS_BESIDE_CONDITIONS = ['event', 'priority', 'name', 'description'] as const;

/** Members of `params` that people write beside the fact by mistake. */
export const PARAM_NAMES = ['window', 'list'] as const;

/** Operators as spreadsheets, programs and people write them. */
const OTHER_OPERATORS: Readonly<Record<string, string>> = {
  '=': 'equal',
  '==': 'equal',
  '===': 'equal',
  is: 'equal',
  eq: 'equal',
  '!=': 'notEqual',
  '!==': 'notEqual',
  '<>': 'notEqual',
  '≠': 'notEqual',
  ne: 'notEqual',
  not: 'notEqual',
  isNot: 'notEqual',
  '>': 'greaterThan',
  gt: 'greaterThan',
  above: 'greaterThan',
  moreThan: 'greaterThan',
  '>=': 'greaterThanInclusive',
  '=>': 'greaterThanInclusive',
  '≥': 'greaterThanInclusive',
  ge: 'greaterThanInclusive',
  gte: 'greaterThanInclusive',
  atLeast: 'greaterThanInclusive',
  '<': 'lessThan',
  lt: 'lessThan',
  below: 'lessThan',
  '<=': 'lessThanInclusive',
  '=<': 'lessThanInclusive',
  '≤': 'lessThanInclusive',
  le: 'lessThanInclusive',
  lte: 'lessThanInclusive',
  atMost: 'lessThanInclusive',
  'is in': 'in',
  'not in': 'notIn',
  'is not': 'notEqual',
  oneOf: 'in',
  anyOf: 'in',
  noneOf: 'notIn',
  exists: 'known',
};

/** Guesses the operator that another sign or word stands for. Returns null if it stands for none. */
export function guessOperator(written: unknown): string | null {
  const text = String(written);
  return Object.hasOwn(OTHER_OPERATORS, text) ? (OTHER_OPERATORS[text] ?? null) : null;
}

const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

interface NumberKind {
  readonly max: number;
  readonly unit?: string | null;
}

/** Writes the end of a message about a wrong number: how to write the number that was probably meant. */
export function formatNumberHint(written: unknown, { max, unit }: NumberKind): string {
  if (typeof written !== 'string') return '';
  const text = written.normalize('NFKC').trim();
  if (PLAIN_NUMBER.test(text)) return `; write ${text}${text === written ? ', without quotes' : ''}`;
  const [, share] = /^(\d+(?:[.,]\d+)?) ?%$/.exec(text) ?? [];
  if (share !== undefined) {
    const percent = Number(share.replace(',', '.'));
    return `; write ${max === 1 ? Number((percent / 100).toFixed(6)) : percent}`;
  }
  const ms = guessDuration(text);
  if (ms !== null && unit === 'seconds') return `; ${text} is ${ms / 1000} seconds, so write ${ms / 1000}`;
  const number = guessAmount(text);
  return number === null ? '' : `; write ${number}`;
}

/**
 * Guesses an amount like `250 EUR` or `1,000.50`. Returns the amount as rules write it: 250 or 1000.50. Returns null
 * for other texts.
 */
export function guessAmount(text: string): string | null {
  const [, digits = ''] = /^[^\d-]{0,4}(\d[\d., '_]*)[^\d-]{0,4}$/.exec(text) ?? [];
  return normalizeDigits(digits.trim());
}

/**
 * Converts digits like `1,000,000.00`, `86 400` and `500,00` to digits with a point before the decimals and no other
 * sign.
 */
function normalizeDigits(digits: string): string | null {
  const decimal = /^(\d+),(\d{1,2})$/.exec(digits);
  if (decimal !== null) return `${decimal[1]}.${decimal[2]}`;
  const grouped = /^(\d{1,3}(?:([,. '_])\d{3})(?:\2\d{3})*)(?:[.,](\d{1,2}))?$/.exec(digits);
  if (grouped !== null) {
    const whole = (grouped[1] ?? '').replaceAll(/\D/g, '');
    return grouped[3] === undefined ? whole : `${whole}.${grouped[3]}`;
  }
  return PLAIN_NUMBER.test(digits) ? digits : null;
}

const YES = new Set(['yes', 'y', 'on', 'true', '1', 'ja', 'oui']);
const NO = new Set(['no', 'n', 'off', 'false', '0', 'nein', 'non']);

/** Writes the end of a message about a value that should be true or false. */
export function formatBooleanHint(written: unknown): string {
  const word = String(written).toLowerCase();
  if (!YES.has(word) && !NO.has(word)) return '';
  const meant = YES.has(word);
  return `; write ${meant}${written === String(meant) ? ', without quotes' : ''}`;
}

/**
 * Writes the end of a message about a value that should be a text. For example, the first digits of a card are a
 * number unless they have quotes.
 */
export function formatTextHint(node: Node): string {
  if (!isScalar(node) || (typeof node.value !== 'number' && typeof node.value !== 'boolean')) return '';
  return `; write "${node.source ?? node.value}"`;
}

const UNITS: readonly (readonly [RegExp, 's' | 'm' | 'h' | 'd', number])[] = [
  [/^s(ec(ond)?s?)?$/i, 's', 1],
  [/^m(in(ute)?s?)?$/i, 'm', 1],
  [/^h((ou)?rs?)?$/i, 'h', 1],
  [/^d(ays?)?$/i, 'd', 1],
  [/^w(eeks?)?$/i, 'd', 7],
];

/** Returns the milliseconds of a text like `10 minutes`, `1.5h` or `2 weeks`. Returns null for other texts. */
function guessDuration(text: string): number | null {
  const [, amount, word = ''] = /^(\d+(?:[.,]\d+)?)\s*([a-z]+)\.?$/i.exec(text) ?? [];
  const unit = UNITS.find(([pattern]) => pattern.test(word));
  const one = unit === undefined ? null : parseDuration(`1${unit[1]}`);
  if (amount === undefined || unit === undefined || one === null) return null;
  const ms = Math.round(Number(amount.replace(',', '.')) * unit[2] * one);
  return ms > 0 && ms % 1000 === 0 ? ms : null;
}

/** Writes the end of a message about a value that should be a duration. */
export function formatDurationHint(written: unknown): string {
  if (typeof written === 'string' && /;|\d[smhd] +\d/.test(written))
    return '; write a comma between the items of a list';
  if (typeof written === 'string' && /\/\/|#/.test(written)) return '; a comment begins with a space and #';
  if (typeof written === 'number' && Number.isSafeInteger(written) && written > 0)
    return `; a unit is missing: write ${written}s, ${written}m, ${written}h or ${written}d`;
  const ms = typeof written === 'string' ? guessDuration(written.trim()) : null;
  return ms === null ? '' : `; write ${formatDuration(ms)}`;
}

/** Writes the end of a message about a value that should be a list. */
export function formatListHint(node: Node | null): string {
  if (!isScalar(node)) return node === null ? '' : '; begin each item with "- "';
  const { value } = node;
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  if (/^-\S/.test(String(value))) return '; write a space after the dash of each item';
  const [, inner = String(value)] = /^\((.*)\)$/.exec(String(value)) ?? [];
  const isOfCodes = /^[A-Z0-9_]{3,}(?: [A-Z0-9_]{3,})+$/.test(inner);
  const items = inner.split(isOfCodes ? ' ' : /[,;]/).map((item) => item.trim());
  return items.includes('') ? '' : `; write [${items.join(', ')}]`;
}

/** The parts of conditions by the words that other rule languages use. */
const OTHER_PARTS: Readonly<Record<string, string>> = { and: 'all', or: 'any', none: 'not' };

/** Guesses the part of conditions that another word stands for. Returns null if it stands for none. */
export function guessConditionKeyword(name: string): string | null {
  const word = name.toLowerCase();
  return Object.hasOwn(OTHER_PARTS, word) ? (OTHER_PARTS[word] ?? null) : null;
}

/** Writes the end of a message about a condition that is written as a formula. */
export function formatConditionHint(written: unknown): string {
  const [, fact, sign, value] = /^(\w+(?:\([^()]*\))?) *([=<>!≤≥]+) *(\S+)$/u.exec(String(written)) ?? [];
  const operator = guessOperator(sign);
  if (fact === undefined || operator === null) return '';
  return `; write { ${formatFactAsYaml(fact)}, operator: ${operator}, value: ${value} }`;
}

/**
 * Converts `verdicts(10m)`, which is the form in reasons, to the form in rules: `fact: verdicts, params: { window:
 * 10m }`.
 */
export function formatFactAsYaml(text: string): string {
  const [, name = text, param] = /^(\w+)\(([^()]*)\)$/.exec(text) ?? [];
  if (param === undefined) return `fact: ${name}`;
  return `fact: ${name}, params: { ${parseDuration(param) === null ? 'list' : 'window'}: ${param} }`;
}
