import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { networkOf } from '../../decision/network.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { Metrics } from '../../metrics.ts';
import type { BucketSettings, RateBuckets } from '../../state/rate-buckets.ts';
import { callerAddress } from './caller-address.ts';
import type { RequestState } from './request-state.ts';

/** A request that would wait longer than this, or behind this many, is dropped instead (interface, section 7). */
const DELAY_MS_MAX = 2000;
const WAITING_REQUESTS_MAX = 40;

/**
 * How many addresses keep the name of their bucket in memory, because the HMAC that makes it costs more than
 * the rest of the limit. Callers are mostly the backends of a few platforms. A forged address may keep its
 * whole header in memory, so the number is small.
 */
const BUCKET_NAMES_MAX = 1000;

export interface RateLimit {
  /** 0 switches the limit off. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** How many proxies append to X-Forwarded-For before the service sees it. */
  readonly trustedProxies: number;
}

/**
 * A token bucket for each client IP (interface, section 8): over it answers are slow, then the
 * connection is dropped without an answer. The buckets know addresses only by their HMAC.
 */
export function limitRate(
  limit: RateLimit,
  buckets: RateBuckets,
  pseudonym: Pseudonym,
  metrics: Metrics,
): Middleware<RequestState> {
  const settings = bucketSettings(limit);
  const bucketNames = new LRUCache<string, string>({
    max: BUCKET_NAMES_MAX,
    memoMethod: (address) => pseudonym('ip', networkOf(address)),
  });
  return async (ctx, next) => {
    if (limit.ratePerSecond === 0) return next();
    const bucket = bucketNames.memo(callerAddress(ctx.req, limit.trustedProxies));
    const admission = await buckets.take(bucket, settings);
    if (!admission.admitted) {
      metrics.rateLimited('dropped');
      // Nobody receives this status; log and metrics show it instead of a "not found".
      ctx.status = 429;
      ctx.respond = false;
      ctx.req.socket.destroy();
      return;
    }
    if (admission.delayMs > 0) {
      metrics.rateLimited('delayed');
      await sleep(admission.delayMs);
      if (ctx.req.socket.destroyed) {
        ctx.status = 499;
        ctx.respond = false;
        return;
      }
    }
    return next();
  };
}

function bucketSettings({ ratePerSecond, burst }: RateLimit): BucketSettings {
  return {
    ratePerSecond,
    burst,
    delayMsMax: Math.min(DELAY_MS_MAX, (WAITING_REQUESTS_MAX * 1000) / ratePerSecond),
  };
}
