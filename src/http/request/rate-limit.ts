import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { networkOf } from '../../client/network.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { Metrics } from '../../metrics.ts';
import type { BucketSettings, RateBuckets } from '../../state/rate-buckets.ts';
import type { RequestState } from './request-state.ts';

/** Who would wait longer than this, or behind this many, is dropped instead (contract, section 7). */
const LONGEST_DELAY_MS = 2000;
const MOST_WAITING = 40;

/**
 * Callers whose bucket is not named anew each time: the HMAC costs more than all else that is asked here.
 * Callers are mostly the backends of a few platforms; a forged address may keep a whole header alive.
 */
const REMEMBERED_NAMES = 1000;

export interface RateLimit {
  /** 0 switches the limit off. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** How many proxies append to X-Forwarded-For before the service sees it. */
  readonly trustedProxies: number;
}

/**
 * A token bucket for each client IP (contract, section 8): over it answers are slow, then the
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
    max: REMEMBERED_NAMES,
    memoMethod: (address) => pseudonym('ip', networkOf(address)),
  });
  return async (ctx, next) => {
    if (limit.ratePerSecond === 0) return next();
    const bucket = bucketNames.memo(callerAddress(ctx.req, limit.trustedProxies));
    const admission = await buckets.take(bucket, settings);
    if (!admission.admitted) {
      metrics.rateLimited('dropped');
      // Nobody receives it: it is what log and metrics show instead of a "not found".
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
    longestDelayMs: Math.min(LONGEST_DELAY_MS, (MOST_WAITING * 1000) / ratePerSecond),
  };
}

/**
 * The address that the outermost trusted proxy saw: the one so many places from the right. Anything
 * further left was written by the caller and could be forged.
 */
export function callerAddress(req: IncomingMessage, trustedProxies: number): string {
  const socketAddress = req.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return socketAddress;
  const forwarded = (req.headersDistinct['x-forwarded-for'] ?? [])
    .join(',')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  // Fewer entries than proxies: the request came around them, and nothing in the header can be trusted.
  return forwarded.at(-trustedProxies) ?? socketAddress;
}
