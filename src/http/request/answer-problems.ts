import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { TooManyWaiting } from '../../service/client-turns.ts';
import { IdempotencyKeyReused } from '../../service.ts';
import { StoreUnavailable } from '../../state/store.ts';
import { BODY_BYTES_MAX } from './body.ts';
import type { Exchange } from './exchange.ts';
import { HttpProblem } from './problems.ts';
import { IDEMPOTENCY_KEY_REUSED, INTERNAL_ERROR, STATE_AWAY, TOO_MANY_WAITING } from './refusals.ts';
import type { RequestState } from './request-state.ts';

export function answerProblems(log: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      answerProblem(ctx, error, log);
    }
  };
}

/** Turns whatever was thrown into an answer; the one place that does. */
export function answerProblem(exchange: Exchange, error: unknown, log: Logger): void {
  const { req, state } = exchange;
  const problem = problemOf(error);
  state.failure = error instanceof HttpProblem ? null : error;
  if (problem.status === 500) log.error({ requestId: state.requestId, err: error }, 'unexpected error');
  if (mayGoOnForLong(req)) exchange.set('Connection', 'close');
  exchange.status = problem.status;
  for (const [name, value] of Object.entries(problem.headers)) exchange.set(name, value);
  exchange.set('Content-Type', 'application/problem+json');
  exchange.body = JSON.stringify(problemBody(problem, state.requestId));
}

/**
 * Whether more of the body is still to come than anybody should have to read after a refusal. Node would read
 * it to its end, for the sake of the next request on the connection.
 */
function mayGoOnForLong({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > BODY_BYTES_MAX;
}

function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof StoreUnavailable) return STATE_AWAY.problem();
  if (error instanceof TooManyWaiting) return TOO_MANY_WAITING.problem();
  if (error instanceof IdempotencyKeyReused) return IDEMPOTENCY_KEY_REUSED.problem();
  return INTERNAL_ERROR.problem();
}

/** The members of a problem as they are answered, and as the API document shows them. */
export function problemBody({ title, status, message, errors }: HttpProblem, requestId: string): object {
  return { title, status, detail: message, ...(errors.length > 0 ? { errors } : {}), requestId };
}
