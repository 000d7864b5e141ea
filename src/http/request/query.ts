import type { ParameterizedContext } from 'koa';
import { badRequest } from './problems.ts';
import type { RequestState } from './request-state.ts';

type Ctx = ParameterizedContext<RequestState>;

const MAX_KEY_CHARACTERS = 256;

/** A parameter of the query with 1 to 256 characters; null when it is absent. Throws 400. */
export function queryText(ctx: Ctx, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw badRequest(`The parameter ${name} must come once.`);
  requireKey(value, name);
  return value;
}

/** A parameter that must be one of some words; null when it is absent. Throws 400. */
export function queryChoice<const T extends string>(ctx: Ctx, name: string, allowed: readonly T[]): T | null {
  const text = queryText(ctx, name);
  if (text === null) return null;
  const choice = allowed.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw badRequest(`The parameter ${name} must be one of ${allowed.join(', ')}.`);
}

/** The parameter `limit`. Throws 400. */
export function queryLimit(ctx: Ctx, bounds: { readonly default: number; readonly max: number }): number {
  const text = queryText(ctx, 'limit');
  if (text === null) return bounds.default;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= bounds.max) return limit;
  throw badRequest(`The parameter limit must be a whole number from 1 to ${bounds.max}.`);
}

/** Throws 400 when a text cannot be a key of the contract. */
export function requireKey(value: string, name: string): void {
  const length = [...value].length;
  if (length >= 1 && length <= MAX_KEY_CHARACTERS && value.isWellFormed()) return;
  throw badRequest(`${name} must have 1 to ${MAX_KEY_CHARACTERS} characters of well-formed Unicode.`);
}
