/**
 * The highest limit of requests under way at once. A burst of this size is accepted and answered one request after
 * the other.
 */
export const WORK_UNDER_WAY_MAX = 256;

/**
 * The lowest limit of requests under way at once. It keeps a busy event loop busy, with a wait of about 15 ms at 300
 * us of work a request.
 */
const WORK_UNDER_WAY_MIN = 48;

/**
 * How many measurements in a row (half a second) must find too much work before the limit falls. A burst is soon
 * worked off, and a process that has just started is slow.
 */
const BURST_LOOKS = 10;

/**
 * An event loop above this utilization has no pauses. If more work is under way, it is finished later and not faster.
 */
export const BUSY_UTILIZATION = 0.95;

/**
 * If more requests than the lowest limit are under way and a request takes this many times the usual time, additional
 * requests only wait. They wait for a Redis that is always busy, or for cores that other processes use. A Redis that
 * is merely far away takes equally long for few requests and for many.
 */
const SLOWER = 1.5;

/** The weight of a new measurement in the average that is the usual time. */
const LEARNING_SHARE = 0.1;

/** At each measurement the limit is multiplied by `SHRINK` if work piles up, and grows by `GROW` if it does not. */
const SHRINK = 0.75;
const GROW = 8;

/** The load since the last measurement. */
export interface MeasuredLoad {
  /** The share of the event loop's time that was used: 0 to 1. */
  readonly utilization: number;
  /** The most requests that were under way at once. */
  readonly underWayMax: number;
  /** The mean duration of the finished requests. Null if none finished. */
  readonly meanMs: number | null;
}

/**
 * Computes how many requests may be under way at once. The limit falls while additional work would only wait, and
 * rises otherwise.
 */
export class ConcurrencyLimit {
  #limit = WORK_UNDER_WAY_MAX;
  /** The number of measurements in a row that found more work under way than can be done at once. */
  #standingLooks = 0;
  /**
   * The usual duration of a request when no more than the lowest limit is under way. Null before the first
   * measurement.
   */
  #usualMs: number | null = null;

  get limit(): number {
    return this.#limit;
  }

  /** Adjusts the limit to the load since the last measurement. */
  observe({ utilization, underWayMax, meanMs }: MeasuredLoad): void {
    const isLittle = underWayMax <= WORK_UNDER_WAY_MIN;
    if (isLittle && meanMs !== null) this.#learn(meanMs);
    const onlyWaits = meanMs !== null && meanMs > (this.#usualMs ?? meanMs) * SLOWER;
    if (!isLittle && (utilization > BUSY_UTILIZATION || onlyWaits)) this.#shrink();
    else this.#grow();
  }

  /** Resets the limit after an idle time, so that the next burst may be as large as the first. */
  reset(): void {
    this.#limit = WORK_UNDER_WAY_MAX;
  }

  #shrink(): void {
    this.#standingLooks++;
    const mayBeBurst = this.#limit === WORK_UNDER_WAY_MAX && this.#standingLooks < BURST_LOOKS;
    if (!mayBeBurst) this.#limit = Math.max(WORK_UNDER_WAY_MIN, Math.floor(this.#limit * SHRINK));
  }

  #grow(): void {
    this.#standingLooks = 0;
    this.#limit = Math.min(WORK_UNDER_WAY_MAX, this.#limit + GROW);
  }

  #learn(meanMs: number): void {
    const usualMs = this.#usualMs ?? meanMs;
    this.#usualMs = usualMs + (meanMs - usualMs) * LEARNING_SHARE;
  }
}
