import type { ParameterizedContext } from 'koa';
import { badRequest, type HttpProblem } from '#checkout/http/request/problems.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';

/** A request that a route was found for. */
export type RouteContext = ParameterizedContext<RequestState> & {
  readonly params: Readonly<Record<string, string>>;
};

/** A parameter as the API document describes it, with the way to read it; throws 400 when it is not valid. */
export interface Parameter<Value> {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: object;
  readonly read: (ctx: RouteContext) => Value;
}

export function refuseParameter(detail: string): HttpProblem {
  return badRequest(detail).as('bad-parameter');
}

/** Throws 400 when the query has a parameter that is not one of these: a filter with a typo would filter nothing. */
export function requireKnownParameters(ctx: RouteContext, parameters: readonly Parameter<unknown>[]): void {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const unknown = Object.keys(ctx.query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed = known.length === 0 ? 'This operation takes none' : `Known are ${known.join(', ')}`;
  throw refuseParameter(`The parameter ${JSON.stringify(unknown.slice(0, 100))} is not known. ${allowed}.`);
}
