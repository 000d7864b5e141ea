import {
  ConnectionError,
  type Problem,
  refusal,
  type ScoringError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
} from './errors.ts';

/** How to reach the service. */
export interface ConnectionOptions {
  /** Like `https://scoring.example.com`; what stands before `/v1/`. */
  readonly baseUrl: string;
  /** The access key; keep it as a secret. */
  readonly accessKey: string;
  /** For one attempt; 3000 when absent. Over the rate limit an answer may be delayed by 2 s. */
  readonly timeoutMs?: number;
  /** Whether to try once more on a network error, a timeout or 503; true when absent. */
  readonly retry?: boolean;
  /** In the place of the global fetch. */
  readonly fetch?: typeof fetch;
}

/** What one call may bring along. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** For one attempt, in the place of the connection's. */
  readonly timeoutMs?: number;
  /** Your own id of the request, for the logs of both sides. */
  readonly requestId?: string;
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a repeat does no harm. */
  readonly repeatable: boolean;
}

/** An answer that is no refusal. */
export interface Incoming {
  readonly headers: Headers;
  readonly text: string;
}

const TIMEOUT_MS = 3000;
/** A Retry-After beyond this is left to the application. */
const LONGEST_RETRY_AFTER_SECONDS = 5;
const SHORTEST_PAUSE_MS = 50;
const JITTER_MS = 250;

/** Sends requests, each with a deadline and one retry where that does no harm. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #baseUrl: string;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
  }

  /** Throws a ScoringError, or the reason of the call's signal. */
  async send(request: Outgoing, options: CallOptions = {}): Promise<Incoming> {
    try {
      return await this.#attempt(request, options);
    } catch (error) {
      const pauseMs = this.#retries(request) ? pauseBeforeRetryMs(error) : null;
      if (pauseMs === null) throw error;
      await pause(pauseMs, options.signal);
      return this.#attempt(request, options);
    }
  }

  #retries({ repeatable }: Outgoing): boolean {
    return repeatable && this.#options.retry !== false;
  }

  async #attempt(request: Outgoing, options: CallOptions): Promise<Incoming> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS;
    const deadline = AbortSignal.timeout(timeoutMs);
    const { answer, text } = await this.#exchange(request, options, deadline).catch((cause: unknown) => {
      options.signal?.throwIfAborted();
      if (deadline.aborted) throw new TimeoutError(`no answer within ${timeoutMs} ms`, { cause });
      throw new ConnectionError(`the service cannot be reached at ${this.#baseUrl}`, { cause });
    });
    if (answer.ok) return { headers: answer.headers, text };
    throw refusedBy(answer, text);
  }

  async #exchange(
    { method, path, body, headers = {} }: Outgoing,
    { signal, requestId }: CallOptions,
    deadline: AbortSignal,
  ): Promise<{ readonly answer: Response; readonly text: string }> {
    const send = this.#options.fetch ?? fetch;
    const answer = await send(this.#baseUrl + path, {
      method,
      headers: {
        'X-KA-Access-Key': this.#options.accessKey,
        ...(body === undefined ? {} : { 'Content-Type': body.type }),
        ...(requestId === undefined ? {} : { 'X-Request-Id': requestId }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body.text }),
      redirect: 'error',
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return { answer, text: await answer.text() };
  }
}

/** The JSON of an answer. The service is believed about its shape. */
export function jsonOf<T>({ text }: Incoming): T {
  try {
    const value: T = JSON.parse(text);
    return value;
  } catch {
    throw new UnexpectedAnswerError(200, 'the answer is no JSON');
  }
}

/** Null when a repeat would not help. */
function pauseBeforeRetryMs(error: unknown): number | null {
  const jitterMs = Math.random() * JITTER_MS;
  if (error instanceof TimeoutError || error instanceof ConnectionError) return SHORTEST_PAUSE_MS + jitterMs;
  if (!(error instanceof UnavailableError)) return null;
  const seconds = error.retryAfterSeconds ?? 0;
  return seconds > LONGEST_RETRY_AFTER_SECONDS ? null : seconds * 1000 + SHORTEST_PAUSE_MS + jitterMs;
}

function refusedBy(answer: Response, text: string): ScoringError {
  if (!answer.headers.get('Content-Type')?.startsWith('application/problem+json')) {
    // A load balancer without a node behind it; what it says is no problem document.
    if (answer.status === 503) return refusal(stranger(answer), retryAfterSeconds(answer.headers));
    return new UnexpectedAnswerError(answer.status, 'the answer is not one of the service');
  }
  const problem: Partial<Problem> = JSON.parse(text);
  const { title = answer.statusText, status = answer.status, detail = '', errors = [] } = problem;
  const requestId = problem.requestId ?? null;
  return refusal({ title, status, detail, errors, requestId }, retryAfterSeconds(answer.headers));
}

function stranger({ status, statusText }: Response): Problem {
  return {
    title: statusText,
    status,
    detail: 'no node of the service answered',
    errors: [],
    requestId: null,
  };
}

/** Retry-After is a number of seconds or a date; null when there is none. */
function retryAfterSeconds(headers: Headers): number | null {
  const text = headers.get('Retry-After');
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** Rejects with the signal's reason when it is aborted meanwhile. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
    return undefined;
  });
}
