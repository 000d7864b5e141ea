import { type Answer, toAnswerError } from './answer.ts';
import { checkHeaderValue, checkRequestId, checkWholeNumber, requireBaseUrl } from './arguments.ts';
import {
  type CallRef,
  ConnectionError,
  HeldBackError,
  NoAnswerError,
  ScoringError,
  TimeoutError,
  UnavailableError,
} from './errors.ts';
import { VERSION } from './version.ts';

/** The type of the global fetch, if the project knows it (lib DOM, @types/node). */
type Fetch = typeof globalThis extends { fetch: infer Known }
  ? Known
  : (url: string, init: never) => Promise<unknown>;

/** The options of the connection to the service. */
export interface ConnectionOptions {
  /** The part of the URL before `/v1/`, like `https://scoring.example.com`. */
  readonly baseUrl: string;
  /** The access key. Keep it as a secret. */
  readonly accessKey: string;
  /**
   * The time in ms for a call with all its tries and pauses. The default is 3000. Searches, batches of lines and
   * rollouts have at least 60 s.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The time in ms for one try. The default is 2300, because the service may delay a request over the rate limit by 2
   * s. Searches, batches of lines and rollouts have at least 60 s.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /** The number of retries after a failed connection, a late answer, or a status 408, 429 or 5xx. The default is 2. */
  readonly retriesMax?: number | undefined;
  /**
   * The number of requests per second above which calls wait in this process. For scores and verdicts the default is
   * 20, which is the rate that the service allows. 0 sets no limit.
   */
  readonly requestsPerSecondMax?: number | undefined;
  /** Is called after every try, for logs and metrics. Errors that it throws or rejects with are ignored. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** The fetch to use instead of the global one. */
  readonly fetch?: Fetch | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: Signal | undefined;
  /** The time in ms for the whole call, instead of the connection's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Your own id of the request, for the logs of both sides. The default is a new UUID. */
  readonly requestId?: string | undefined;
}

/** One try of a call, as `onAttempt` receives it. The path contains ids. The access key and the body are left out. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  /** The number of the try, counted from 1. */
  readonly number: number;
  readonly durationMs: number;
  /** Null if no answer came. */
  readonly status: number | null;
  /** Null if the try succeeded. */
  readonly error: ScoringError | null;
  /** The pause before the next try. Null if there is no next try. */
  readonly retryInMs: number | null;
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  /** Present only for a verdict. */
  readonly idempotencyKey?: string;
  /** Whether the request may be sent twice. */
  readonly repeatable: boolean;
  /** The time in ms for one try of a request that needs longer than others. */
  readonly attemptTimeoutMs?: number;
}

const TIMEOUT_MS = 3000;
const ATTEMPT_TIMEOUT_MS = 2300;
const RETRIES_MAX = 2;
const BACKOFF_MS = 100;
/**
 * The service drops requests that its rate limit would delay for longer than this, so an immediate retry would fail
 * as well.
 */
const RATE_DELAY_MS = 2000;
const REQUESTS_PER_SECOND_MAX = 20;

/** A call under way. */
interface Call {
  readonly request: OutgoingRequest;
  readonly requestId: string;
  readonly signal: Signal | undefined;
  /** The end of the call's time, by performance.now(). */
  readonly endsAtMs: number;
  readonly attemptTimeoutMs: number;
}

