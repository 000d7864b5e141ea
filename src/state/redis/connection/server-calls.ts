import { type RunCall, StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import { explainStoreFailure } from '#state/store-health.ts';
import { isReplicaRefusal, type RedisConnection } from './connection.ts';
import { BadReply } from './reply.ts';

/**
 * Runs calls on the servers of Redis. Each server has a circuit breaker of its own, so that a server that stalls does
 * not stop calls on the others.
 */
export class ServerCalls {
  readonly #connection: RedisConnection;
  readonly #roundTrips: RoundTrips;
  readonly #limitMs: (roundTripMs: number) => number;
  readonly #refusal: () => StoreUnavailable | null;
  readonly #breakers = new Map<string, CircuitBreaker>();
  #closed = false;

  /**
   * `limitMs` returns how long a call may take, given the round trip to its server. `refusal` returns why no call for
   * a key may be made now, and null if a call may be made.
   */
  constructor(
    connection: RedisConnection,
    roundTrips: RoundTrips,
    limitMs: (roundTripMs: number) => number,
    refusal: () => StoreUnavailable | null = () => null,
  ) {
    this.#connection = connection;
    this.#roundTrips = roundTrips;
    this.#limitMs = limitMs;
    this.#refusal = refusal;
  }

  /** How long a call on the server that holds a key may take now, ms. */
  limitMsOn(key: string): number {
    return this.#limitOf(this.#connection.serverOf(key));
  }

  /** Runs calls on the server that holds a key. */
  readonly on = (key: string): RunCall => this.#refused() ?? this.onServer(this.#connection.serverOf(key));

  /** Runs calls on one server, whatever data it holds. */
  readonly onServer = (node: string): RunCall => (this.#closed ? refuse : this.#breakerOf(node).run);

  /** Runs calls that change nothing on the server that holds a key. */
  readonly reading = (key: string): RunCall => {
    if (this.#closed) return refuse;
    return this.#refused() ?? this.#breakerOf(this.#connection.serverOf(key)).read;
  };

  #refused(): RunCall | null {
    const refusal = this.#refusal();
    return refusal === null ? null : () => Promise.reject(refusal);
  }

  close(): void {
    this.#closed = true;
  }

  #limitOf(node: string): number {
    return this.#limitMs(this.#roundTrips.of(node));
  }

  #breakerOf(node: string): CircuitBreaker {
    const known = this.#breakers.get(node);
    if (known !== undefined) return known;
    const probe = () => this.#connection.pingServer(node);
    const onFailure = (error: unknown) => {
      if (isReplicaRefusal(error)) this.#connection.connectAnew?.();
      if (error instanceof BadReply) this.#connection.renew(node);
    };
    const onAnswer = (tookMs: number) => this.#roundTrips.observe(node, tookMs);
    const limitMs = () => this.#limitOf(node);
    const breaker = new CircuitBreaker(`Redis at ${node}`, limitMs, probe, { onFailure, onAnswer });
    this.#breakers.set(node, breaker);
    return breaker;
  }
}

const refuse: RunCall = () => Promise.reject(new StoreUnavailable('the store is closed'));

/** How often waiting calls are checked. One timer serves all of them. */
const SWEEP_MS = 10;

/**
 * A call is late only after this many checks. That is half of the checks that a process with its own core makes
 * within the shortest limit. Otherwise a pause of this process would look like a pause of the server, and one late
 * call makes all others fail.
 */
const SWEEPS_MIN = 10;

/** How often a stalled server gets a probe, besides the calls that still wait for it. */
const PROBE_INTERVAL_MS = 100;

/**
 * A probe that is not answered within this time counts as lost. The time is longer than a silent connection is kept.
 */
const PROBE_LOST_MS = 5000;

interface Call {
  readonly startedMs: number;
  /** The number of the check at which the call started. */
  readonly startedSweep: number;
  /**
   * Whether the call changes nothing. Such a call is given up as soon as the server is known to be stalled, however
   * short the call has waited.
   */
  readonly onlyReads: boolean;
  readonly reject: (error: StoreUnavailable) => void;
}

interface Listeners {
  /** Called for every call that failed by itself. */
  readonly onFailure?: (error: unknown) => void;
  /** Called with the duration of each answer in ms, also for calls that were given up. */
  readonly onAnswer?: (tookMs: number) => void;
}

/**
 * Gives up calls that one server does not answer in time. While one of them is still unanswered, the circuit is open:
 * new calls fail at once, so that no queue builds up behind a stopped server. The circuit closes as soon as the late
 * answers arrive, the connection drops (which rejects the calls), or a probe is answered.
 */
