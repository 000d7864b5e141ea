import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { TooManyWaiting } from '../../service/client-turns.ts';
import { IdempotencyKeyReused } from '../../service/scoring.ts';
import { StoreUnavailable } from '../../state/store-errors.ts';
import { TooManyTurns } from '../../work/turns.ts';
import { BODY_BYTES_MAX } from './body.ts';
import { HttpProblem } from './problems.ts';
import {
  IDEMPOTENCY_KEY_REUSED,
  INTERNAL_ERROR,
  STATE_AWAY,
  TOO_MANY_AT_ONCE,
  TOO_MANY_WAITING,
} from './refusals.ts';
import type { RequestState } from './request-state.ts';

/** Turns whatever was thrown into an answer; the one place that does. */
export function answerProblems(log: Logger): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = problemOf(error);
      ctx.state.failure = error instanceof HttpProblem ? null : error;
      if (problem.status === 500)
        log.error({ requestId: ctx.state.requestId, err: error }, 'unexpected error');
      if (mayGoOnForLong(ctx.req)) ctx.set('Connection', 'close');
      writeProblem(ctx, problem, ctx.state.requestId);
    }
  };
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
  if (error instanceof TooManyTurns) return TOO_MANY_AT_ONCE.problem('platform');
  if (error instanceof IdempotencyKeyReused) return IDEMPOTENCY_KEY_REUSED.problem();
  return INTERNAL_ERROR.problem();
}

/** Answers with a problem; also for those who refuse before anything else has looked at the request. */
export function writeProblem(
  ctx: Pick<Context, 'status' | 'set' | 'body'>,
  problem: HttpProblem,
  requestId: string,
): void {
  ctx.status = problem.status;
  ctx.set({ ...problem.headers, 'Content-Type': 'application/problem+json' });
  ctx.body = JSON.stringify(problemBody(problem, requestId));
}

/** The members of a problem as they are answered, and as the API document shows them. */
export function problemBody(problem: HttpProblem, requestId: string): object {
  const { title, status, message, errors, retryable } = problem;
  return { title, status, detail: message, ...(errors.length > 0 ? { errors } : {}), retryable, requestId };
}
