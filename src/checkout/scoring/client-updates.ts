import { setTimeout as sleep } from 'node:timers/promises';
import { NamedError } from '#base/named-error.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { chooseEventTime, compactState } from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-set-back.ts';
import type { ClientFromStore, Commit, LoadOptions, Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

/** The clock of this process, which ignores changes of the system's clock. */
export interface MonotonicClock {
  /** Monotonic time in ms. */
  readonly monotonicMs: () => number;
  /** Pauses for a random time, so that nodes that raced for a client do not race again at once. */
  readonly pauseAfterRace: () => Promise<void>;
}

interface ClientUpdatesParts {
  readonly store: Store;
  readonly metrics: Metrics;
  /** The default is the process's own clock. A simulation passes a clock that a seed makes repeatable. */
  readonly pace?: MonotonicClock;
  /** The clock by which requests are decided, epoch ms. */
  readonly clock: () => number;
}

/** One request that waits for its turn with its client. */
interface Turn {
  /** The operation's name in metrics and messages. */
  readonly operation: string;
  readonly client: ClientKey;
  readonly also?: LoadOptions;
  /**
   * Resolves to whether the request may change anything. The client is loaded in the meantime. If the promise is
   * missing, the request is admitted.
   */
  readonly admitted?: Promise<boolean> | undefined;
}

/** The state of a client when a request begins, and the time of the request. */
export interface LoadedClient extends ClientFromStore {
  /** The time of the request, epoch ms. It is never earlier than anything recorded about the client. */
  readonly now: number;
}

/** The result of a request and its change of the client. If `change` is null, nothing is committed. */
export interface ResultAndChange<T> {
  readonly result: T;
  readonly change: Omit<Commit, 'client' | 'stamp'> | null;
}

/** Too many requests of one client are waiting, or a request waited too long. */
export class TooManyWaiting extends NamedError {}

/** The rate limit refused the request after its client began to load. */
export class RateLimitRefused extends NamedError {}

/** A request that has not begun to decide after this time is refused. */
const REQUEST_DEADLINE_MS = 2000;
const WAITING_REQUESTS_MAX = 200;

/**
 * How often a request is decided at most, if other nodes always commit first. A request that loses so many races is
 * refused, because something else must be wrong.
 */
const TRIES_MAX = 40;
const JITTER_MS_MAX = 4;

const PROCESS_PACE: MonotonicClock = {
  monotonicMs: () => performance.now(),
  pauseAfterRace: () => sleep(Math.random() * JITTER_MS_MAX),
};

/**
 * Runs the requests that change a client one after the other. Within this process they queue. If another node
 * committed first, the state is loaded again and the request is decided again.
 */
export class ClientUpdates {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #metrics: Metrics;
  readonly #pace: MonotonicClock;
  readonly #queue = new ClientQueues(WAITING_REQUESTS_MAX);

  constructor({ store, clock, metrics, pace = PROCESS_PACE }: ClientUpdatesParts) {
    this.#store = store;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#pace = pace;
  }

  /**
   * Loads the client, calls `decide` and commits the change. Throws TooManyWaiting if the request gets no turn in
   * time, and RateLimitRefused if the rate limit refuses it. If the store does not answer the commit, the change may be
   * recorded or not, and `whenUnsure` gets the result.
   */
  runTurn<T>(
    turn: Turn,
    decide: (moment: LoadedClient) => Promise<ResultAndChange<T>>,
    whenUnsure: (result: T) => void = () => {},
  ): Promise<T> {
    const { operation, client, also = {}, admitted } = turn;
    const deadlineMs = this.#pace.monotonicMs() + REQUEST_DEADLINE_MS;
    return this.runAlone(client, async () => {
      for (let tries = 1; tries <= TRIES_MAX && this.#pace.monotonicMs() < deadlineMs; tries++) {
        const loaded = await this.#store.load(client, also);
        if ((await admitted) === false) throw new RateLimitRefused();
        const { result, change } = await decide(this.#toLoadedClient(loaded));
        if (change === null) return result;
        const next = compactState(change.state, change.state.lastAt);
        try {
          // Calling `catch` on the promise would create one more promise for each request.
          const status = await this.#store.commit({ ...change, state: next, client, stamp: loaded.stamp });
          if (status === 'committed') return result;
        } catch (error) {
          noteUnsure(error, () => whenUnsure(result));
          throw error;
        }
        this.#metrics.count('scoring_commit_races_total', { operation });
        await this.#pace.pauseAfterRace();
      }
      throw new TooManyWaiting(`${operation} did not get its turn in time`);
    });
  }

  /**
   * Reads the clock once for both the state and the time of the request, so that the journal can record by how much
   * the clock went back.
   */
  #toLoadedClient(loaded: ClientFromStore): LoadedClient {
    const clockMs = this.#clock();
    const state = moveStateBack(loaded.state, clockMs);
    return { ...loaded, state, now: chooseEventTime(state, clockMs) };
  }

  /** Runs `work` after the earlier requests of the client. Rejects with TooManyWaiting when the queue is full. */
  runAlone<T>(client: ClientKey, work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.run(client.hash, work);
    return turn ?? Promise.reject(new TooManyWaiting('too many requests of one client are waiting'));
  }
}

/** Calls `note` if the store failed, because a store that went away may have recorded the commit. */
function noteUnsure(error: unknown, note: () => void): void {
  if (error instanceof StoreUnavailable) note();
}

/**
 * The queues of the clients within this process. Requests of one client wait for each other, so that they do not race
 * to the store. Requests of different clients do not wait for each other.
 */
export class ClientQueues {
  readonly #tails = new Map<string, Tail>();
  readonly #maxWaiting: number;

  /** Refuses more than `maxWaiting` requests of one client at a time. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` after all earlier work under the same key. Returns null if the queue is full. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> | null {
    const tail = this.#tails.get(key) ?? { last: null, waiting: 0 };
    if (tail.waiting >= this.#maxWaiting) return null;
    const result = tail.last === null ? work() : tail.last.then(work);
    const finish = () => this.#finish(key, tail);
    tail.waiting++;
    tail.last = result.then(finish, finish);
    this.#tails.set(key, tail);
    return result;
  }

  #finish(key: string, tail: Tail): void {
    tail.waiting--;
    if (tail.waiting === 0) this.#tails.delete(key);
  }
}

interface Tail {
  /** The last work under a key. Null before the first request. */
  last: Promise<unknown> | null;
  waiting: number;
}
