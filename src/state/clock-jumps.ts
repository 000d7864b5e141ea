import { CLOCK_OFFSET_MS_MAX } from './clock-offset.ts';

/**
 * Ten minutes. After the clock jumped by more than that, nothing is deleted by age for ten minutes, because somebody
 * may set the clock right again.
 */
export const UNSETTLED_MS = 600_000;

interface Jump {
  /** When the jump was noticed, ms of the monotonic clock. */
  readonly atMs: number;
  /** Positive if the clock was set ahead. */
  readonly byMs: number;
}

/**
 * Notices that the clock was set, or ran on while the machine was suspended. The clock is compared with the monotonic
 * clock of this process. Differences below two seconds are corrections by NTP.
 */
export class ClockJumps {
  readonly #clock: () => number;
  readonly #monotonicMs: () => number;
  #offsetMs: number;
  #jumps: readonly Jump[] = [];

  /**
   * `lastKnownMs` is the clock's time when it was last read, perhaps before this process started. Null if it is not
   * known.
   */
  constructor(
    clock: () => number,
    monotonicMs: () => number = () => performance.now(),
    lastKnownMs: number | null = null,
  ) {
    this.#clock = clock;
    this.#monotonicMs = monotonicMs;
    this.#offsetMs = clock() - monotonicMs();
    const sinceMs = lastKnownMs === null ? 0 : clock() - lastKnownMs;
    // The clock may have been set, or the process may have been away. Nobody knows which, so this is not reported as
    // a jump.
    this.#startedMs = Math.abs(sinceMs) > UNSETTLED_MS ? monotonicMs() : null;
  }

  readonly #startedMs: number | null;

  /**
   * Returns by how many ms the clock jumped last, if it jumped by more than two seconds in the last ten minutes.
   * Returns 0 otherwise.
   */
  getRecentJumpMs(): number {
    return this.#recent().at(-1)?.byMs ?? 0;
  }

  /** Whether data may be deleted by this clock. */
  isSettled(): boolean {
    const started = this.#startedMs !== null && this.#monotonicMs() - this.#startedMs < UNSETTLED_MS;
    return !started && !this.#recent().some(({ byMs }) => Math.abs(byMs) > UNSETTLED_MS);
  }

  #recent(): readonly Jump[] {
    const atMs = this.#monotonicMs();
    const byMs = this.#clock() - atMs - this.#offsetMs;
    this.#offsetMs += byMs;
    const jumped = Math.abs(byMs) > CLOCK_OFFSET_MS_MAX ? [{ atMs, byMs: Math.round(byMs) }] : [];
    this.#jumps = [...this.#jumps, ...jumped].filter((jump) => atMs - jump.atMs < UNSETTLED_MS);
    return this.#jumps;
  }
}
