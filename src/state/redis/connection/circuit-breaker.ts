import { failureText } from '../../health/store-health.ts';
import { StoreLate } from '../../health/store-late.ts';
import type { RunCall } from '../../run-call.ts';
import { StoreUnavailable } from '../../store-errors.ts';

/** How often waiting calls are looked at: one timer for all of them, none a call. */
const SWEEP_MS = 10;

/**
 * A call is late only if it was also looked at this often, half as often as a process that gets its core looks within the
 * shortest limit. Otherwise pauses of this process would be taken for the server's, and one late call refuses all others.
 */
const SWEEPS_MIN = 10;

/** How often a stalled server is asked whether it is back, beside the calls that still wait for it. */
const PROBE_INTERVAL_MS = 100;

/** A probe that got no answer this long is lost, too. Longer than a silent connection is kept. */
const PROBE_LOST_MS = 5000;

interface Call {
  readonly startedMs: number;
  /** How many sweeps there had been. */
  readonly startedSweep: number;
  /** It is given up as soon as the server is known to stand still, however short it has waited itself. */
  readonly onlyReads: boolean;
  readonly reject: (error: StoreUnavailable) => void;
}

interface Listeners {
  /** Is told of every call that failed by itself. */
  readonly onFailure?: (error: unknown) => void;
  /** Is told how long each answer took, ms, that of a call given up too. */
  readonly onAnswer?: (tookMs: number) => void;
}

/**
 * Gives up calls that one server does not answer in time. While one of them still waits the circuit is open:
 * new calls fail at once, so that nothing queues up behind a stopped server. It closes again as soon as the
 * late answers arrive, the connection drops (which rejects them), or a probe is answered.
 */
export class CircuitBreaker {
  readonly #server: string;
  readonly #limitMs: () => number;
  readonly #onAnswer: (tookMs: number) => void;
  readonly #probe: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  /** In time still; in the order in which they started. */
  readonly #waiting = new Set<Call>();
  /** Given up, but the client may still deliver them. */
  readonly #overdue = new Set<Call>();
  #timer: NodeJS.Timeout | null = null;
  #sweeps = 0;
  /** When a probe was last sent, and whether it is still out. */
  #probedMs = Number.NEGATIVE_INFINITY;
  #probing = false;

  /** `limitMs` is asked whenever calls are looked at: it follows the way to the server. */
  constructor(
    server: string,
    limitMs: () => number,
    probe: () => Promise<unknown>,
    { onFailure = () => {}, onAnswer = () => {} }: Listeners = {},
  ) {
    this.#server = server;
    this.#limitMs = limitMs;
    this.#probe = probe;
    this.#onFailure = onFailure;
    this.#onAnswer = onAnswer;
  }

  /** Runs one call; rejects with StoreUnavailable when it fails, is late, or the server is stalled. */
  readonly run: RunCall = (call) => this.#run(call, false);

  /**
   * The same for a call that changes nothing. One that changes something keeps all of its time: it may take
   * effect until then, and its caller should hear of it.
   */
  readonly read: RunCall = (call) => this.#run(call, true);

  /** A call is overdue and its answer has not come. */
  get stalled(): boolean {
    return this.#overdue.size > 0;
  }

  #run<T>(call: () => Promise<T>, onlyReads: boolean): Promise<T> {
    if (this.stalled) return Promise.reject(new StoreLate(`${this.#server} does not answer`));
    return new Promise<T>((resolve, reject) => {
      const waiting: Call = { startedMs: performance.now(), startedSweep: this.#sweeps, onlyReads, reject };
      const failed = (error: unknown) => {
        this.#settle(waiting);
        this.#onFailure(error);
        reject(unavailable(this.#server, error));
      };
      this.#waiting.add(waiting);
      this.#watch();
      try {
        call().then((value) => {
          this.#settle(waiting);
          this.#onAnswer(performance.now() - waiting.startedMs);
          resolve(value);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  #settle(call: Call): void {
    this.#waiting.delete(call);
    this.#overdue.delete(call);
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  #sweep(): void {
    const now = performance.now();
    const limitMs = this.#limitMs();
    this.#sweeps++;
    for (const call of this.#waiting) {
      const inTime = now - call.startedMs < limitMs;
      if (inTime || this.#sweeps - call.startedSweep < SWEEPS_MIN) break;
      this.#giveUp(call, `${this.#server} did not answer within ${Math.round(limitMs)} ms`);
    }
    if (this.stalled) {
      for (const call of this.#waiting) {
        if (call.onlyReads) this.#giveUp(call, `${this.#server} does not answer`);
      }
      this.#askAgain(now);
    }
    if (this.#waiting.size + this.#overdue.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #giveUp(call: Call, why: string): void {
    this.#waiting.delete(call);
    this.#overdue.add(call);
    call.reject(new StoreLate(why));
  }

  /** A probe that is answered proves that whatever still waits is lost. */
  #askAgain(now: number): void {
    const patienceMs = this.#probing ? PROBE_LOST_MS : PROBE_INTERVAL_MS;
    if (now - this.#probedMs < patienceMs) return;
    this.#probedMs = now;
    this.#probing = true;
    Promise.try(this.#probe).then(
      () => {
        this.#probing = false;
        this.#overdue.clear();
      },
      () => {
        // Still away: it is asked again after the interval.
        this.#probing = false;
      },
    );
  }
}

function unavailable(server: string, error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  return new StoreUnavailable(`${server} could not answer: ${failureText(error)}`, { cause: error });
}
