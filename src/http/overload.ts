import type { Middleware } from 'koa';
import type { Metrics } from '../metrics.ts';
import { requestIdOf } from './request-log.ts';
import type { RequestState } from './request-state.ts';

/** More work at a time than this only makes every answer later; less than the smallest would leave Redis idle. */
const LARGEST_LIMIT = 256;
const SMALLEST_LIMIT = 16;

/** A score is asked for early in a checkout and can be done without; a verdict is asked for at its end. */
const SCORE_SHARE = 0.75;

/** How often the delay of the event loop is looked at while there is work. */
const TICK_MS = 50;

/**
 * A tick this late means that the process has more work than time. The delay of the loop is looked at, and
 * not how long answers take: a Redis that is far away makes answers late without any overload here.
 */
const LATE_MS = 20;
const SHRINK = 0.8;
const GROW = 8;

/** How much work may be under way at once: less while the event loop is late, more again while it is not. */
export class WorkLimit {
  #limit = LARGEST_LIMIT;
  #underWay = 0;
  #timer: NodeJS.Timeout | null = null;
  #tickedMs = 0;

  get limit(): number {
    return this.#limit;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Whether one more request of this kind would be too much. */
  isFull(operation: 'score' | 'verdict'): boolean {
    return this.#underWay >= this.#limit * (operation === 'score' ? SCORE_SHARE : 1);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    this.#watch();
    try {
      return await work();
    } finally {
      this.#underWay--;
    }
  }

  /** One look at the event loop, which was so late. */
  observe(lateMs: number): void {
    this.#limit =
      lateMs > LATE_MS
        ? Math.max(SMALLEST_LIMIT, Math.floor(this.#limit * SHRINK))
        : Math.min(LARGEST_LIMIT, this.#limit + GROW);
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#tickedMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #tick(): void {
    const now = performance.now();
    this.observe(now - this.#tickedMs - TICK_MS);
    this.#tickedMs = now;
    // An idle process has nothing to look at; it keeps no timer, and starts afresh.
    if (this.#underWay > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#limit = LARGEST_LIMIT;
  }
}

/**
 * Refuses what is too much, before anything is read or logged of it: with 503 and Retry-After, score before
 * verdict. It stands outermost, because a refusal must cost a small part of what an answer costs.
 */
export function shedOverload(limit: WorkLimit, metrics: Metrics, basePath: string): Middleware<RequestState> {
  const verdictPath = `${basePath}/v1/client/verdict`;
  return (ctx, next) => {
    const operation = ctx.path === verdictPath ? 'verdict' : 'score';
    if (!limit.isFull(operation)) return next();
    metrics.shed(operation);
    const requestId = requestIdOf(ctx.req);
    ctx.status = 503;
    ctx.set({
      'Retry-After': '1',
      'X-Request-Id': requestId,
      'Content-Type': 'application/problem+json',
    });
    ctx.body = JSON.stringify({
      title: 'temporarily unavailable',
      status: 503,
      detail: 'The service has more to do than it can; nothing was decided or changed. Try again shortly.',
      requestId,
    });
    return Promise.resolve();
  };
}

/** Counts work from here on. It stands behind the rate limit, whose waiting requests are no work. */
export function countWork(limit: WorkLimit): Middleware<RequestState> {
  return (_ctx, next) => limit.run(next);
}
