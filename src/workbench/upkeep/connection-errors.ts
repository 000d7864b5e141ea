/** The shortest time between two log lines which say that the store is still away. */
const TOLD_EVERY_MS = 10_000;

/**
 * A connection without an error for this long counts as restored. In this time many attempts are made, even if
 * attempts time out.
 */
const QUIET_MS = 5000;

interface ConnectionNews {
  readonly text: string;
  /** The seconds from the first error of the outage to the last one. */
  readonly seconds: number;
  readonly errors: number;
}

interface Outage {
  readonly sinceMs: number;
  lastErrorMs: number;
  errors: number;
  toldMs: number;
}

/**
 * Turns the many errors of a store connection that keeps retrying into few log lines. All times are in ms of one
 * clock.
 */
export class StoreConnectionErrorLog {
  #outage: Outage | null = null;

  /** Notes an error. Returns the log line about the outage, or null if no line is due. */
  noteError(nowMs: number): ConnectionNews | null {
    if (this.#outage === null) {
      this.#outage = { sinceMs: nowMs, lastErrorMs: nowMs, errors: 1, toldMs: nowMs };
      return createNews(this.#outage, 'the connection to the store is lost; trying again');
    }
    this.#outage.lastErrorMs = nowMs;
    this.#outage.errors++;
    if (nowMs - this.#outage.toldMs < TOLD_EVERY_MS) return null;
    this.#outage.toldMs = nowMs;
    return createNews(this.#outage, 'the connection to the store is still lost');
  }

  /**
   * Returns the log line which says that the outage is over, once after each outage. It has to be called from time to
   * time.
   */
  findRecovery(nowMs: number): ConnectionNews | null {
    const outage = this.#outage;
    if (outage === null || nowMs - outage.lastErrorMs < QUIET_MS) return null;
    this.#outage = null;
    return createNews(outage, 'the connection to the store is back');
  }
}

function createNews({ sinceMs, lastErrorMs, errors }: Outage, text: string): ConnectionNews {
  return { text, seconds: Math.round((lastErrorMs - sinceMs) / 1000), errors };
}
