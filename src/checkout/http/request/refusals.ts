import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import type { ValueOf } from '#base/shapes.ts';
import { QueueFull } from '#base/work/fair-queue.ts';
import { TooManyWaiting } from '#checkout/scoring/client-updates.ts';
import { IdempotencyKeyReused } from '#checkout/scoring/idempotency-claim.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { BODY_BYTES_MAX } from './body.ts';
import {
  createNotFoundProblem,
  createTooManyRequestsProblem,
  createUnavailableProblem,
  declareRefusal,
  HttpProblem,
  type ProblemSchema,
} from './problems.ts';
import type { RequestState } from './request-state.ts';

/**
 * Turns every thrown error into an answer. No other code does this. `ownProblemOf` maps errors that only the
 * operations of one listener throw, and returns null for other errors.
 */
export function createErrorMiddleware(
  log: Logger,
  ownProblemOf: (error: unknown) => HttpProblem | null = () => null,
): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = ownProblemOf(error) ?? toProblem(error);
      ctx.state.failure = error instanceof HttpProblem ? null : error;
      if (problem.status === 500)
        log.error({ requestId: ctx.state.requestId, err: error }, 'unexpected error');
      if (hasLongRest(ctx.req)) ctx.set('Connection', 'close');
      writeProblem(ctx, problem, ctx.state.requestId);
    }
  };
}

/**
 * Whether so much of the body is missing that it should not be read after a refusal. Node would read the body to its
 * end, to reach the next request of the connection.
 */
function hasLongRest({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > BODY_BYTES_MAX;
}

function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof StoreUnavailable) return STORE_UNAVAILABLE.problem();
  if (error instanceof TooManyWaiting) return TOO_MANY_WAITING_OF_CLIENT.problem();
  if (error instanceof QueueFull) return TOO_MANY_AT_ONCE.problem('platform');
  if (error instanceof IdempotencyKeyReused) return IDEMPOTENCY_KEY_REUSED.problem();
  return INTERNAL_ERROR.problem();
}

/** Writes a problem as the answer. */
function writeProblem(
  ctx: Pick<Context, 'status' | 'set' | 'body'>,
  problem: HttpProblem,
  requestId: string,
): void {
  ctx.status = problem.status;
  ctx.set({ ...problem.headers, 'Content-Type': 'application/problem+json' });
  ctx.body = JSON.stringify(toProblemBody(problem, requestId));
}

/** Builds the members of a problem, for answers and for the API document. */
export function toProblemBody(problem: HttpProblem, requestId: string): ValueOf<typeof ProblemSchema> {
  const { title, status, code, message, errors, retryable } = problem;
  return {
    title,
    status,
    code,
    detail: message,
    ...(errors.length > 0 ? { errors } : {}),
    retryable,
    requestId,
  };
}

/** The header of every 401, which says where the key belongs. */
export const KEY_CHALLENGE_HEADERS = {
  headers: { 'WWW-Authenticate': 'ApiKey header="X-KA-Access-Key"' },
} as const;

/** Refusals that several operations share. A refusal of one operation is declared beside the operation. */

export const UNKNOWN_KEY = declareRefusal(
  'unknown-key',
  'The header X-KA-Access-Key is missing, or the key is not known, was revoked, or has expired.',
  (detail: string) => new HttpProblem(401, 'unknown X-KA-Access-Key', detail, KEY_CHALLENGE_HEADERS),
  'The header X-KA-Access-Key is missing.',
);

export const STORE_UNAVAILABLE = declareRefusal(
  'store-away',
  'The service could not reach its store in time. The request may have taken effect: repeat a verdict with the same Idempotency-Key, so that it counts once.',
  () =>
    createUnavailableProblem(
      'The service cannot reach its store right now. Send the same request again shortly; repeat a verdict with the same Idempotency-Key.',
    ),
);

export const TOO_MANY_WAITING_OF_CLIENT = declareRefusal(
  'too-many-waiting',
  'Too many requests of this client are waiting; nothing was decided or changed.',
  () =>
    createUnavailableProblem(
      'Too many requests of this client are waiting; nothing was decided or changed. Try again shortly.',
    ),
);

export const INTERNAL_ERROR = declareRefusal(
  'internal-error',
  'The service failed because of a fault of its own.',
  () =>
    new HttpProblem(
      500,
      'internal error',
      'The service failed. Quote the requestId to the platform owner, who finds the cause in the log.',
    ),
);

export const IDEMPOTENCY_KEY_REUSED = declareRefusal(
  'idempotency-key-reused',
  'The Idempotency-Key was used with another body before.',
  () =>
    new HttpProblem(
      422,
      'Idempotency-Key reused',
      'This Idempotency-Key was used with another request before; use a new key for every new verdict.',
    ),
);

export const NOT_FOUND = declareRefusal(
  'not-found',
  'There is nothing at this path.',
  (path: string) => createNotFoundProblem(`There is nothing at ${path.slice(0, 200)}.`),
  '/v1/client/scores',
);

export const METHOD_NOT_ALLOWED = declareRefusal(
  'method-not-allowed',
  'The path does not take this method; the header Allow names those it takes.',
  (...allowed: string[]) =>
    new HttpProblem(405, 'method not allowed', `Use ${allowed.join(' or ')}.`, {
      headers: { Allow: allowed.join(', ') },
    }),
  'POST',
);

export const OVERLOADED = declareRefusal(
  'overloaded',
  'The service is overloaded; nothing was decided or changed.',
  () =>
    createUnavailableProblem('The service is overloaded; nothing was decided or changed. Try again shortly.'),
);

export const TOO_MANY_AT_ONCE = declareRefusal(
  'too-many-at-once',
  'Too many requests of the address, the access key or the platform are under way on the listener of the platform.',
  (whose: string) =>
    createTooManyRequestsProblem(
      `Too many requests of this ${whose} are under way; wait for their answers. Nothing was changed.`,
      1,
    ),
  'access key',
);

/** Refusals of Node before any route is found. The connection ends with each of them. */

export const NOT_HTTP = declareRefusal('no-http', 'The request is not valid HTTP/1.1.', () =>
  lastProblem(400, 'bad request', 'The request must be well-formed HTTP/1.1 with exactly one Host header.'),
);

export const REQUEST_TIMED_OUT = declareRefusal('too-slow', 'The request did not arrive in time.', () =>
  lastProblem(408, 'request timeout', 'The request did not arrive in time; send it again without pauses.'),
);

export const UNKNOWN_EXPECTATION = declareRefusal(
  'unknown-expectation',
  'The header Expect has another value than 100-continue.',
  () => lastProblem(417, 'expectation failed', 'The header Expect may only be 100-continue.'),
);

export const HEADERS_TOO_LARGE = declareRefusal('headers-too-large', 'The headers are too large.', () =>
  lastProblem(
    431,
    'headers too large',
    'The request line and the headers together must have less than 16384 bytes.',
  ),
);

function lastProblem(status: number, title: string, detail: string): HttpProblem {
  return new HttpProblem(status, title, detail, { headers: { Connection: 'close' } });
}
