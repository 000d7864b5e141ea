/** At most one line in this time says that the store is still away. */
const TOLD_EVERY_MS = 10_000;

/** A connection that had no error for this long is back: it is tried many times in it, also when attempts time out. */
const QUIET_MS = 5000;

interface ConnectionNews {
  readonly text: string;
  /** From the first error of the outage to the last. */
  readonly seconds: number;
  readonly errors: number;
}

interface Outage {
  readonly sinceMs: number;
  lastErrorMs: number;
  errors: number;
  toldMs: number;
}

/** Makes few lines of the many errors of a client that connects again and again. Times are of one clock, ms. */
export class ConnectionErrors {
  #outage: Outage | null = null;

  /** Takes note of an error; null when a line about the outage is not due. */
  failed(nowMs: number): ConnectionNews | null {
    if (this.#outage === null) {
      this.#outage = { sinceMs: nowMs, lastErrorMs: nowMs, errors: 1, toldMs: nowMs };
      return newsOf(this.#outage, 'the connection to the store is lost, and tried again');
    }
    this.#outage.lastErrorMs = nowMs;
    this.#outage.errors++;
    if (nowMs - this.#outage.toldMs < TOLD_EVERY_MS) return null;
    this.#outage.toldMs = nowMs;
    return newsOf(this.#outage, 'the connection to the store is still lost');
  }

  /** To be asked now and then: says once that the outage is over. */
  recovered(nowMs: number): ConnectionNews | null {
    const outage = this.#outage;
    if (outage === null || nowMs - outage.lastErrorMs < QUIET_MS) return null;
    this.#outage = null;
    return newsOf(outage, 'the connection to the store is back');
  }
}

function newsOf({ sinceMs, lastErrorMs, errors }: Outage, text: string): ConnectionNews {
  return { text, seconds: Math.round((lastErrorMs - sinceMs) / 1000), errors };
}