/** Sends requests, each within one deadline. Retries the requests that may be sent twice. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #baseUrl: string;
  readonly #budget = new RetryBudget(performance.now());
  readonly #circuit = new CircuitBreaker();
  readonly #pace: RateLimiter;

  constructor(options: ConnectionOptions) {
    const { requestsPerSecondMax = REQUESTS_PER_SECOND_MAX } = options;
    this.#baseUrl = requireBaseUrl(options.baseUrl);
    checkHeaderValue('accessKey', options.accessKey);
    checkWholeNumber('timeoutMs', options.timeoutMs ?? TIMEOUT_MS, 1);
    checkWholeNumber('attemptTimeoutMs', options.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS, 1);
    checkWholeNumber('retriesMax', options.retriesMax ?? RETRIES_MAX, 0);
    checkWholeNumber('requestsPerSecondMax', requestsPerSecondMax, 0);
    this.#pace = new RateLimiter(requestsPerSecondMax);
    this.#options = options;
  }

  /** Sends a request. Throws a ScoringError, or the reason of the call's signal. */
  async send(request: OutgoingRequest, options: CallOptions = {}): Promise<Answer> {
    const call = this.#begin(request, options);
    const { requestId } = call;
    const { idempotencyKey = null } = request;
    let mayHaveBeenDecided = false;
    for (let number = 1; ; number += 1) {
      const origin = { requestId, idempotencyKey, mayHaveBeenDecided };
      await this.#waitForTurn(call, origin);
      const startedAtMs = performance.now();
      const result = await this.#attempt(call, origin);
      const error = result instanceof ScoringError ? result : null;
      this.#circuit.note(!(error instanceof NoAnswerError), performance.now());
      const retryInMs = error === null ? null : this.#pauseBeforeRetryMs(error, number, call);
      const durationMs = Math.round(performance.now() - startedAtMs);
      this.#reportAttempt({ ...call, number, durationMs, status: getStatus(result), error, retryInMs });
      if (!(result instanceof ScoringError)) return result;
      if (retryInMs === null) throw result;
      mayHaveBeenDecided = result instanceof NoAnswerError && result.mayHaveBeenDecided;
      await pause(retryInMs, call.signal);
    }
  }

  #begin(
    request: OutgoingRequest,
    { signal, timeoutMs, requestId = crypto.randomUUID() }: CallOptions,
  ): Call {
    checkRequestId('requestId', requestId);
    if (timeoutMs !== undefined) checkWholeNumber('timeoutMs', timeoutMs, 1);
    const attemptTimeoutMs = Math.max(
      request.attemptTimeoutMs ?? 0,
      this.#options.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS,
    );
    const wholeMs =
      timeoutMs ?? Math.max(this.#options.timeoutMs ?? TIMEOUT_MS, request.attemptTimeoutMs ?? 0);
    const nowMs = performance.now();
    this.#budget.noteCall(nowMs);
    return { request, requestId, signal, endsAtMs: nowMs + wholeMs, attemptTimeoutMs };
  }

  /** Waits until a try may be sent. Throws HeldBackError if that would be too late. */
  async #waitForTurn({ signal, endsAtMs }: Call, origin: CallRef): Promise<void> {
    const nowMs = performance.now();
    if (!this.#circuit.admits(nowMs)) {
      throw new HeldBackError('not sent: the service has not answered for a while', origin, false);
    }
    const waitMs = this.#pace.waitMs(nowMs, Math.max(nowMs, endsAtMs - ATTEMPT_MS_MIN));
    if (waitMs === null) {
      throw new HeldBackError('not sent: too many calls wait for requestsPerSecondMax', origin, false);
    }
    if (waitMs > 0) await pause(waitMs, signal);
  }

  async #attempt(call: Call, origin: CallRef): Promise<Answer | ScoringError> {
    const { signal } = call;
    const timeoutMs = Math.max(
      1,
      Math.round(Math.min(call.attemptTimeoutMs, call.endsAtMs - performance.now())),
    );
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await this.#exchange(
        call,
        origin,
        signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      );
      return answer.status >= 200 && answer.status < 300 ? answer : toAnswerError(answer);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (deadline.aborted) return new TimeoutError(`no answer within ${timeoutMs} ms`, origin, true, cause);
      const { why, wasConnected } = explainFailure(cause);
      const message = `the service cannot be reached at ${this.#baseUrl}: ${why}`;
      return new ConnectionError(message, origin, wasConnected, cause);
    }
  }

  async #exchange({ request }: Call, origin: CallRef, signal: AbortSignal): Promise<Answer> {
    const { method, path, body, idempotencyKey } = request;
    const send = this.#options.fetch ?? fetch;
    const response = await send(this.#baseUrl + path, {
      method,
      headers: {
        'X-KA-Access-Key': this.#options.accessKey,
        'User-Agent': `client-scoring-client/${VERSION}`,
        'X-Request-Id': origin.requestId,
        ...(body === undefined ? {} : { 'Content-Type': body.type }),
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: body.text }),
      // The access key must not be sent to another address.
      redirect: 'manual',
      signal,
    });
    const text = await response.text();
    return { status: response.status, origin, text, header: (name) => response.headers.get(name) };
  }

  /**
   * Returns the pause before the next try. Returns null if a retry would not help, is not allowed, or does not fit
   * into the call's time.
   */
  #pauseBeforeRetryMs(error: ScoringError, number: number, { request, endsAtMs }: Call): number | null {
    if (!request.repeatable || number > (this.#options.retriesMax ?? RETRIES_MAX)) return null;
    const wantedMs = computeRetryPauseMs(error);
    if (wantedMs === null) return null;
    const pauseMs = Math.round(wantedMs + BACKOFF_MS * 2 ** (number - 1) * (0.5 + Math.random()));
    const fits = performance.now() + pauseMs + ATTEMPT_MS_MIN <= endsAtMs;
    return fits && this.#budget.spend() ? pauseMs : null;
  }

  #reportAttempt({
    request,
    requestId,
    number,
    durationMs,
    status,
    error,
    retryInMs,
  }: Call & AttemptResult): void {
    const { method, path } = request;
    const tell = async () =>
      this.#options.onAttempt?.({ method, path, requestId, number, durationMs, status, error, retryInMs });
    // A failing `onAttempt` must neither lose a verdict nor end the process.
    tell().catch(() => {});
  }
}

