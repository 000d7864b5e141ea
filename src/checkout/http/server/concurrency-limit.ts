/** A burst of this many is taken; they are answered one after the other. */
export const WORK_UNDER_WAY_MAX = 256;

/** Keeps a busy event loop busy, at a wait of about 15 ms with 300 us of work a request. */
const WORK_UNDER_WAY_MIN = 48;

/**
 * A burst is worked off by itself, and a process that has just started is slow at it: nothing is refused before that many
 * looks in a row, half a second, have found more work than the least.
 */
const BURST_LOOKS = 10;

/** While the event loop has no pause, more work under way cannot be done faster, only later. */
export const BUSY = 0.95;

/**
 * When more under way than the least takes so many times as long as the least did, it only waits: for a Redis that has
 * no pause, or for cores that others use. A Redis that is merely far away takes as long for a few as for many.
 */
const SLOWER = 1.5;

/** How fast the usual time follows what is seen. */
const LEARNING_SHARE = 0.1;

/** How fast the limit falls while work stands, and by how many it rises again at each look when it flows. */
const SHRINK = 0.75;
const GROW = 8;

/** What was seen since the last look. */
export interface SeenLoad {
  /** How much of the event loop's time was used: 0 to 1. */
  readonly utilization: number;
  /** The most that was under way at once. */
  readonly underWayMax: number;
  /** How long what was finished had taken on average; null when nothing was. */
  readonly meanMs: number | null;
}

/** How much work may be under way at once: less while more would only wait, more again when it would not. */
export class ConcurrencyLimit {
  #limit = WORK_UNDER_WAY_MAX;
  /** How many looks in a row found that more was under way than can be done at once. */
  #standingLooks = 0;
  /** What a request takes while no more is under way than the limit ever allows. */
  #usualMs: number | null = null;

  get limit(): number {
    return this.#limit;
  }

  /** Adjusts the limit to what was seen since the last look. */
  observe({ utilization, underWayMax, meanMs }: SeenLoad): void {
    const isLittle = underWayMax <= WORK_UNDER_WAY_MIN;
    if (isLittle && meanMs !== null) this.#learn(meanMs);
    const onlyWaits = meanMs !== null && meanMs > (this.#usualMs ?? meanMs) * SLOWER;
    if (!isLittle && (utilization > BUSY || onlyWaits)) this.#shrink();
    else this.#grow();
  }

  /** There was nothing to do: the next burst may be as large as the first. */
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
