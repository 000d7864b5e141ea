/** An offset above this is reported to the operator, because one of the clocks is wrong. */
export const CLOCK_OFFSET_MS_MAX = 2000;

/** A store's report of its time, with this process's clock before and after it. */
interface ClockReading {
  readonly sentMs: number;
  readonly storeMs: number;
  readonly arrivedMs: number;
}

/**
 * Estimates how far a store's clock is ahead of this process's clock. A reading shows that the offset lies between
 * `storeMs - arrivedMs` and `storeMs + 1 - sentMs`, because the store reports whole milliseconds. The highest of all
 * lower ends is the estimate. It comes from the fastest answer, and a clock that is corrected by it is never ahead of
 * the store's clock. A reading that contradicts the estimate starts a new one, because one of the clocks was set.
 */
export class ClockOffsetEstimator {
  #offsetMs: number | null = null;

  /** The estimated offset. Null before the first reading. */
  get offsetMs(): number | null {
    return this.#offsetMs;
  }

  /** Takes a reading into account. A reading whose time is not a number is ignored. */
  observe({ sentMs, storeMs, arrivedMs }: ClockReading): void {
    if (!Number.isFinite(storeMs)) return;
    const least = storeMs - arrivedMs;
    const most = storeMs + 1 - sentMs;
    const known = this.#offsetMs;
    this.#offsetMs = known === null || known > most ? least : Math.max(known, least);
  }
}

/**
 * Returns the median, so that a single wrong clock does not decide. If two offsets are in the middle, returns the
 * smaller one.
 */
export function computeMedianOffset(offsets: readonly number[]): number {
  return offsets.toSorted((a, b) => a - b)[Math.floor((offsets.length - 1) / 2)] ?? 0;
}

/** Creates a clock that shows the store's time, computed from this process's clock. */
export function createStoreClock(
  local: () => number,
  { ownClock, clockOffsetMs }: { readonly clockOffsetMs: () => number; readonly ownClock?: () => number },
): () => number {
  return ownClock ?? (() => Math.floor(local() + clockOffsetMs()));
}