type AttemptResult = Omit<Attempt, 'method' | 'path' | 'requestId'>;

function getStatus(result: Answer | ScoringError): number | null {
  return 'status' in result && typeof result.status === 'number' ? result.status : null;
}

/** Returns the pause that an error demands besides the backoff. Returns null if a retry would not help. */
function computeRetryPauseMs(error: ScoringError): number | null {
  if (error instanceof UnavailableError) {
    return error.problem.retryable ? (error.retryAfterSeconds ?? 0) * 1000 : null;
  }
  if (error instanceof TimeoutError) return 0;
  if (!(error instanceof ConnectionError)) return null;
  return error.mayHaveBeenDecided ? RATE_DELAY_MS * (0.25 + Math.random() / 2) : 0;
}

const NOT_CONNECTED: readonly unknown[] = [
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** Explains by its cause why fetch failed, and says whether a request may have been sent. */
function explainFailure(error: unknown): { readonly why: string; readonly wasConnected: boolean } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const message = cause instanceof Error ? cause.message : String(cause);
  return { why: message || String(code), wasConnected: !NOT_CONNECTED.includes(code) };
}

/**
 * An AbortSignal, if the project knows its type (lib DOM, @types/node). Otherwise the part of it that the library
 * uses.
 */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
      removeEventListener(type: 'abort', listener: () => void): void;
    };

/** Resolves after `durationMs`. Rejects with the signal's reason if the signal is aborted first. */
export function pause(durationMs: number, signal?: Signal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, durationMs);
    signal?.addEventListener('abort', abort, { once: true });
    return undefined;
  });
}

/** The classes below keep callers of this library from making an overload worse. Times are by performance.now(). */

/**
 * The least time for a try. With less time, the service might decide the request, but its answer would come too late.
 */
const ATTEMPT_MS_MIN = 300;

const RESERVE_RETRIES_MAX = 5;
const RETRIES_PER_CALL = 0.1;
const RETRIES_PER_SECOND = 0.1;

/**
 * Allows retries for a tenth of the calls, and a small reserve of further retries. Without a limit, retries would
 * multiply an overload.
 */
export class RetryBudget {
  #retries = RESERVE_RETRIES_MAX;
  #refilledAtMs: number;

  constructor(nowMs: number) {
    this.#refilledAtMs = nowMs;
  }

  noteCall(nowMs: number): void {
    const seconds = (nowMs - this.#refilledAtMs) / 1000;
    const refilled = this.#retries + RETRIES_PER_CALL + seconds * RETRIES_PER_SECOND;
    this.#retries = Math.min(RESERVE_RETRIES_MAX, refilled);
    this.#refilledAtMs = nowMs;
  }

  /** Takes a retry from the budget. Returns false if none is left. */
  spend(): boolean {
    if (this.#retries < 1) return false;
    this.#retries -= 1;
    return true;
  }
}

const FAILURES_IN_A_ROW_MAX = 10;
const OPEN_MS = 2000;

/** Stops calls after many failures in a row. Then one try every two seconds checks whether the service is back. */
export class CircuitBreaker {
  #failuresInARow = 0;
  #nextTryAtMs = 0;

  /** Whether a try may be sent. */
  admits(nowMs: number): boolean {
    if (this.#failuresInARow < FAILURES_IN_A_ROW_MAX) return true;
    if (nowMs < this.#nextTryAtMs) return false;
    this.#nextTryAtMs = nowMs + OPEN_MS;
    return true;
  }

  note(wasAnswered: boolean, nowMs: number): void {
    this.#failuresInARow = wasAnswered ? 0 : this.#failuresInARow + 1;
    this.#nextTryAtMs = nowMs + OPEN_MS;
  }
}

/**
 * Lets the tries of one second pass at once, and spaces further tries evenly, so that the service need not delay or
 * drop them.
 */
export class RateLimiter {
  readonly #spacingMs: number;
  #nextAtMs = 0;

  /** `requestsPerSecondMax` of 0 sets no limit. */
  constructor(requestsPerSecondMax: number) {
    this.#spacingMs = requestsPerSecondMax === 0 ? 0 : 1000 / requestsPerSecondMax;
  }

  /** Takes a turn and returns how long to wait for it. Returns null if the turn would come after `latestMs`. */
  waitMs(nowMs: number, latestMs: number): number | null {
    const burstMs = Math.max(0, 1000 - this.#spacingMs);
    const turnMs = Math.max(this.#nextAtMs, nowMs - burstMs);
    if (turnMs > latestMs) return null;
    this.#nextAtMs = turnMs + this.#spacingMs;
    return Math.max(0, turnMs - nowMs);
  }
}
