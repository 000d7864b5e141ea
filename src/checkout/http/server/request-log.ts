import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { parseKeyId } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import { KeyLostByStore } from '#checkout/access/keys-seen-live.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

const REQUEST_ID = /^[A-Za-z0-9._~:/+=-]{1,128}$/;

/** The trace id and the span id of the caller, as W3C Trace Context writes them. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** Paths that machines request every second. A trouble that these paths report is logged where it happens. */
const PROBES: ReadonlySet<string> = new Set(['livez', 'readyz', 'metrics']);

/**
 * Gives the request an id, and writes its log line and metrics. The line contains nothing that came with the request
 * except its id. It has no stack, because an outage would write a stack for each request. An unexpected error is
 * logged separately with its stack. For a refused key the line names the key's id and the HMAC of the caller's
 * address.
 */
export function logRequests(
  log: Logger,
  metrics: Metrics,
  hiddenAddress: (req: IncomingMessage) => string,
): Middleware<RequestState> {
  const refusals = new FailedRequestLog(log);
  return async (ctx, next) => {
    const startedMs = performance.now();
    ctx.state = createRequestState(ctx.req);
    ctx.set(createSharedHeaders(ctx.state.requestId));
    await next();
    const ms = performance.now() - startedMs;
    const { requestId, operation, route, caller, extraLogMembers, failure } = ctx.state;
    metrics.recordRequest(operation, ctx.status, ms / 1000);
    if (failure instanceof StoreUnavailable && !(failure instanceof KeyLostByStore))
      metrics.count('scoring_store_errors_total', { operation });
    const line = {
      requestId,
      ...readTrace(ctx.req),
      operation,
      method: ctx.method,
      route: route ?? undefined,
      status: ctx.status,
      ms: Math.round(ms * 100) / 100,
      ...(caller === null ? null : nameCaller(caller)),
      why: ctx.status >= 500 && failure instanceof Error ? failure.message : undefined,
      ...describeTriedKey(ctx, hiddenAddress),
      ...extraLogMembers,
    };
    if (PROBES.has(operation)) log.debug(line, 'probe');
    else if (ctx.status >= 500) refusals.write(line);
    else log.info(line, 'request');
  };
}

function nameCaller({ platform, credential, actor }: Caller) {
  return credential.kind === 'key' ? { platform, keyId: credential.id } : { platform, who: actor.id };
}

/** The statuses that refuse a request because of its key. */
const REFUSED: ReadonlySet<number> = new Set([401, 403]);

/**
 * Names the key that was tried and the caller's address. A key's id is not secret. A text that is no key is not
 * repeated.
 */
function describeTriedKey({ req, status }: Context, hiddenAddress: (req: IncomingMessage) => string) {
  if (!REFUSED.has(status)) return {};
  const id = parseKeyId(req.headersDistinct['x-ka-access-key']?.[0] ?? '');
  return { from: hiddenAddress(req), ...(id === null ? {} : { triedKeyId: id }) };
}

/**
 * Creates the headers of every answer. An answer is for one caller and one moment, so it is not cached. The files of
 * the console set their own caching.
 */
export function createSharedHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/**
 * Logs answers that could not be sent. Koa would print them otherwise. Usually the caller closed the connection. Only
 * the message is logged, because such an error may contain bytes of the request.
 */
export function logBrokenAnswers(app: Koa<RequestState>, log: Logger): void {
  app.on('error', (error: Error) => log.info({ why: error.message }, 'the answer could not be sent'));
}

/** The state of a request on a listener without a rate limit. */
const ADMITTED = Promise.resolve(true);

function createRequestState(req: IncomingMessage): RequestState {
  return {
    requestId: getRequestId(req),
    operation: 'none',
    route: null,
    caller: null,
    isWorkOfPlatform: false,
    admitted: ADMITTED,
    extraLogMembers: {},
    failure: null,
  };
}

/** Returns the caller's own request id if it is safe to repeat. Otherwise returns a new id. */
export function getRequestId(req: IncomingMessage): string {
  const given = req.headersDistinct['x-request-id'] ?? [];
  const [first] = given;
  return first !== undefined && given.length === 1 && REQUEST_ID.test(first) ? first : randomUUID();
}

/**
 * Reads the ids that join a log line with the caller's trace. Returns no ids if the caller sends no trace or a
 * malformed one.
 */
function readTrace({ headersDistinct }: IncomingMessage): { traceId?: string; parentSpanId?: string } {
  const [given = '', ...more] = headersDistinct['traceparent'] ?? [];
  const [, traceId, parentSpanId] = (more.length === 0 ? TRACEPARENT.exec(given) : null) ?? [];
  return traceId === undefined || parentSpanId === undefined ? {} : { traceId, parentSpanId };
}

/** This many failed requests of a kind get a line of their own in each window. One more line counts the rest. */
const LINES_MAX = 10;
const WINDOW_MS = 10_000;

interface Kind {
  readonly operation: string;
  readonly status: number;
}

interface Window {
  readonly kind: Kind;
  readonly timer: NodeJS.Timeout;
  lines: number;
  counted: number;
}

/** Writes warnings about failed requests. Their number is limited, so that an outage does not fill the disk. */
export class FailedRequestLog {
  readonly #log: Logger;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(log: Logger, windowMs = WINDOW_MS) {
    this.#log = log;
    this.#windowMs = windowMs;
  }

  write(line: Kind): void {
    const window = this.#findWindow(line);
    if (window.lines >= LINES_MAX) {
      window.counted++;
      return;
    }
    window.lines++;
    this.#log.warn(line, 'request failed');
  }

  #findWindow({ operation, status }: Kind): Window {
    const name = `${operation} ${status}`;
    const known = this.#windows.get(name);
    if (known !== undefined) return known;
    const timer = setTimeout(() => this.#end(name), this.#windowMs).unref();
    const window: Window = { kind: { operation, status }, timer, lines: 0, counted: 0 };
    this.#windows.set(name, window);
    return window;
  }

  #end(name: string): void {
    const window = this.#windows.get(name);
    this.#windows.delete(name);
    if (window === undefined || window.counted === 0) return;
    const { kind, counted } = window;
    this.#log.warn({ ...kind, more: counted, seconds: this.#windowMs / 1000 }, 'more requests failed');
  }
}
