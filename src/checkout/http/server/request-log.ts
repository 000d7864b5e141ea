import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { parseKeyId } from '#checkout/access/access-keys.ts';
import { KeyLost } from '#checkout/access/admitted-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

const REQUEST_ID = /^[A-Za-z0-9._~:/+=-]{1,128}$/;

/** The trace and the span of the caller, as W3C Trace Context has them. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** Machines ask these every second; what they report is logged where it happens. */
const PROBES: ReadonlySet<string> = new Set(['livez', 'readyz', 'metrics']);

/**
 * Names the request, and tells log and metrics how it went. Holds nothing that came with the request but its id, and no
 * stack: an outage would write one with every request, and what is unexpected is logged with its own. Of a key that was
 * refused the line tells which one it was, and the HMAC of the address that it came from.
 */
export function logRequests(
  log: Logger,
  metrics: Metrics,
  hiddenAddress: (req: IncomingMessage) => string,
): Middleware<RequestState> {
  const refusals = new RefusalLog(log);
  return async (ctx, next) => {
    const startedMs = performance.now();
    ctx.state = freshState(ctx.req);
    ctx.set(createSharedHeaders(ctx.state.requestId));
    await next();
    const ms = performance.now() - startedMs;
    const { requestId, operation, route, caller, noted, failure } = ctx.state;
    metrics.request(operation, ctx.status, ms / 1000);
    if (failure instanceof StoreUnavailable && !(failure instanceof KeyLost))
      metrics.count('scoring_store_errors_total', { operation });
    const line = {
      requestId,
      ...traceOf(ctx.req),
      operation,
      method: ctx.method,
      route: route ?? undefined,
      status: ctx.status,
      ms: Math.round(ms * 100) / 100,
      ...(caller === null ? null : nameOf(caller)),
      why: ctx.status >= 500 && failure instanceof Error ? failure.message : undefined,
      ...triedKey(ctx, hiddenAddress),
      ...noted,
    };
    if (PROBES.has(operation)) log.debug(line, 'probe');
    else if (ctx.status >= 500) refusals.write(line);
    else log.info(line, 'request');
  };
}

function nameOf({ platform, credential, actor }: Caller) {
  return credential.kind === 'key' ? { platform, keyId: credential.id } : { platform, who: actor.id };
}

/** Because of the key. */
const REFUSED: ReadonlySet<number> = new Set([401, 403]);

/** From where which key was tried: its id, which is no secret. A text without the form of a key is not repeated. */
function triedKey({ req, status }: Context, hiddenAddress: (req: IncomingMessage) => string) {
  if (!REFUSED.has(status)) return {};
  const id = parseKeyId(req.headersDistinct['x-ka-access-key']?.[0] ?? '');
  return { from: hiddenAddress(req), ...(id === null ? {} : { triedKeyId: id }) };
}

/** What every answer carries. It is for one caller and one moment; the files of the pages say otherwise themselves. */
export function createSharedHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/**
 * Koa would print these on its own. Mostly the caller hung up; only the message is logged, because such
 * an error may carry bytes of the request.
 */
export function logBrokenAnswers(app: Koa<RequestState>, log: Logger): void {
  app.on('error', (error: Error) => log.info({ why: error.message }, 'the answer could not be sent'));
}

/** Where no rate limit is asked. */
const ADMITTED = Promise.resolve(true);

function freshState(req: IncomingMessage): RequestState {
  return {
    requestId: getRequestId(req),
    operation: 'none',
    route: null,
    caller: null,
    ownsWork: false,
    admitted: ADMITTED,
    noted: {},
    failure: null,
  };
}

/** The caller's own id when it is safe to repeat, otherwise a new one. */
export function getRequestId(req: IncomingMessage): string {
  const given = req.headersDistinct['x-request-id'] ?? [];
  const [first] = given;
  return first !== undefined && given.length === 1 && REQUEST_ID.test(first) ? first : randomUUID();
}

/** What joins a log line with the caller's trace; nothing when the caller sends no trace or a malformed one. */
function traceOf({ headersDistinct }: IncomingMessage): { traceId?: string; parentSpanId?: string } {
  const [given = '', ...more] = headersDistinct['traceparent'] ?? [];
  const [, traceId, parentSpanId] = (more.length === 0 ? TRACEPARENT.exec(given) : null) ?? [];
  return traceId === undefined || parentSpanId === undefined ? {} : { traceId, parentSpanId };
}

/** So many refusals of a kind have a line of their own in each window; the others are counted in one. */
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

/** Warnings about requests that got no answer: an outage must not fill the disk with one for each of them. */
export class RefusalLog {
  readonly #log: Logger;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(log: Logger, windowMs = WINDOW_MS) {
    this.#log = log;
    this.#windowMs = windowMs;
  }

  write(line: Kind): void {
    const window = this.#windowOf(line);
    if (window.lines >= LINES_MAX) {
      window.counted++;
      return;
    }
    window.lines++;
    this.#log.warn(line, 'request failed');
  }

  #windowOf({ operation, status }: Kind): Window {
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
