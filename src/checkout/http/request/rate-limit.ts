import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware, ParameterizedContext } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { type Pseudonymize, parseAddress, toNetworkOfAddress } from '#decision/addresses.ts';
import type { Admission, RateBuckets } from '#state/rate-buckets.ts';
import type { RequestState } from './request-state.ts';

/**
 * Finds the caller's address as the outermost trusted proxy saw it: the entry at position `trustedProxies` from the
 * right. The caller writes the entries further left and could forge them.
 */
export function getCallerAddress(req: IncomingMessage, trustedProxies: number): string {
  const socketAddress = req.socket.remoteAddress ?? 'unknown';
  if (trustedProxies === 0) return socketAddress;
  const forwarded = (req.headersDistinct['x-forwarded-for'] ?? [])
    .join(',')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const seen = forwarded.at(-trustedProxies);
  // If there are fewer entries than proxies, the request did not pass through all proxies, and nothing in the header
  // can be trusted.
  return parseAddress(seen ?? '')?.toString() ?? socketAddress;
}

/** Hashes the caller's address for storage: an HMAC of the address, or of the network for IPv6. */
export function hashCallerAddress(
  pseudonym: Pseudonymize,
  req: IncomingMessage,
  trustedProxies: number,
): string {
  return pseudonym('ip', toNetworkOfAddress(getCallerAddress(req, trustedProxies)));
}

/**
 * The longest delay. A request that would wait longer than this, or behind this many others, is dropped (interface,
 * section 7).
 */
const DELAY_MS_MAX = 2000;
const WAITING_REQUESTS_MAX = 40;

/**
 * The number of addresses whose bucket names are kept in memory, because the HMAC of a name costs more than the rest
 * of the limit. Callers are mostly the backends of a few platforms. A forged address may keep a whole header in
 * memory, so the number is small.
 */
const BUCKET_NAMES_MAX = 1000;

export interface RateLimit {
  /** The allowed requests a second. 0 switches the limit off. */
  readonly ratePerSecond: number;
  readonly burst: number;
  /** The number of proxies that append to X-Forwarded-For before the request reaches the service. */
  readonly trustedProxies: number;
}

/**
 * Limits each client IP by a token bucket (interface, section 8). Requests over the limit are delayed. If the delay
 * would be too long, the connection is dropped without an answer. Buckets know addresses only by their HMAC. A
 * request may begin before its bucket has answered. `state.admitted` then says whether the request may change
 * anything.
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
    memoMethod: (address) => pseudonym('ip', toNetworkOfAddress(address)),
  });
  return async (ctx, next) => {
    if (ratePerSecond === 0) return next();
    const bucket = bucketNames.memo(getCallerAddress(ctx.req, limit.trustedProxies));
    const isFree = buckets.isFree(bucket, settings);
    const admitted = admit(ctx, buckets.take(bucket, settings), metrics);
    // A request that will probably be admitted already reads the data for its answer. It changes nothing yet.
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

/** Waits as long as the bucket says. Returns false if nobody waits for the answer any more. */
async function admit(
  ctx: ParameterizedContext<RequestState>,
  asked: Promise<Admission>,
  metrics: Metrics,
): Promise<boolean> {
  const admission = await asked;
  if (!admission.admitted) {
    metrics.count('scoring_rate_limited_total', { effect: 'dropped' });
    ctx.req.socket.destroy();
    // Nobody receives this status. Log and metrics show it instead of "not found".
    return endWithoutAnswer(ctx, 429);
  }
  if (admission.delayMs === 0) return true;
  metrics.count('scoring_rate_limited_total', { effect: 'delayed' });
  await sleep(admission.delayMs);
  return ctx.req.socket.destroyed ? endWithoutAnswer(ctx, 499) : true;
}

function endWithoutAnswer(ctx: ParameterizedContext<RequestState>, status: number): false {
  ctx.status = status;
  ctx.respond = false;
  return false;
}