export class CircuitBreaker {
  readonly #server: string;
  readonly #limitMs: () => number;
  readonly #onAnswer: (tookMs: number) => void;
  readonly #probe: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  /** Calls that are still in time, in the sequence in which they started. */
  readonly #waiting = new Set<Call>();
  /** Calls that were given up and that the connection may still deliver. */
  readonly #overdue = new Set<Call>();
  #timer: NodeJS.Timeout | null = null;
  #sweeps = 0;
  /** When the last probe was sent, and whether it is still unanswered. */
  #probedMs = Number.NEGATIVE_INFINITY;
  #probing = false;

  /** `limitMs` is called at every check, because it depends on the round trip to the server. */
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

  /** Runs one call. Rejects with StoreUnavailable if the call fails or is late, or if the server is stalled. */
  readonly run: RunCall = (call) => this.#run(call, false);

  /**
   * Runs a call that changes nothing. A call that changes something keeps its full time, because it may take effect
   * until then and its caller should learn of it.
   */
  readonly read: RunCall = (call) => this.#run(call, true);

  /** Whether a call is overdue and not answered yet. */
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
        reject(toUnavailable(this.#server, error));
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

  /**
   * Sends a probe. If the server answers it, the answers of the calls that were given up are lost, and the circuit
   * closes.
   */
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
        // The server is still away. The next probe follows after the interval.
        this.#probing = false;
      },
    );
  }
}

function toUnavailable(server: string, error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  return new StoreUnavailable(`${server} could not answer: ${explainStoreFailure(error)}`, { cause: error });
}

/** The fastest answer within this time counts as the round trip to a server. */
const WINDOW_MS = 2000;

/**
 * The least time within which a request's caller is answered. If the store is away, the caller is refused within this
 * time.
 */
const ANSWER_MS_MIN = 300;
/**
 * The time within which a request's caller is answered, in round trips. It applies if it is longer than
 * ANSWER_MS_MIN.
 */
const ROUND_TRIPS = 5;
/** The greatest time within which a request's caller is answered. */
const ANSWER_MS_MAX = 1000;

interface FastestAnswer {
  sinceMs: number;
  ms: number;
  /** The fastest answer of the previous window. */
  beforeMs: number;
}

/**
 * Measures the round trip to each server as the fastest answer of the last two to four seconds. A busy or paused
 * server slows some answers down, but not the fastest one, so the measured round trip stays the same.
 */
export class RoundTrips {
  readonly #fastest = new Map<string, FastestAnswer>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  observe(node: string, tookMs: number): void {
    const known = this.#windowOf(node);
    known.ms = Math.min(known.ms, tookMs);
  }

  /** Returns the round trip in ms. Returns 0 if nothing is known yet. */
  of(node: string): number {
    const { ms, beforeMs } = this.#windowOf(node);
    const fastest = Math.min(ms, beforeMs);
    return Number.isFinite(fastest) ? fastest : 0;
  }

  #windowOf(node: string): FastestAnswer {
    const nowMs = this.#monotonicMs();
    const known = this.#fastest.get(node);
    if (known === undefined) {
      const first = { sinceMs: nowMs, ms: Number.POSITIVE_INFINITY, beforeMs: Number.POSITIVE_INFINITY };
      this.#fastest.set(node, first);
      return first;
    }
    // If there are no new answers, the last known round trip stays, because a server that is away has not moved.
    if (nowMs - known.sinceMs >= WINDOW_MS && Number.isFinite(known.ms)) {
      known.sinceMs = nowMs;
      known.beforeMs = known.ms;
      known.ms = Number.POSITIVE_INFINITY;
    }
    return known;
  }
}

/**
 * Computes how long a call that decides a request may take, in ms. The result is two thirds of the time within which
 * the request's caller is answered.
 */
export function computeCallLimitMs(roundTripMs: number): number {
  return (computeAnswerLimitMs(roundTripMs) * 2) / 3;
}

/**
 * Computes how long a call for a token of the rate limit may take, in ms. If the call fails, the node uses its own
 * bucket. This call and the call that decides together stay within the time of the request's caller.
 */
export function computeRateTokenLimitMs(roundTripMs: number): number {
  const limitMs = computeAnswerLimitMs(roundTripMs);
  return Math.min(limitMs / 3, Math.max(limitMs / 6, 1.5 * roundTripMs));
}

function computeAnswerLimitMs(roundTripMs: number): number {
  return Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, ROUND_TRIPS * roundTripMs));
}
