import { LRUCache } from 'lru-cache';

/** Tokens a second and how many may be saved up. */
export interface BucketSettings {
  readonly ratePerSecond: number;
  readonly burst: number;
  /** Who would have to wait longer than this is turned away and takes no token. */
  readonly delayMsMax: number;
}

/** When a request may proceed: now (0), after this many ms, or never. */
export type Admission = { readonly admitted: true; readonly delayMs: number } | { readonly admitted: false };

export interface RateBuckets {
  take(bucket: string, settings: BucketSettings): Promise<Admission>;
  /** Whether the next request of the bucket goes on at once, as far as this process knows. */
  isFree(bucket: string, settings: BucketSettings): boolean;
}

/** A forger of addresses can push out other buckets, never grow the table. */
const LOCAL_BUCKETS_MAX = 50_000;

/**
 * Buckets of this process. A bucket is one number: the time at which it would be full again
 * (the generic cell rate algorithm), so an untouched one need not be kept.
 */
export class LocalRateBuckets implements RateBuckets {
  readonly #monotonicMs: () => number;
  readonly #fullAtMs = new LRUCache<string, number>({ max: LOCAL_BUCKETS_MAX });

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  async take(bucket: string, settings: BucketSettings): Promise<Admission> {
    return this.takeNow(bucket, settings);
  }

  takeNow(bucket: string, settings: BucketSettings): Admission {
    const { admission, fullAtMs } = this.#next(bucket, settings);
    if (admission.admitted) this.#fullAtMs.set(bucket, fullAtMs);
    return admission;
  }

  isFree(bucket: string, settings: BucketSettings): boolean {
    const { admission } = this.#next(bucket, settings);
    return admission.admitted && admission.delayMs === 0;
  }

  /** Others took from the bucket, too: the last request has to wait for so long. */
  learnDelay(bucket: string, { ratePerSecond, burst }: BucketSettings, delayMs: number): void {
    this.#fullAtMs.set(bucket, this.#monotonicMs() + delayMs + (burst * 1000) / ratePerSecond);
  }

  #next(bucket: string, settings: BucketSettings) {
    return takeToken(this.#fullAtMs.get(bucket) ?? 0, this.#monotonicMs(), settings);
  }
}

/** Times are fractions of a millisecond; what rounding leaves is not a wait. */
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
