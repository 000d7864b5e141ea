/** The fastest answer of this long stands for the way to a server and back. */
const WINDOW_MS = 2000;

/** Callers hear of a store that is away within this, */
const ANSWER_MS_MIN = 300;
/** or within as many round trips where those are longer, */
const ROUND_TRIPS = 5;
/** and never later than this. */
const ANSWER_MS_MAX = 1000;

interface Fastest {
  sinceMs: number;
  ms: number;
  /** The fastest of the window before. */
  beforeMs: number;
}

/**
 * How long the way to each server and back takes: the fastest answer of the last two to four seconds. A server that is
 * busy or stands still makes answers slow and leaves the fastest one as it is, so it does not look far away.
 */
export class RoundTrips {
  readonly #fastest = new Map<string, Fastest>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  observe(node: string, tookMs: number): void {
    const known = this.#windowOf(node);
    known.ms = Math.min(known.ms, tookMs);
  }

  /** Milliseconds; 0 while nothing is known. */
  of(node: string): number {
    const { ms, beforeMs } = this.#windowOf(node);
    const fastest = Math.min(ms, beforeMs);
    return Number.isFinite(fastest) ? fastest : 0;
  }

  #windowOf(node: string): Fastest {
    const nowMs = this.#monotonicMs();
    const known = this.#fastest.get(node);
    if (known === undefined) {
      const first = { sinceMs: nowMs, ms: Number.POSITIVE_INFINITY, beforeMs: Number.POSITIVE_INFINITY };
      this.#fastest.set(node, first);
      return first;
    }
    // Without an answer the last known way stands: a server that is away has not moved.
    if (nowMs - known.sinceMs >= WINDOW_MS && Number.isFinite(known.ms)) {
      known.sinceMs = nowMs;
      known.beforeMs = known.ms;
      known.ms = Number.POSITIVE_INFINITY;
    }
    return known;
  }
}

/** How long a call that decides a request may take, ms: two thirds of what its caller waits. */
export function callLimitMs(roundTripMs: number): number {
  return (answerLimitMs(roundTripMs) * 2) / 3;
}

/** The same for a token of the rate limit, which has a fallback: together with the call it is within the caller's time. */
export function tokenLimitMs(roundTripMs: number): number {
  const limitMs = answerLimitMs(roundTripMs);
  return Math.min(limitMs / 3, Math.max(limitMs / 6, 1.5 * roundTripMs));
}

function answerLimitMs(roundTripMs: number): number {
  return Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, ROUND_TRIPS * roundTripMs));
}
