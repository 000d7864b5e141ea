import { formatBase64Number, parseBase64Number } from './client-key.ts';

/**
 * The values of attributes in a payer's verdict requests, if the deciding rule set asks for them. The text has the
 * newest values of each attribute, as tokens of their pseudonyms with their times, like `card:AbCdEf0mUbUQQZ`. It is
 * unpacked only when a rule asks, because most verdicts only pass it on.
 */
export type PackedAttributeValues = string;

export const NO_ATTRIBUTE_VALUES: PackedAttributeValues = '';

/** How many values of one attribute a payer's state remembers. Counts stop at this number. */
export const ATTRIBUTE_VALUES_MAX = 16;

/** How long a value is remembered in ms. This is also the longest window in which values are counted. */
export const ATTRIBUTE_VALUE_MS = 7 * 24 * 3600_000;

/** 6 characters of base64 are 36 bits, as in other tokens. */
const TOKEN_CHARACTERS = 6;

/** The digits of an epoch time in ms. */
const TIME_CHARACTERS = 7;

const VALUE_CHARACTERS = TOKEN_CHARACTERS + TIME_CHARACTERS;

interface SeenValue {
  readonly token: string;
  /** When a verdict last had the value, in epoch ms. */
  readonly at: number;
}

type ValuesByName = ReadonlyMap<string, readonly SeenValue[]>;

/** Shortens a pseudonym to the token that stands for it among the values of one payer. */
export function toAttributeToken(pseudonym: string): string {
  return pseudonym.slice(pseudonym.indexOf(':') + 1).slice(0, TOKEN_CHARACTERS);
}

/** Adds the values of a verdict at `now` (epoch ms). The values are pseudonyms by the name of their attribute. */
export function noteAttributeValues(
  packed: PackedAttributeValues,
  pseudonyms: Iterable<readonly [name: string, pseudonym: string]>,
  now: number,
): PackedAttributeValues {
  const values = new Map(unpackValues(packed));
  for (const [name, pseudonym] of pseudonyms) {
    const token = toAttributeToken(pseudonym);
    const others = (values.get(name) ?? []).filter((value) => value.token !== token);
    values.set(name, [...others, { token, at: now }].slice(-ATTRIBUTE_VALUES_MAX));
  }
  return packValues(values, now - ATTRIBUTE_VALUE_MS);
}

/** Replaces some pseudonyms by others. Values that thereby become equal are kept once, with the later time. */
export function replaceAttributePseudonyms(
  packed: PackedAttributeValues,
  current: Iterable<readonly [former: unknown, pseudonym: string]>,
): PackedAttributeValues {
  if (packed === NO_ATTRIBUTE_VALUES) return packed;
  const tokens = new Map(
    [...current].map(([former, now]) => [toAttributeToken(String(former)), toAttributeToken(now)]),
  );
  const renamed = [...unpackValues(packed)].map(([name, seen]) => {
    const values = new Map<string, SeenValue>();
    for (const { token, at } of seen) {
      const now = tokens.get(token) ?? token;
      values.set(now, { token: now, at: Math.max(at, values.get(now)?.at ?? at) });
    }
    return [name, [...values.values()].toSorted((one, other) => one.at - other.at)] as const;
  });
  return packValues(new Map(renamed), Number.NEGATIVE_INFINITY);
}

/** Removes values that are too old. Returns the same text if nothing is removed. */
export function forgetOldAttributeValues(packed: PackedAttributeValues, now: number): PackedAttributeValues {
  return packed === NO_ATTRIBUTE_VALUES ? packed : packValues(unpackValues(packed), now - ATTRIBUTE_VALUE_MS);
}

/**
 * Counts the different values that verdicts had after `since` (epoch ms). `pseudonym` is counted as one of them,
 * unless it is null.
 */
export function countAttributeValues(
  packed: PackedAttributeValues,
  name: string,
  pseudonym: string | null,
  since: number,
): number {
  const own = pseudonym === null ? null : toAttributeToken(pseudonym);
  const seen = packed === NO_ATTRIBUTE_VALUES ? [] : (unpackValues(packed).get(name) ?? []);
  const others = seen.filter(({ token, at }) => token !== own && at > since).length;
  return Math.min(ATTRIBUTE_VALUES_MAX, others + (own === null ? 0 : 1));
}

/** Moves the times after `to` back, because the clock went back from `from` to `to` (epoch ms). */
export function moveAttributeValuesBack(
  packed: PackedAttributeValues,
  from: number,
  to: number,
): PackedAttributeValues {
  if (packed === NO_ATTRIBUTE_VALUES) return packed;
  const back = (at: number) => (at > to ? Math.min(to, at - (from - to)) : at);
  const moved = [...unpackValues(packed)].map(([name, values]) => {
    return [name, values.map(({ token, at }) => ({ token, at: back(at) }))] as const;
  });
  return packValues(new Map(moved), Number.NEGATIVE_INFINITY);
}

/** Lists the values for people, the value that was seen last at the end. */
export function toReadableAttributeValues(
  packed: PackedAttributeValues,
): Readonly<Record<string, readonly SeenValue[]>> {
  return Object.fromEntries(unpackValues(packed));
}

function unpackValues(packed: PackedAttributeValues): ValuesByName {
  if (packed === NO_ATTRIBUTE_VALUES) return new Map();
  return new Map(
    packed.split(' ').map((one) => {
      const end = one.indexOf(':');
      return [one.slice(0, end), parseSeenValues(one.slice(end + 1))] as const;
    }),
  );
}

function parseSeenValues(text: string): readonly SeenValue[] {
  const values: SeenValue[] = [];
  for (let start = 0; start < text.length; start += VALUE_CHARACTERS) {
    const middle = start + TOKEN_CHARACTERS;
    const at = parseBase64Number(text.slice(middle, start + VALUE_CHARACTERS));
    values.push({ token: text.slice(start, middle), at });
  }
  return values;
}

/** Packs only the values that were seen after `since`. */
function packValues(values: ValuesByName, since: number): PackedAttributeValues {
  return [...values]
    .map(([name, seen]) => [name, seen.filter(({ at }) => at > since)] as const)
    .filter(([, seen]) => seen.length > 0)
    .map(([name, seen]) => {
      return `${name}:${seen.map(({ token, at }) => token + formatBase64Number(at, TIME_CHARACTERS)).join('')}`;
    })
    .join(' ');
}
