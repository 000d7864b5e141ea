/** Who has served for so long dies of something else than those before. */
const SOUND_MS = 60_000;

/** A worker that died is followed by another after this, doubled with each death in a row. */
const WAIT_MS_MIN = 500;

/** After so many deaths in a row nobody follows. */
const DEATHS_IN_A_ROW_MAX = 5;

/** How often a worker tells that its event loop turns, and the supervisor looks who did not. */
export const BEAT_MS = 1000;

/** No pause of a sound worker comes near: garbage is collected in less than a second, long work runs in threads. */
const SILENT_BEATS_MAX = 10;

/** A start takes its time on a busy machine. */
const SILENT_BEATS_MAX_AT_START = 60;

/**
 * One of a node's places for workers: who serves there, dies and is followed by another. Knows no process: it is told
 * what happens, and when, in ms of one steady clock.
 */
export class Place {
  #servesSinceMs: number | null = null;
  #silentBeats = 0;
  #deathsInARow = 0;

  get deathsInARow(): number {
    return this.#deathsInARow;
  }

  serves(nowMs: number): void {
    this.#servesSinceMs = nowMs;
  }

  heard(): void {
    this.#silentBeats = 0;
  }

  /**
   * Called once a beat; whether the worker has been silent for too long. Beats are counted instead of time, so that a
   * pause of the whole machine, in which nobody counts, makes nobody silent.
   */
  isSilentTooLong(): boolean {
    this.#silentBeats++;
    return this.#silentBeats > (this.#servesSinceMs === null ? SILENT_BEATS_MAX_AT_START : SILENT_BEATS_MAX);
  }

  /** The worker died: how long to wait before another follows, in ms; null when none should. */
  died(nowMs: number): number | null {
    const wasSound = this.#servesSinceMs !== null && nowMs - this.#servesSinceMs >= SOUND_MS;
    this.#deathsInARow = wasSound ? 1 : this.#deathsInARow + 1;
    this.#servesSinceMs = null;
    this.#silentBeats = 0;
    if (this.#deathsInARow >= DEATHS_IN_A_ROW_MAX) return null;
    return WAIT_MS_MIN * 2 ** (this.#deathsInARow - 1);
  }
}
