import type { PointedDetail } from './records.ts';

/** A refusal by the service (RFC 9457). */
export interface Problem {
  readonly title: string;
  readonly status: number;
  /**
   * The code of the refusal, for programs. The API document lists the codes of each operation. Null if a proxy
   * answered and not the service.
   */
  readonly code: string | null;
  readonly detail: string;
  readonly errors: readonly PointedDetail[];
  /** Whether the same request may succeed when it is sent again. */
  readonly retryable: boolean;
  /** The id of the request. Quote it to the platform owner, who finds it in the service's log. */
  readonly requestId: string;
}

/** Identifies the call that an error or an answer belongs to. */
export interface CallRef {
  readonly requestId: string;
  /** The key of a verdict request. Null for other calls. */
  readonly idempotencyKey: string | null;
  /** Whether an earlier try may have been decided. */
  readonly mayHaveBeenDecided: boolean;
}

interface Circumstances {
  readonly origin?: CallRef;
  readonly cause?: unknown;
}

/** The base of all errors of the library. */
export class ScoringError extends Error {
  override readonly name: string = 'ScoringError';
  /** The id of the request. Null if an argument was refused. */
  readonly requestId: string | null;
  /** The key of a verdict request. A later call with this key gets the answer, and the verdict counts once. */
  readonly idempotencyKey: string | null;

  constructor(message: string, { origin, cause }: Circumstances = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.requestId = origin?.requestId ?? null;
    this.idempotencyKey = origin?.idempotencyKey ?? null;
  }
}

/** An argument is not valid, so nothing was sent. The message says which one and what is allowed. */
export class InvalidArgumentError extends ScoringError {
  override readonly name = 'InvalidArgumentError';
  readonly argument: string;

  constructor(argument: string, allowed: string, circumstances: Circumstances = {}) {
    super(`${argument} ${allowed}`, circumstances);
    this.argument = argument;
  }
}

/** The service refuses this request and would refuse it again. Common refusals have classes of their own. */
export class RefusedError extends ScoringError {
  override readonly name: string = 'RefusedError';
  readonly problem: Problem;

  constructor(problem: Problem, origin: CallRef) {
    super(formatProblem(problem), { origin: { ...origin, requestId: problem.requestId } });
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }

  get code(): string | null {
    return this.problem.code;
  }
}

/** 400: a parameter, a header or the body is not valid. A repeat does not help. */
export class BadRequestError extends RefusedError {
  override readonly name: string = 'BadRequestError';

  get errors(): readonly PointedDetail[] {
    return this.problem.errors;
  }
}

/** 400: the body is not valid for the operation. `errors` point at the faults. */
export class MalformedBodyError extends BadRequestError {
  override readonly name = 'MalformedBodyError';
}

/** 401: the access key is not known, was revoked, or has expired. */
export class UnknownKeyError extends RefusedError {
  override readonly name = 'UnknownKeyError';
}

/** 403: the key was not issued for this operation. The platform owner grants operations. */
export class NotProvisionedError extends RefusedError {
  override readonly name = 'NotProvisionedError';
}

/** 404: there is no such client or decision. */
export class NotFoundError extends RefusedError {
  override readonly name = 'NotFoundError';
}

/** 409: the state of the fleet does not allow the rollout. Nothing was changed. */
export class RolloutRefusedError extends RefusedError {
  override readonly name = 'RolloutRefusedError';
}

/** 422: this Idempotency-Key was used with another request before. */
export class IdempotencyKeyReusedError extends RefusedError {
  override readonly name = 'IdempotencyKeyReusedError';
}

/**
 * 202: another person has to approve the change first (APPROVALS=required). Nothing was changed. A repeated call
 * makes another proposal.
 */
export class ProposedError extends ScoringError {
  override readonly name = 'ProposedError';
  readonly proposalId: string;
  /** The time until which the proposal can be approved. */
  readonly expiresAt: string;

