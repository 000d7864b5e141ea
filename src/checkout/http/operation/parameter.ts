import type { ParameterizedContext } from 'koa';
import { createBadRequestProblem, type HttpProblem } from '#checkout/http/request/problems.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';

/** A request for which a route was found. */
export type RouteContext = ParameterizedContext<RequestState> & {
  readonly params: Readonly<Record<string, string>>;
};

/** A parameter as the API document describes it, and how to read it. `read` throws 400 when the value is not valid. */
export interface Parameter<Value> {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: object;
  readonly read: (ctx: RouteContext) => Value;
}

export function createParameterProblem(detail: string): HttpProblem {
  return createBadRequestProblem(detail).withCode('bad-parameter');
}

/**
 * Throws 400 if the query has a parameter that the operation does not declare. Otherwise a misspelt filter would
 * filter nothing.
 */
export function requireKnownParameters(ctx: RouteContext, parameters: readonly Parameter<unknown>[]): void {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const unknown = Object.keys(ctx.query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed =
    known.length === 0 ? 'This operation takes none' : `This operation takes ${known.join(', ')}`;
  throw createParameterProblem(
    `The parameter ${JSON.stringify(unknown.slice(0, 100))} is not known. ${allowed}.`,
  );
}
