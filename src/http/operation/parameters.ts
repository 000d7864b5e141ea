import type { ParameterizedContext } from 'koa';
import { toEpochMs } from '../../client/instant.ts';
import { KEY_CHARACTERS_MAX } from '../../key-length.ts';
import { INSTANT } from '../../shapes.ts';
import { badRequest, type HttpProblem, refusal } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';

/** A request that a route was found for. */
export type RouteContext = ParameterizedContext<RequestState> & {
  readonly params: Readonly<Record<string, string>>;
};

/** A parameter as the API document describes it. */
export interface ParameterSpec {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: object;
}

/** A parameter with the way to read it; throws 400 when it is not valid. */
export interface Parameter<Value> extends ParameterSpec {
  readonly read: (ctx: RouteContext) => Value;
}

export const BAD_PARAMETER = refusal(
  'badParameter',
  'A parameter of the query is not known, not valid, or came more than once.',
  badParameter,
  'The parameter limit must be a whole number from 1 to 500.',
);

function badParameter(detail: string): HttpProblem {
  return badRequest(detail);
}

/** Throws 400 when the query has a parameter that is not one of these: a filter with a typo would filter nothing. */
export function requireKnown(ctx: RouteContext, parameters: readonly ParameterSpec[]): void {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const unknown = Object.keys(ctx.query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed = known.length === 0 ? 'This operation takes none' : `Known are ${known.join(', ')}`;
  throw badParameter(`The parameter ${JSON.stringify(unknown.slice(0, 100))} is not known. ${allowed}.`);
}

/** A part of the path, whatever it is. */
export function pathText(name: string, description: string, told: object = {}): Parameter<string> {
  return {
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string', ...told },
    read: ({ params }) => params[name] ?? '',
  };
}

/** A text of 1 to 256 characters; null when it is absent. What its reader checks besides is `told` to others. */
export function queryText(name: string, description: string, told: object = {}): Parameter<string | null> {
  return {
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string', minLength: 1, maxLength: KEY_CHARACTERS_MAX, ...told },
    read: (ctx) => textOf(ctx, name),
  };
}

/** One of some words; null when it is absent. */
export function queryChoice<const T extends string>(
  name: string,
  allowed: readonly T[],
  description: string,
): Parameter<T | null> {
  return {
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string', enum: allowed },
    read: (ctx) => {
      const text = textOf(ctx, name);
      if (text === null) return null;
      const choice = allowed.find((one) => one === text);
      if (choice !== undefined) return choice;
      throw badParameter(`The parameter ${name} must be one of ${allowed.join(', ')}.`);
    },
  };
}

/** A moment: RFC 3339, or milliseconds since 1970; null when it is absent. */
export function queryInstant(name: string, description: string): Parameter<number | null> {
  return {
    name,
    in: 'query',
    required: false,
    description: `${description}; RFC 3339, or milliseconds since 1970`,
    schema: { oneOf: INSTANT },
    read: (ctx) => {
      const text = textOf(ctx, name);
      if (text === null) return null;
      const at = toEpochMs(/^\d+$/.test(text) ? Number(text) : text);
      if (at !== null) return at;
      throw badParameter(
        `The parameter ${name} must be a moment like 2026-11-21T10:00:00Z, or milliseconds since 1970.`,
      );
    },
  };
}

/** A decimal number from 0; null when it is absent. */
export function queryAmount(name: string, description: string): Parameter<number | null> {
  return {
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string', pattern: AMOUNT.source },
    read: (ctx) => {
      const text = textOf(ctx, name);
      if (text === null || AMOUNT.test(text)) return text === null ? null : Number(text);
      throw badParameter(
        `The parameter ${name} must be a decimal number like 25 or 25.00, with at most 15 digits and 9 decimals.`,
      );
    },
  };
}

const AMOUNT = /^\d{1,15}(\.\d{1,9})?$/;

/** How many an answer lists: a whole number up to a bound. */
export function queryLimit(bounds: { readonly default: number; readonly max: number }): Parameter<number> {
  return {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'The most to list',
    schema: { type: 'integer', minimum: 1, maximum: bounds.max, default: bounds.default },
    read: (ctx) => {
      const text = textOf(ctx, 'limit');
      if (text === null) return bounds.default;
      const limit = Number(text);
      if (/^\d+$/.test(text) && limit >= 1 && limit <= bounds.max) return limit;
      throw badParameter(`The parameter limit must be a whole number from 1 to ${bounds.max}.`);
    },
  };
}

function textOf(ctx: RouteContext, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw badParameter(`The parameter ${name} must come once.`);
  requireKey(value, name);
  return value;
}

/** Throws 400 when a text cannot be a key of the interface. */
export function requireKey(value: string, name: string): void {
  const length = [...value].length;
  if (length >= 1 && length <= KEY_CHARACTERS_MAX && value.isWellFormed()) return;
  throw badParameter(`${name} must have 1 to ${KEY_CHARACTERS_MAX} characters of well-formed Unicode.`);
}
