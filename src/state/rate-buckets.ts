import { LRUCache } from 'lru-cache';

/** How many tokens a second come in, and how many may be saved up. */
export interface BucketSettings {
  readonly ratePerSecond: number;
  readonly burst: number;
  /** A request that would have to wait longer than this is refused and takes no token. */
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

  /** Others took from the bucket, too: the last request has to wait this long. */
  learnDelay(bucket: string, { ratePerSecond, burst }: BucketSettings, delayMs: number): void {
    this.#fullAtMs.set(bucket, this.#monotonicMs() + delayMs + (burst * 1000) / ratePerSecond);
  }

  #next(bucket: string, settings: BucketSettings) {
    return takeToken(this.#fullAtMs.get(bucket) ?? 0, this.#monotonicMs(), settings);
  }
}

/** Times have fractions of a millisecond; a rounding difference is not a wait. */
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

/** Leased tokens lapse after this time; a caller who asked a node more often than `CALM_ASKS` within it is busy. */
const LEASE_MS = 250;
const CALM_ASKS = 2;

/** A node holds at most this share of what may be saved up. */
const BURST_SHARE_MAX = 1 / 4;

/** At most this share of a bucket's tokens may lapse unused, about: whoever keeps to the rate is not delayed for it. */
const LAPSING_SHARE_MAX = 1 / 20;

/** A forger of addresses can push out other callers, never grow the table. */
const CALLERS_MAX = 10_000;

/** What a node knows of one caller. Times are of its monotonic clock, ms. */
interface Caller {
  /** Requests since `countedFromMs`, and in the LEASE_MS before that. */
  asks: number;
  asksBefore: number;
  countedFromMs: number;
  tokens: number;
  lapseAtMs: number;
  isLeasing: boolean;
  /** Lapsed tokens that are not made up for yet. */
  lapsed: number;
  lapsedAtMs: number;
}

/**
 * Tokens of shared buckets that this node took ahead, for callers who ask it again and again: one call to the store for
 * some requests instead of one for each. They are taken out of the bucket, so no more go on than it allows.
 */
export class TokenLeases {
  readonly #monotonicMs: () => number;
  readonly #callers = new LRUCache<string, Caller>({ max: CALLERS_MAX });

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** For one request: `leased` when it has a token already, or how many the bucket should give beside the request's own. */
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
    // Half of what it needed in the time before: more would often lapse.
    const wanted = Math.floor(Math.min(asks / 2, settings.burst * BURST_SHARE_MAX) - caller.lapsed);
    caller.isLeasing = wanted > 0;
    return Math.max(0, wanted);
  }

  /** The result of asking for more than 0 at that time: the number of tokens. */
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

/** Requests within LEASE_MS up to now, about. */
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
