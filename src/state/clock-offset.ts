/** An offset beyond this is reported to the operator: a clock is wrong. */
export const CLOCK_OFFSET_MS_MAX = 2000;

/** When a store reported its time: this process's clock before and after, and the store's between the two. */
interface ClockReading {
  readonly sentMs: number;
  readonly storeMs: number;
  readonly arrivedMs: number;
}

/**
 * By how much a store's clock is ahead of this process's. A reading proves that the offset lies between
 * `storeMs - arrivedMs` and `storeMs + 1 - sentMs` (the store tells whole milliseconds). The greatest lower
 * end is kept: it comes from the fastest answer, and a clock that is corrected by it does not lead the store's.
 * A reading that contradicts it starts a new estimate: one of the clocks was set.
 */
export class ClockOffset {
  #offsetMs: number | null = null;

  /** Null before the first reading. */
  get offsetMs(): number | null {
    return this.#offsetMs;
  }

  /** A reading that is no number is ignored. */
  observe({ sentMs, storeMs, arrivedMs }: ClockReading): void {
    if (!Number.isFinite(storeMs)) return;
    const least = storeMs - arrivedMs;
    const most = storeMs + 1 - sentMs;
    const known = this.#offsetMs;
    this.#offsetMs = known === null || known > most ? least : Math.max(known, least);
  }
}

/** The middle one, so that a single wrong clock does not decide; of two the earlier. */
export function findMedianOffset(offsets: readonly number[]): number {
  return offsets.toSorted((a, b) => a - b)[Math.floor((offsets.length - 1) / 2)] ?? 0;
}

/** A process's clock as the store's would read. */
export function createStoreClock(
  local: () => number,
  { ownClock, clockOffsetMs }: { readonly clockOffsetMs: () => number; readonly ownClock?: () => number },
): () => number {
  return ownClock ?? (() => Math.floor(local() + clockOffsetMs()));
}
