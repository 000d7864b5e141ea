import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import type { Metrics } from '../../metrics.ts';
import { writeProblem } from '../request/answer-problems.ts';
import { OVERLOADED } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';
import { requestIdOf, sharedHeaders } from './request-log.ts';

/** A burst of this many is taken; they are answered one after the other. */
const WORK_UNDER_WAY_MAX = 256;

/** Keeps a busy event loop busy, at a wait of about 15 ms with 300 us of work a request. */
const WORK_UNDER_WAY_MIN = 48;

/** A checkout can do without a score, but not without the verdict at its end: scores are refused first. */
const SCORE_SHARE = 0.75;

/** How often the use of the event loop is looked at while there is work. */
const TICK_MS = 50;

/**
 * While the event loop has no pause, more work under way cannot be done faster, only later. How long
 * answers take would not tell: a Redis that is far away makes them late without any overload here.
 */
const BUSY = 0.95;
const SHRINK = 0.75;
const GROW = 8;

/** A refusal waits this long, so that a caller who asks again at once, against Retry-After, costs little. */
const REFUSAL_DELAY_MS = 100;

/** How much work may be under way at once: less while the event loop has no pause, more again when it has. */
export class WorkLimit {
  #limit = WORK_UNDER_WAY_MAX;
  #underWay = 0;
  #timer: NodeJS.Timeout | null = null;
  #used: EventLoopUtilization = performance.eventLoopUtilization();

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

  /** Waiting for the caller's body does not count as work under way: it may take seconds and costs nothing. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.#underWay--;
    try {
      return await wait();
    } finally {
      this.#underWay++;
    }
  }

  /** Adjusts the limit to how much of the event loop's time was used since the last look: 0 to 1. */
  observe(utilization: number): void {
    this.#limit =
      utilization > BUSY
        ? Math.max(WORK_UNDER_WAY_MIN, Math.floor(this.#limit * SHRINK))
        : Math.min(WORK_UNDER_WAY_MAX, this.#limit + GROW);
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#used = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #tick(): void {
    const used = performance.eventLoopUtilization();
    this.observe(performance.eventLoopUtilization(used, this.#used).utilization);
    this.#used = used;
    // An idle process has nothing to look at; it keeps no timer, and starts afresh.
    if (this.#underWay > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#limit = WORK_UNDER_WAY_MAX;
  }
}

/**
 * Refuses what is too much, before anything is read or logged of it: with 503 and Retry-After, score before
 * verdict. It stands outermost, because a refusal must cost a small part of what an answer costs.
 */
export function shedOverload(limit: WorkLimit, metrics: Metrics, basePath: string): Middleware<RequestState> {
  const verdictPath = `${basePath}/v1/client/verdict`;
  return async (ctx, next) => {
    const operation = ctx.path === verdictPath ? 'verdict' : 'score';
    if (!limit.isFull(operation)) return next();
    metrics.shed(operation);
    await sleep(REFUSAL_DELAY_MS);
    const requestId = requestIdOf(ctx.req);
    ctx.set(sharedHeaders(requestId));
    writeProblem(ctx, OVERLOADED.problem(), requestId);
  };
}

/** Counts a request as work under way. It stands behind the rate limit, because a request that waits there costs nothing. */
export function countWork(limit: WorkLimit): Middleware<RequestState> {
  return (_ctx, next) => limit.run(next);
}
