import { CLOCK_OFFSET_MS_MAX } from './clock-offset.ts';

/** After a jump beyond this nothing is deleted by time for as long: somebody may set the clock right. */
export const UNSETTLED_MS = 600_000;

interface Jump {
  /** By the time that really passes, ms. */
  readonly atMs: number;
  /** Above 0 when the clock was set ahead. */
  readonly byMs: number;
}

/**
 * Notices when a clock is set, or went on while the machine was suspended: it then differs from the time that passes in this
 * process. Corrections below two seconds are those of NTP.
 */
export class ClockJumps {
  readonly #clock: () => number;
  readonly #monotonicMs: () => number;
  #offsetMs: number;
  #jumps: readonly Jump[] = [];

  /** `lastKnownMs`: what the clock said when somebody last looked, maybe before this process; null when nobody knows. */
  constructor(
    clock: () => number,
    monotonicMs: () => number = () => performance.now(),
    lastKnownMs: number | null = null,
  ) {
    this.#clock = clock;
    this.#monotonicMs = monotonicMs;
    this.#offsetMs = clock() - monotonicMs();
    const sinceMs = lastKnownMs === null ? 0 : clock() - lastKnownMs;
    // Whether it stood still or was set nobody knows. It is no jump to tell of.
    this.#startedMs = Math.abs(sinceMs) > UNSETTLED_MS ? monotonicMs() : null;
  }

  readonly #startedMs: number | null;

  /** The last jump beyond two seconds within ten minutes, ms; 0 when there was none. */
  recentMs(): number {
    return this.#recent().at(-1)?.byMs ?? 0;
  }

  /** Whether things may be deleted by this clock. */
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
