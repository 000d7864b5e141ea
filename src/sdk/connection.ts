import { type Answer, refusedBy } from './answer.ts';
import { baseUrlOf, checkHeader, checkRequestId, checkWholeNumber } from './arguments.ts';
import {
  ConnectionError,
  RefusedError,
  ScoringError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
} from './errors.ts';
import { pause, type Signal } from './pause.ts';
import { VERSION } from './version.ts';

/** The type of the global fetch, where the project knows it (lib DOM, @types/node). */
export type Fetch = typeof globalThis extends { fetch: infer Known }
  ? Known
  : (url: string, init: never) => Promise<unknown>;

/** How to reach the service. */
export interface ConnectionOptions {
  /** Like `https://scoring.example.com`; what stands before `/v1/`. */
  readonly baseUrl: string;
  /** The access key; keep it as a secret. */
  readonly accessKey: string;
  /** For a call with all its tries and the pauses between them; 8000 when absent. Searches, lines and rollouts have 60 s. */
  readonly timeoutMs?: number | undefined;
  /** For one try; 3000 when absent. Over the rate limit an answer may be delayed by 2 s. Those have 60 s here, too. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How often to try again when a connection fails, no answer comes, or 408, 429, 502, 503 or 504 does; 3 when absent. */
  readonly retriesMax?: number | undefined;
  /** Told of every try once it ended, for logs and metrics. What it throws is ignored, at once or later. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** In the place of the global fetch. */
  readonly fetch?: Fetch | undefined;
}

/** What one call may bring along. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: Signal | undefined;
  /** For the whole call, in the place of the connection's. */
  readonly timeoutMs?: number | undefined;
  /** Your own id of the request, for the logs of both sides; a new UUID when absent. */
  readonly requestId?: string | undefined;
}

/** One try of a call, as `onAttempt` gets it. The path holds ids; neither key nor body is here. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  /** 1 for the first try. */
  readonly number: number;
  readonly durationMs: number;
  /** Null when no answer came. */
  readonly status: number | null;
  /** Null when it was answered well. */
  readonly error: ScoringError | null;
  /** The pause before the next try; null when there is none. */
  readonly retryInMs: number | null;
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a repeat does no harm. */
  readonly repeatable: boolean;
  /** For one try, when this request needs longer than others. */
  readonly attemptTimeoutMs?: number;
}

const TIMEOUT_MS = 8000;
const ATTEMPT_TIMEOUT_MS = 3000;
const RETRIES_MAX = 3;
const BACKOFF_MS = 100;

/** One call under way. */
interface Call {
  readonly request: Outgoing;
  readonly requestId: string;
  readonly signal: Signal | undefined;
  /** By performance.now(). */
  readonly endsAtMs: number;
  readonly attemptTimeoutMs: number;
}

/** Sends requests, each within one deadline, and again where that does no harm. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #baseUrl: string;

  constructor(options: ConnectionOptions) {
    this.#baseUrl = baseUrlOf(options.baseUrl);
    checkHeader('accessKey', options.accessKey);
    checkWholeNumber('timeoutMs', options.timeoutMs ?? TIMEOUT_MS, 1);
    checkWholeNumber('attemptTimeoutMs', options.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS, 1);
    checkWholeNumber('retriesMax', options.retriesMax ?? RETRIES_MAX, 0);
    this.#options = options;
  }

  /** Throws a ScoringError, or the reason of the call's signal. */
  async send(request: Outgoing, options: CallOptions = {}): Promise<Answer> {
    const call = this.#begin(request, options);
    for (let number = 1; ; number += 1) {
      const startedAtMs = performance.now();
      const result = await this.#attempt(call);
      const error = result instanceof ScoringError ? result : null;
      const retryInMs = error === null ? null : this.#pauseBeforeRetryMs(error, number, call);
      const durationMs = Math.round(performance.now() - startedAtMs);
      this.#tell({ ...call, number, durationMs, status: statusOf(result), error, retryInMs });
      if (!(result instanceof ScoringError)) return result;
      if (retryInMs === null) throw result;
      await pause(retryInMs, call.signal);
    }
  }

  #begin(request: Outgoing, { signal, timeoutMs, requestId = crypto.randomUUID() }: CallOptions): Call {
    checkRequestId('requestId', requestId);
    if (timeoutMs !== undefined) checkWholeNumber('timeoutMs', timeoutMs, 1);
    const attemptTimeoutMs = Math.max(
      request.attemptTimeoutMs ?? 0,
      this.#options.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS,
    );
    const wholeMs =
      timeoutMs ?? Math.max(this.#options.timeoutMs ?? TIMEOUT_MS, request.attemptTimeoutMs ?? 0);
    return { request, requestId, signal, endsAtMs: performance.now() + wholeMs, attemptTimeoutMs };
  }

  async #attempt(call: Call): Promise<Answer | ScoringError> {
    const { requestId, signal } = call;
    const timeoutMs = Math.max(
      1,
      Math.round(Math.min(call.attemptTimeoutMs, call.endsAtMs - performance.now())),
    );
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await this.#exchange(
        call,
        signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      );
      return answer.status >= 200 && answer.status < 300 ? answer : refusedBy(answer);
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      if (deadline.aborted) return new TimeoutError(`no answer within ${timeoutMs} ms`, { cause, requestId });
      const message = `the service cannot be reached at ${this.#baseUrl}`;
      return new ConnectionError(message, { cause, requestId });
    }
  }

  async #exchange({ request, requestId }: Call, signal: AbortSignal): Promise<Answer> {
    const { method, path, body, headers } = request;
    const send = this.#options.fetch ?? fetch;
    const response = await send(this.#baseUrl + path, {
      method,
      headers: {
        'X-KA-Access-Key': this.#options.accessKey,
        'User-Agent': `client-scoring-service/${VERSION}`,
        'X-Request-Id': requestId,
        ...(body === undefined ? {} : { 'Content-Type': body.type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body.text }),
      // The access key must not go to wherever an answer points.
      redirect: 'manual',
      signal,
    });
    const text = await response.text();
    return { status: response.status, requestId, text, header: (name) => response.headers.get(name) };
  }

  /** Null when another try would not help, is not allowed, or would not fit into the call's time. */
  #pauseBeforeRetryMs(error: ScoringError, number: number, { request, endsAtMs }: Call): number | null {
    if (!request.repeatable || number > (this.#options.retriesMax ?? RETRIES_MAX)) return null;
    const passing =
      error instanceof UnavailableError || error instanceof TimeoutError || error instanceof ConnectionError;
    if (!passing) return null;
    const backoffMs = BACKOFF_MS * 2 ** (number - 1) * (0.5 + Math.random());
    const wantedMs = error instanceof UnavailableError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    const pauseMs = Math.round(wantedMs + backoffMs);
    return performance.now() + pauseMs < endsAtMs ? pauseMs : null;
  }

  #tell({ request, requestId, number, durationMs, status, error, retryInMs }: Call & Told): void {
    const { method, path } = request;
    const tell = async () =>
      this.#options.onAttempt?.({ method, path, requestId, number, durationMs, status, error, retryInMs });
    // A log that fails must not take a verdict away that was given; nor may one that fails later end the process.
    tell().catch(() => {});
  }
}

type Told = Omit<Attempt, 'method' | 'path' | 'requestId'>;

function statusOf(result: Answer | ScoringError): number | null {
  if (!(result instanceof ScoringError)) return result.status;
  return result instanceof RefusedError || result instanceof UnexpectedAnswerError ? result.status : null;
}
