import { formatBase64Number, parseBase64Number } from './client-key.ts';

/**
 * The values of attributes that a payer's verdicts had, where the rule set that decided asks for them: of each attribute
 * the newest by tokens of their pseudonyms, with their times, packed into one text like `card:AbCdEf0mUbUQQZ`. It is read
 * only when a rule asks: most verdicts pass it on.
 */
export type AttributeValues = string;

export const NO_ATTRIBUTE_VALUES: AttributeValues = '';

/** How many values of one attribute a payer's state remembers; counts stop there. */
export const ATTRIBUTE_VALUES_MAX = 16;

/** How long a value is remembered, and the longest window in which values are counted, ms. */
export const ATTRIBUTE_VALUE_MS = 7 * 24 * 3600_000;

/** 36 bits, as of other tokens. */
const TOKEN_CHARACTERS = 6;

/** Epoch ms. */
const TIME_CHARACTERS = 7;

const VALUE_CHARACTERS = TOKEN_CHARACTERS + TIME_CHARACTERS;

interface SeenValue {
  readonly token: string;
  /** When a verdict had it last, epoch ms. */
  readonly at: number;
}

type ValuesByName = ReadonlyMap<string, readonly SeenValue[]>;

/** What stands for a pseudonym among one payer's values. */
export function toAttributeToken(pseudonym: string): string {
  return pseudonym.slice(pseudonym.indexOf(':') + 1).slice(0, TOKEN_CHARACTERS);
}

/** The values with those that a verdict has at `now`, as pseudonyms by the name of their attribute. */
export function noteValues(
  packed: AttributeValues,
  pseudonyms: Iterable<readonly [name: string, pseudonym: string]>,
  now: number,
): AttributeValues {
  const values = new Map(unpack(packed));
  for (const [name, pseudonym] of pseudonyms) {
    const token = toAttributeToken(pseudonym);
    const others = (values.get(name) ?? []).filter((value) => value.token !== token);
    values.set(name, [...others, { token, at: now }].slice(-ATTRIBUTE_VALUES_MAX));
  }
  return pack(values, now - ATTRIBUTE_VALUE_MS);
}

/** The values with other pseudonyms in the place of some; what then is one value counts once, as seen last. */
export function renameValues(
  packed: AttributeValues,
  current: Iterable<readonly [former: unknown, pseudonym: string]>,
): AttributeValues {
  if (packed === NO_ATTRIBUTE_VALUES) return packed;
  const tokens = new Map(
    [...current].map(([former, now]) => [toAttributeToken(String(former)), toAttributeToken(now)]),
  );
  const renamed = [...unpack(packed)].map(([name, seen]) => {
    const values = new Map<string, SeenValue>();
    for (const { token, at } of seen) {
      const now = tokens.get(token) ?? token;
      values.set(now, { token: now, at: Math.max(at, values.get(now)?.at ?? at) });
    }
    return [name, [...values.values()].toSorted((one, other) => one.at - other.at)] as const;
  });
  return pack(new Map(renamed), Number.NEGATIVE_INFINITY);
}

/** Without values that are too old; the same text when there are none. */
export function forgetValues(packed: AttributeValues, now: number): AttributeValues {
  return packed === NO_ATTRIBUTE_VALUES ? packed : pack(unpack(packed), now - ATTRIBUTE_VALUE_MS);
}

/** How many different values verdicts had after `since` (epoch ms), this pseudonym included; null: none is. */
export function countValues(
  packed: AttributeValues,
  name: string,
  pseudonym: string | null,
  since: number,
): number {
  const own = pseudonym === null ? null : toAttributeToken(pseudonym);
  const seen = packed === NO_ATTRIBUTE_VALUES ? [] : (unpack(packed).get(name) ?? []);
  const others = seen.filter(({ token, at }) => token !== own && at > since).length;
  return Math.min(ATTRIBUTE_VALUES_MAX, others + (own === null ? 0 : 1));
}

/** The values with other times for what happened after `to`, where the clock went back from `from`. */
export function moveValuesBack(packed: AttributeValues, from: number, to: number): AttributeValues {
  if (packed === NO_ATTRIBUTE_VALUES) return packed;
  const back = (at: number) => (at > to ? Math.min(to, at - (from - to)) : at);
  const moved = [...unpack(packed)].map(([name, values]) => {
    return [name, values.map(({ token, at }) => ({ token, at: back(at) }))] as const;
  });
  return pack(new Map(moved), Number.NEGATIVE_INFINITY);
}

/** The values as people may read them, those seen last at the end. */
export function listValues(packed: AttributeValues): Readonly<Record<string, readonly SeenValue[]>> {
  return Object.fromEntries(unpack(packed));
}

function unpack(packed: AttributeValues): ValuesByName {
  if (packed === NO_ATTRIBUTE_VALUES) return new Map();
  return new Map(
    packed.split(' ').map((one) => {
      const end = one.indexOf(':');
      return [one.slice(0, end), valuesIn(one.slice(end + 1))] as const;
    }),
  );
}

function valuesIn(text: string): readonly SeenValue[] {
  const values: SeenValue[] = [];
  for (let start = 0; start < text.length; start += VALUE_CHARACTERS) {
    const middle = start + TOKEN_CHARACTERS;
    const at = parseBase64Number(text.slice(middle, start + VALUE_CHARACTERS));
    values.push({ token: text.slice(start, middle), at });
  }
  return values;
}

/** Only those seen after `since`. */
function pack(values: ValuesByName, since: number): AttributeValues {
  return [...values]
    .map(([name, seen]) => [name, seen.filter(({ at }) => at > since)] as const)
    .filter(([, seen]) => seen.length > 0)
    .map(([name, seen]) => {
      return `${name}:${seen.map(({ token, at }) => token + formatBase64Number(at, TIME_CHARACTERS)).join('')}`;
    })
    .join(' ');
}
