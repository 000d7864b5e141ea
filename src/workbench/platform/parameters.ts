import { hasNulCharacter, KEY_CHARACTERS_MAX } from '#base/key-length.ts';
import { INSTANT_SCHEMA } from '#base/shapes.ts';
import {
  createParameterProblem,
  type Parameter,
  type RouteContext,
} from '#checkout/http/operation/parameter.ts';
import { declareRefusal } from '#checkout/http/request/problems.ts';
import { toEpochMs } from '#decision/payer/instant.ts';

/** Parameters of requests. Files that need several import all of them as `query`. */

/** The refusal of a query with a parameter that is not known, not valid, or came more than once. */
export const BAD_PARAMETER = declareRefusal(
  'bad-parameter',
  'A parameter of the query is not known, not valid, or came more than once.',
  createParameterProblem,
  'The parameter limit must be a whole number from 1 to 500.',
);

type Said<Parameters> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends Parameter<infer Value> ? Value : never;
};

/**
 * Reads the declared parameters of a request. Returns their values by name. Throws a problem (400) if one is not
 * valid.
 */
export function readParameters<Parameters extends object>(
  ctx: RouteContext,
  parameters: Parameters,
): Said<Parameters>;
export function readParameters(
  ctx: RouteContext,
  parameters: Readonly<Record<string, Parameter<unknown>>>,
): object {
  return Object.fromEntries(Object.entries(parameters).map(([name, one]) => [name, one.read(ctx)]));
}

export function pathParameter(name: string, description: string, told: object = {}): Parameter<string> {
  const schema = { type: 'string', minLength: 1, ...told };
  return { name, in: 'path', required: true, description, schema, read: ({ params }) => params[name] ?? '' };
}

/**
 * Declares a parameter of the query that may be left out. `read` gets its text. The text is null if the parameter is
 * missing.
 */
function declareQueryParameter<Value>(
  name: string,
  description: string,
  schema: object,
  read: (text: string | null) => Value,
  isKey = true,
): Parameter<Value> {
  const readOnce = (ctx: RouteContext) => {
    const text = ctx.query[name] ?? null;
    if (Array.isArray(text)) throw createParameterProblem(`The parameter ${name} must come once.`);
    if (text !== null && isKey) requireKey(text, name);
    return read(text);
  };
  return { name, in: 'query', required: false, description, schema, read: readOnce };
}

/**
 * Declares a text of 1 to 256 characters. Its value is null if it is missing. `told` adds members to its schema. They
 * describe what its reader checks in addition.
 */
export function textParameter(
  name: string,
  description: string,
  told: object = {},
): Parameter<string | null> {
  const schema = { type: 'string', minLength: 1, maxLength: KEY_CHARACTERS_MAX, ...told };
  return declareQueryParameter(name, description, schema, (text) => text);
}

/**
 * Declares a required text of 1 to 256 characters. It names the thing that a request is about, which may have any
 * name.
 */
export function requiredTextParameter(name: string, description: string): Parameter<string> {
  const wanted = textParameter(name, description);
  return {
    ...wanted,
    required: true,
    read: (ctx) => {
      if (!isDecodable(ctx.querystring)) {
        throw createParameterProblem(`The query is not percent-encoded UTF-8; encode the ${name} in it.`);
      }
      const value = wanted.read(ctx);
      if (value === null) throw createParameterProblem(`The parameter ${name} is required.`);
      return value;
    },
  };
}

/** Declares a choice of words. Its value is null if it is missing. */
export function choiceParameter<const T extends string>(
  name: string,
  allowed: readonly T[],
  description: string,
): Parameter<T | null> {
  return declareQueryParameter(name, description, { type: 'string', enum: allowed }, (text) => {
    const choice = text === null ? null : allowed.find((one) => one === text);
    if (choice !== undefined) return choice;
    throw createParameterProblem(`The parameter ${name} must be one of ${allowed.join(', ')}.`);
  });
}

/** Declares a moment in the form of RFC 3339. Its value is epoch ms. It is null if the moment is missing. */
export function instantParameter(name: string, description: string): Parameter<number | null> {
  return declareQueryParameter(name, `${description}; RFC 3339`, INSTANT_SCHEMA, (text) => {
    const at = toEpochMs(text);
    if (text === null || at !== null) return at;
    throw createParameterProblem(`The parameter ${name} must be a moment like 2026-11-21T10:00:00Z.`);
  });
}

const AMOUNT = /^\d{1,15}(\.\d{1,9})?$/;

/** Declares a decimal number from 0. Its value is null if it is missing. */
export function amountParameter(name: string, description: string): Parameter<number | null> {
  const schema = { type: 'string', pattern: AMOUNT.source };
  const read = (text: string | null) => {
    if (text === null) return null;
    if (AMOUNT.test(text)) return Number(text);
    throw createParameterProblem(
      `The parameter ${name} must be a decimal number like 25 or 25.00, with at most 15 digits and 9 decimals.`,
    );
  };
  return declareQueryParameter(name, description, schema, read, false);
}

