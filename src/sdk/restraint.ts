/** What keeps a client from making the trouble of a service worse. Times are by performance.now(). */

/** Below this no try is begun: it could only be decided and not be heard. */
export const ATTEMPT_MS_MIN = 300;

const RESERVE_RETRIES_MAX = 5;
const RETRIES_PER_CALL = 0.1;
const RETRIES_PER_SECOND = 0.1;

/** Lets a tenth of the calls be tried again, and a few more: without it, retries multiply an overload. */
export class RetryBudget {
  #retries = RESERVE_RETRIES_MAX;
  #refilledAtMs: number;

  constructor(nowMs: number) {
    this.#refilledAtMs = nowMs;
  }

  noteCall(nowMs: number): void {
    const seconds = (nowMs - this.#refilledAtMs) / 1000;
    const refilled = this.#retries + RETRIES_PER_CALL + seconds * RETRIES_PER_SECOND;
    this.#retries = Math.min(RESERVE_RETRIES_MAX, refilled);
    this.#refilledAtMs = nowMs;
  }

  /** Whether a retry is left; it is spent then. */
  spend(): boolean {
    if (this.#retries < 1) return false;
    this.#retries -= 1;
    return true;
  }
}

const FAILURES_IN_A_ROW_MAX = 10;
const OPEN_MS = 2000;

/** Opens when nothing was answered many times in a row; one try in two seconds finds out when that is over. */
export class Circuit {
  #failuresInARow = 0;
  #nextTryAtMs = 0;

  /** Whether a try may be sent. */
  admits(nowMs: number): boolean {
    if (this.#failuresInARow < FAILURES_IN_A_ROW_MAX) return true;
    if (nowMs < this.#nextTryAtMs) return false;
    this.#nextTryAtMs = nowMs + OPEN_MS;
    return true;
  }

  note(wasAnswered: boolean, nowMs: number): void {
    this.#failuresInARow = wasAnswered ? 0 : this.#failuresInARow + 1;
    this.#nextTryAtMs = nowMs + OPEN_MS;
  }
}

/** Spaces tries evenly, after a burst of one second's worth: what the service would delay or drop is not sent. */
export class Pace {
  readonly #spacingMs: number;
  #nextAtMs = 0;

  /** 0 a second: as fast as they come. */
  constructor(requestsPerSecondMax: number) {
    this.#spacingMs = requestsPerSecondMax === 0 ? 0 : 1000 / requestsPerSecondMax;
  }

  /** How long a try has to wait, and takes its place; null when its turn would come after `latestMs`. */
  waitMs(nowMs: number, latestMs: number): number | null {
    const burstMs = Math.max(0, 1000 - this.#spacingMs);
    const turnMs = Math.max(this.#nextAtMs, nowMs - burstMs);
    if (turnMs > latestMs) return null;
    this.#nextAtMs = turnMs + this.#spacingMs;
    return Math.max(0, turnMs - nowMs);
  }
}