  constructor(proposalId: string, expiresAt: string, origin: CallRef) {
    super(`nothing was changed: the proposal ${proposalId} waits for somebody else`, { origin });
    this.proposalId = proposalId;
    this.expiresAt = expiresAt;
  }
}

/**
 * There is no usable answer, because the service is away, overloaded or broken, or because a proxy answered. This is
 * the base of all errors after which a checkout must decide by itself.
 */
export class NoAnswerError extends ScoringError {
  override readonly name: string = 'NoAnswerError';
  /** False if the service certainly did nothing. Otherwise ask again with the same `idempotencyKey`. */
  readonly mayHaveBeenDecided: boolean;

  constructor(message: string, origin: CallRef, mayHaveBeenDecided: boolean, cause?: unknown) {
    super(message, { origin, cause });
    this.mayHaveBeenDecided = mayHaveBeenDecided || origin.mayHaveBeenDecided;
  }
}

/** Codes that say that nothing was decided or changed. `no-node` comes from a proxy. */
const NOTHING_HAPPENED: readonly string[] = ['overloaded', 'too-many-waiting', 'no-node'];

/** 408, 429 or 5xx, even after the retries. Ask again after `retryAfterSeconds`. */
export class UnavailableError extends NoAnswerError {
  override readonly name = 'UnavailableError';
  readonly problem: Problem;
  /** The seconds to wait before asking again. Null if the answer does not state them. */
  readonly retryAfterSeconds: number | null;

  constructor(problem: Problem, retryAfterSeconds: number | null, origin: CallRef) {
    const { status, requestId } = problem;
    const isUndone = NOTHING_HAPPENED.includes(problem.code ?? '');
    super(formatProblem(problem), { ...origin, requestId }, status >= 500 && !isUndone);
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get status(): number {
    return this.problem.status;
  }

  /**
   * The code of the refusal. With `overloaded` nothing happened. With `store-away` the request may have been carried
   * out, so ask again with the same key.
   */
  get code(): string | null {
    return this.problem.code;
  }
}

/** There was no answer in time, even after the retries. */
export class TimeoutError extends NoAnswerError {
  override readonly name = 'TimeoutError';
}

/** The service could not be reached, or the connection broke, even after the retries. */
export class ConnectionError extends NoAnswerError {
  override readonly name = 'ConnectionError';
}

/**
 * The library did not send the call, because the service has not answered for a while, or because too many calls wait
 * already.
 */
export class HeldBackError extends NoAnswerError {
  override readonly name = 'HeldBackError';
}

/** The answer is not one of the service: a proxy's page, a redirect, a text that is not JSON, or an unknown shape. */
export class UnexpectedAnswerError extends NoAnswerError {
  override readonly name = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(status: number, detail: string, origin: CallRef) {
    super(`${status}: ${detail}`, origin, status < 300);
    this.status = status;
  }
}

/** Creates the most specific error for a refusal. */
export function toProblemError(
  problem: Problem,
  retryAfterSeconds: number | null,
  origin: CallRef,
): RefusedError | UnavailableError {
  if (problem.retryable || problem.status >= 500) {
    return new UnavailableError(problem, retryAfterSeconds, origin);
  }
  switch (problem.status) {
    case 400:
      return problem.code === 'malformed-body'
        ? new MalformedBodyError(problem, origin)
        : new BadRequestError(problem, origin);
    case 401:
      return new UnknownKeyError(problem, origin);
    case 403:
      return new NotProvisionedError(problem, origin);
    case 404:
      return new NotFoundError(problem, origin);
    case 409:
      return new RolloutRefusedError(problem, origin);
    case 422:
      return new IdempotencyKeyReusedError(problem, origin);
    default:
      return new RefusedError(problem, origin);
  }
}

function formatProblem({ status, title, detail }: Problem): string {
  return `${status} ${title}: ${detail}`;
}
