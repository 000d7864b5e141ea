import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { TooManyWaiting } from '../../service/client-turns.ts';
import { IdempotencyKeyReused } from '../../service.ts';
import { StoreUnavailable } from '../../state/store.ts';
import type { RequestState } from './request-state.ts';

/** Where in the body something is wrong (RFC 6901), and what. */
export interface PointedDetail {
  readonly pointer: string;
  readonly detail: string;
}

/** An answer that refuses a request: RFC 9457 problem details with the contract's message as title. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly title: string;
  readonly errors: readonly PointedDetail[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, title: string, detail: string, more: ProblemMore = {}) {
    super(detail);
    this.status = status;
    this.title = title;
    this.errors = more.errors ?? [];
    this.headers = more.headers ?? {};
  }
}

interface ProblemMore {
  readonly errors?: readonly PointedDetail[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Contract, section 7. */
export function malformedBody(detail: string, errors: readonly PointedDetail[] = []): HttpProblem {
  return new HttpProblem(400, 'malformed JSON body', detail, { errors });
}

export function unknownKey(detail: string): HttpProblem {
  return new HttpProblem(401, 'unknown X-KA-Access-Key', detail);
}

export function notProvisioned(operation: string): HttpProblem {
  return new HttpProblem(
    403,
    'not provisioned',
    `The access key was not issued for the operation "${operation}"; the platform owner grants operations.`,
  );
}

export function badRequest(detail: string, errors: readonly PointedDetail[] = []): HttpProblem {
  return new HttpProblem(400, 'bad request', detail, { errors });
}

export function notFound(detail: string): HttpProblem {
  return new HttpProblem(404, 'not found', detail);
}

export function unavailable(detail: string): HttpProblem {
  return new HttpProblem(503, 'temporarily unavailable', detail, { headers: { 'Retry-After': '1' } });
}

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
      writeProblem(ctx, problem);
    }
  };
}

function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof StoreUnavailable) {
    return unavailable(
      'State cannot be reached right now. Send the same request again shortly; for a verdict, with the same Idempotency-Key.',
    );
  }
  if (error instanceof TooManyWaiting) {
    return unavailable(
      'Too many requests of this client are waiting; nothing was decided or changed. Try again shortly.',
    );
  }
  if (error instanceof IdempotencyKeyReused) {
    return new HttpProblem(
      422,
      'Idempotency-Key reused',
      'This Idempotency-Key came with another request before; use a new key for every new verdict.',
    );
  }
  return new HttpProblem(500, 'internal error', 'The service failed; the requestId leads to its log.');
}

function writeProblem(ctx: Context, { status, title, message, errors, headers }: HttpProblem): void {
  ctx.status = status;
  ctx.set({ ...headers, 'Content-Type': 'application/problem+json' });
  ctx.body = JSON.stringify({
    title,
    status,
    detail: message,
    ...(errors.length > 0 ? { errors } : {}),
    requestId: ctx.state['requestId'],
  });
}
