import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware, ParameterizedContext } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { type Pseudonymize, parseAddress, toNetwork } from '#decision/addresses.ts';
import type { Admission, RateBuckets } from '#state/rate-buckets.ts';
import type { RequestState } from './request-state.ts';

/**
 * The address that the outermost trusted proxy saw: the one so many places from the right. Anything
 * further left was written by the caller and could be forged.
 */
export function findCallerAddress(req: IncomingMessage, trustedProxies: number): string {
  const socketAddress = req.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return socketAddress;
  const forwarded = (req.headersDistinct['x-forwarded-for'] ?? [])
    .join(',')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const seen = forwarded.at(-trustedProxies);
  // Fewer entries than proxies: the request came around them, and nothing in the header can be trusted.
  return parseAddress(seen ?? '')?.toString() ?? socketAddress;
}

/** The form in which it may be stored: an HMAC of the address, for IPv6 of its network. */
export function hashCallerAddress(
  pseudonym: Pseudonymize,
  req: IncomingMessage,
  trustedProxies: number,
): string {
  return pseudonym('ip', toNetwork(findCallerAddress(req, trustedProxies)));
}

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
 * connection is dropped without an answer. The buckets know addresses only by their HMAC. Behind it a request may begin
 * while its bucket is still asked: `state.admitted` says whether it may change anything.
 */
export function limitRate(
  limit: RateLimit,
  buckets: RateBuckets,
  pseudonym: Pseudonymize,
  metrics: Metrics,
): Middleware<RequestState> {
  const { ratePerSecond, burst } = limit;
  const delayMsMax = Math.min(DELAY_MS_MAX, (WAITING_REQUESTS_MAX * 1000) / ratePerSecond);
  const settings = { ratePerSecond, burst, delayMsMax };
  const bucketNames = new LRUCache<string, string>({
    max: BUCKET_NAMES_MAX,
    memoMethod: (address) => pseudonym('ip', toNetwork(address)),
  });
  return async (ctx, next) => {
    if (ratePerSecond === 0) return next();
    const bucket = bucketNames.memo(findCallerAddress(ctx.req, limit.trustedProxies));
    const isFree = buckets.isFree(bucket, settings);
    const admitted = admit(ctx, buckets.take(bucket, settings), metrics);
    // A request that will probably be admitted already reads what its answer needs, and changes nothing yet.
    if (!isFree && !(await admitted)) return;
    ctx.state.admitted = admitted;
    try {
      await next();
    } catch (error) {
      if (await admitted) throw error;
    }
    await admitted;
  };
}

/** Waits as long as the bucket says; false when nobody waits for the answer any more. */
async function admit(
  ctx: ParameterizedContext<RequestState>,
  asked: Promise<Admission>,
  metrics: Metrics,
): Promise<boolean> {
  const admission = await asked;
  if (!admission.admitted) {
    metrics.count('scoring_rate_limited_total', { effect: 'dropped' });
    ctx.req.socket.destroy();
    // Nobody receives this status; log and metrics show it instead of a "not found".
    return withoutAnswer(ctx, 429);
  }
  if (admission.delayMs === 0) return true;
  metrics.count('scoring_rate_limited_total', { effect: 'delayed' });
  await sleep(admission.delayMs);
  return ctx.req.socket.destroyed ? withoutAnswer(ctx, 499) : true;
}

function withoutAnswer(ctx: ParameterizedContext<RequestState>, status: number): false {
  ctx.status = status;
  ctx.respond = false;
  return false;
}
