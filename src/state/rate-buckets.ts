import { LRUCache } from 'lru-cache';

/** How many tokens a bucket gains each second, and how many it holds. */
export interface BucketSettings {
  readonly ratePerSecond: number;
  readonly burst: number;
  /** A request that would wait longer than this is refused and takes no token. */
  readonly delayMsMax: number;
}

/** Whether a request is admitted, and the wait in ms before it proceeds (0 for none). */
export type Admission = { readonly admitted: true; readonly delayMs: number } | { readonly admitted: false };

export interface RateBuckets {
  take(bucket: string, settings: BucketSettings): Promise<Admission>;
  /** Whether the next request of the bucket proceeds at once, as far as this process knows. */
  isFree(bucket: string, settings: BucketSettings): boolean;
}

/**
 * The most buckets in the table. A caller who forges addresses can push other buckets out, but cannot make the table
 * grow.
 */
const LOCAL_BUCKETS_MAX = 50_000;

/**
 * The buckets of this process. A bucket is one number: the time at which it would be full again (the generic cell
 * rate algorithm). A full bucket therefore need not be kept.
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

  /**
   * Adjusts a bucket to the delay that the shared bucket gave, because other nodes took tokens from the shared
   * bucket, too.
   */
  learnDelay(bucket: string, { ratePerSecond, burst }: BucketSettings, delayMs: number): void {
    this.#fullAtMs.set(bucket, this.#monotonicMs() + delayMs + (burst * 1000) / ratePerSecond);
  }

  #next(bucket: string, settings: BucketSettings) {
    return takeToken(this.#fullAtMs.get(bucket) ?? 0, this.#monotonicMs(), settings);
  }
}

/** Times have fractions of a millisecond. A rounding difference is not a wait. */
const ROUNDING_MS = 0.01;

/** Takes one token out of a bucket that will be full at `fullAtMs`. */
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

/**
 * Leased tokens lapse after this time. A caller with more than `CALM_ASKS` requests to this node within this time is
 * busy, and only busy callers get leased tokens.
 */
const LEASE_MS = 250;
const CALM_ASKS = 2;

/** A node leases at most this share of a bucket's burst. */
const BURST_SHARE_MAX = 1 / 4;

/**
 * At most about this share of a bucket's tokens may lapse unused, so that leases do not delay a caller who keeps to
 * the rate.
 */
const LAPSING_SHARE_MAX = 1 / 20;

/**
 * The most callers in memory. A caller who forges addresses can push other callers out, but cannot make the table
 * grow.
 */
const CALLERS_MAX = 10_000;

/** What a node knows about one caller. Times are ms of the node's monotonic clock. */
interface Caller {
  /** Requests since `countedFromMs`, and in the LEASE_MS before that. */
  asks: number;
  asksBefore: number;
  countedFromMs: number;
  tokens: number;
  lapseAtMs: number;
  isLeasing: boolean;
  /** Lapsed tokens that are still to be deducted from later leases. */
  lapsed: number;
  lapsedAtMs: number;
}

/**
 * Tokens that this node took from shared buckets in advance, for callers who ask this node again and again. One call
 * to the store then serves several requests. The tokens are removed from the bucket, so no more requests proceed than
 * the bucket allows.
 */
export class TokenLeases {
  readonly #monotonicMs: () => number;
  readonly #callers = new LRUCache<string, Caller>({ max: CALLERS_MAX });

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Asks for a token for one request. Returns `leased` if a token is there already. Otherwise returns how many tokens
   * to take in advance, besides the token of the request.
   */
  ask(bucket: string, settings: BucketSettings): 'leased' | number {
    const now = this.#monotonicMs();
    const times = { countedFromMs: now, lapseAtMs: now, lapsedAtMs: now };
    const fresh = { ...times, asks: 0, asksBefore: 0, tokens: 0, isLeasing: false, lapsed: 0 };
    const caller = this.#callers.get(bucket) ?? fresh;
    this.#callers.set(bucket, caller);
    letLapse(caller, now, settings);
    const asks = countAsk(caller, now);
    if (caller.tokens > 0) {
      caller.tokens--;
      return 'leased';
    }
    if (caller.isLeasing || asks <= CALM_ASKS) return 0;
    // Leases half as many tokens as there were requests in the last LEASE_MS. More tokens would often lapse.
    const wanted = Math.floor(Math.min(asks / 2, settings.burst * BURST_SHARE_MAX) - caller.lapsed);
    caller.isLeasing = wanted > 0;
    return Math.max(0, wanted);
  }

  /** Adds the tokens that the bucket gave at `askedMs`, after `ask` returned more than 0. */
  grant(bucket: string, tokens: number, askedMs: number): void {
    const caller = this.#callers.get(bucket);
    if (caller === undefined) return;
    caller.isLeasing = false;
    caller.tokens += tokens;
    caller.lapseAtMs = askedMs + LEASE_MS;
  }
}

function letLapse(caller: Caller, now: number, { ratePerSecond }: BucketSettings): void {
  const madeUp = ((now - caller.lapsedAtMs) * ratePerSecond * LAPSING_SHARE_MAX) / 1000;
  caller.lapsed = Math.max(0, caller.lapsed - madeUp);
  caller.lapsedAtMs = now;
  if (caller.tokens === 0 || now < caller.lapseAtMs) return;
  caller.lapsed += caller.tokens;
  caller.tokens = 0;
}

/** Counts a request. Returns about how many requests there were in the last LEASE_MS. */
function countAsk(caller: Caller, now: number): number {
  const ageMs = now - caller.countedFromMs;
  if (ageMs >= LEASE_MS) {
    caller.asksBefore = ageMs < 2 * LEASE_MS ? caller.asks : 0;
    caller.asks = 0;
    caller.countedFromMs = ageMs < 2 * LEASE_MS ? caller.countedFromMs + LEASE_MS : now;
  }
  caller.asks++;
  return caller.asks + caller.asksBefore * (1 - (now - caller.countedFromMs) / LEASE_MS);
}
