/** Where in a body something is wrong (RFC 6901), and what. */
export interface PointedDetail {
  readonly pointer: string;
  readonly detail: string;
}

/** A refusal as the service tells it (RFC 9457). */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly PointedDetail[];
  /** To quote to the platform owner; leads to the log of the service. */
  readonly requestId: string | null;
}

interface Circumstances {
  readonly requestId?: string | null;
  readonly cause?: unknown;
}

/** Whatever kept a call from being answered. */
export class ScoringError extends Error {
  override readonly name: string = 'ScoringError';
  /** The id that the request carried; null when nothing was sent. */
  readonly requestId: string | null;

  constructor(message: string, { requestId = null, cause }: Circumstances = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.requestId = requestId;
  }
}

/** An argument cannot work, so nothing was sent; the message says which one and what is allowed. */
export class InvalidArgumentError extends ScoringError {
  override readonly name = 'InvalidArgumentError';
  readonly argument: string;

  constructor(argument: string, allowed: string, circumstances: Circumstances = {}) {
    super(`${argument} ${allowed}`, circumstances);
    this.argument = argument;
  }
}

/** The service answered with a refusal; the classes below tell the common ones apart. */
export class RefusedError extends ScoringError {
  override readonly name: string = 'RefusedError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.status} ${problem.title}: ${problem.detail}`, { requestId: problem.requestId });
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** 400: a parameter, a header or the body is not valid; repeating it does not help. */
export class BadRequestError extends RefusedError {
  override readonly name: string = 'BadRequestError';

  get errors(): readonly PointedDetail[] {
    return this.problem.errors;
  }
}

/** 400: the body is not valid for the operation; `errors` point at what is wrong. */
export class MalformedBodyError extends BadRequestError {
  override readonly name = 'MalformedBodyError';
}

/** 401: the access key is not known, was revoked, or has expired. */
export class UnknownKeyError extends RefusedError {
  override readonly name = 'UnknownKeyError';
}

/** 403: the key was not issued for this operation; the platform owner grants operations. */
export class NotProvisionedError extends RefusedError {
  override readonly name = 'NotProvisionedError';
}

/** 404: there is no such client or decision. */
export class NotFoundError extends RefusedError {
  override readonly name = 'NotFoundError';
}

/** 409: the state of the fleet is in the way of the rollout; nothing was changed. */
export class RolloutRefusedError extends RefusedError {
  override readonly name = 'RolloutRefusedError';
}

/** 422: this Idempotency-Key came with another request before. */
export class IdempotencyKeyReusedError extends RefusedError {
  override readonly name = 'IdempotencyKeyReusedError';
}

/** 408, 429, 502, 503 or 504, also after the retries; ask again after `retryAfterSeconds`. */
export class UnavailableError extends RefusedError {
  override readonly name = 'UnavailableError';
  /** Null when the answer did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(problem: Problem, retryAfterSeconds: number | null) {
    super(problem);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** No answer in time, also after the retries; a verdict may have been given, and its key finds it. */
export class TimeoutError extends ScoringError {
  override readonly name = 'TimeoutError';
}

/** The service could not be reached, or the connection broke, also after the retries. */
export class ConnectionError extends ScoringError {
  override readonly name = 'ConnectionError';
}

/** What came is not an answer of the service: a proxy's page, a redirect, text that is not JSON, another shape. */
export class UnexpectedAnswerError extends ScoringError {
  override readonly name = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(status: number, detail: string, requestId: string | null) {
    super(`${status}: ${detail}`, { requestId });
    this.status = status;
  }
}

/** Refusals that a later try may not meet. */
export const PASSING_STATUSES: readonly number[] = [408, 429, 502, 503, 504];

/** The class that says most about a refusal. */
export function refusal(problem: Problem, retryAfterSeconds: number | null): RefusedError {
  if (PASSING_STATUSES.includes(problem.status)) return new UnavailableError(problem, retryAfterSeconds);
  switch (problem.status) {
    case 400:
      return problem.title === 'malformed JSON body'
        ? new MalformedBodyError(problem)
        : new BadRequestError(problem);
    case 401:
      return new UnknownKeyError(problem);
    case 403:
      return new NotProvisionedError(problem);
    case 404:
      return new NotFoundError(problem);
    case 409:
      return new RolloutRefusedError(problem);
    case 422:
      return new IdempotencyKeyReusedError(problem);
    default:
      return new RefusedError(problem);
  }
}