/** Declares the most items that an answer lists: a whole number up to a limit. */
export function limitParameter(bounds = { default: 100, max: 500 }): Parameter<number> {
  return wholeNumberParameter('limit', { min: 1, ...bounds }, 'The most entries to list');
}

/**
 * The form in which an answer gives a position in a list, and the parser of that form. The parser returns null for a
 * text that never was a position.
 */
interface CursorForm<Place> {
  readonly pattern: RegExp;
  readonly read: (text: string) => Place | null;
}

/**
 * Declares the position after which a list continues: the `next` of an earlier answer. Its value is null if it is
 * missing.
 */
export function afterParameter<Place>({
  pattern,
  read: readPlace,
}: CursorForm<Place>): Parameter<Place | null> {
  const schema = { type: 'string', pattern: pattern.source };
  const read = (text: string | null) => {
    if (text === null) return null;
    const place = pattern.test(text) ? readPlace(text) : null;
    if (place !== null) return place;
    throw createParameterProblem(
      'The parameter after must be the `next` of an earlier answer, unchanged; without it the list begins at its start.',
    );
  };
  return declareQueryParameter(
    'after',
    'The `next` of the previous answer; absent: from the beginning',
    schema,
    read,
    false,
  );
}

export const NUMBER_CURSOR: CursorForm<number> = { pattern: /^[1-9]\d{0,14}$/, read: Number };

export function declareTextCursor(pattern: RegExp): CursorForm<string> {
  return { pattern, read: (text) => text };
}

interface PageAsk<Place> {
  readonly after: Place | null;
  readonly limit: number;
}

/** Sorts a complete list by the positions of its items and cuts a page from it. */
export function cutPage<Item, Place extends string | number>(
  items: readonly Item[],
  placeOf: (item: Item) => Place,
  { after, limit }: PageAsk<Place>,
  order: 'ascending' | 'descending' = 'descending',
): { readonly page: readonly Item[]; readonly next: string | null } {
  const sign = order === 'ascending' ? 1 : -1;
  const compare = (a: Place, b: Place) => (a === b ? 0 : a < b ? -sign : sign);
  const left = items
    .filter((item) => after === null || compare(placeOf(item), after) > 0)
    .toSorted((a, b) => compare(placeOf(a), placeOf(b)));
  const page = left.slice(0, limit);
  const last = left.length > limit ? page.at(-1) : undefined;
  return { page, next: last === undefined ? null : String(placeOf(last)) };
}

const LIMIT = limitParameter();
const AFTER_MOMENT = afterParameter(declareTextCursor(/^\d{13}-[\w.-]{1,64}$/));

/**
 * The parameters `after` (the moment and id after which to continue) and `limit` of a list whose pages begin with the
 * newest items.
 */
export const NEWEST_PAGE_PARAMETERS: readonly Parameter<unknown>[] = [AFTER_MOMENT, LIMIT];

/**
 * Cuts the page that a request asks for from a complete list, the newest first. `placeOf` returns the moment and the
 * id of an item.
 */
export function cutNewestPage<Item>(
  ctx: RouteContext,
  items: readonly Item[],
  placeOf: (item: Item) => readonly [at: number, id: string],
) {
  const textOf = (item: Item) => {
    const [at, id] = placeOf(item);
    return `${String(at).padStart(13, '0')}-${id}`;
  };
  return cutPage(items, textOf, { after: AFTER_MOMENT.read(ctx), limit: LIMIT.read(ctx) });
}

interface WholeBounds {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

export function wholeNumberParameter(
  name: string,
  bounds: WholeBounds,
  description: string,
): Parameter<number> {
  const { min, max } = bounds;
  const schema = { type: 'integer', minimum: min, maximum: max, default: bounds.default };
  return declareQueryParameter(name, description, schema, (text) => {
    const number = text === null ? bounds.default : Number(text);
    if (text === null || (/^\d+$/.test(text) && number >= min && number <= max)) return number;
    throw createParameterProblem(`The parameter ${name} must be a whole number from ${min} to ${max}.`);
  });
}

/** Throws 400 if a text has a length or characters that no identifier of the API may have. */
function requireKey(value: string, name: string): void {
  const length = [...value].length;
  if (length < 1 || length > KEY_CHARACTERS_MAX || !value.isWellFormed())
    throw createParameterProblem(
      `${name} must have 1 to ${KEY_CHARACTERS_MAX} characters of well-formed Unicode.`,
    );
  if (hasNulCharacter(value)) throw createParameterProblem(`${name} must not contain U+0000.`);
}

/**
 * Whether a part of a URL can be decoded. A part that cannot be decoded would be used unchanged, and then two URLs
 * would name one thing.
 */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
