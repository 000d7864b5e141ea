import { LRUCache } from 'lru-cache';

/** Tokens a second and how many may be saved up. */
export interface BucketSettings {
  readonly ratePerSecond: number;
  readonly burst: number;
  /** Who would have to wait longer than this is turned away and takes no token. */
  readonly delayMsMax: number;
}

/** When a request may go on: now (0), in so many ms, or never. */
export type Admission = { readonly admitted: true; readonly delayMs: number } | { readonly admitted: false };

export interface RateBuckets {
  take(bucket: string, settings: BucketSettings): Promise<Admission>;
}

/** A forger of addresses can push out other buckets, never grow the table. */
const LOCAL_BUCKETS_MAX = 50_000;

/**
 * Buckets of this process. A bucket is one number: the time at which it would be full again
 * (the generic cell rate algorithm), so an untouched one need not be kept.
 */
export function localRateBuckets(monotonicMs: () => number): RateBuckets {
  const fullAt = new LRUCache<string, number>({ max: LOCAL_BUCKETS_MAX });
  return {
    take: async (bucket, settings) => {
      const nowMs = monotonicMs();
      const next = takeToken(fullAt.get(bucket) ?? 0, nowMs, settings);
      if (next.admission.admitted) fullAt.set(bucket, next.fullAtMs);
      return next.admission;
    },
  };
}

/** Times are fractions of a millisecond; what rounding leaves of them is no wait. */
const ROUNDING_MS = 0.01;

/** One token out of a bucket that will be full at `fullAtMs`. */
export function takeToken(
  fullAtMs: number,
  nowMs: number,
  { ratePerSecond, burst, delayMsMax }: BucketSettings,
): { readonly admission: Admission; readonly fullAtMs: number } {
  const tokenMs = 1000 / ratePerSecond;
  const next = Math.max(fullAtMs, nowMs) + tokenMs;
  const delayMs = Math.max(0, Math.ceil(next - nowMs - burst * tokenMs - ROUNDING_MS));
  if (delayMs > delayMsMax) return { admission: { admitted: false }, fullAtMs };
  return { admission: { admitted: true, delayMs }, fullAtMs: next };
}
