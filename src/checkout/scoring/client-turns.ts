import { setTimeout as sleep } from 'node:timers/promises';
import { NamedError } from '#base/named-error.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { chooseEventTime, compactState } from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-came-back.ts';
import type { Change, LoadAlso, Snapshot, Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

/** The time that passes for a process, whatever the clock says. */
export interface ProcessClock {
  /** Never runs backwards, ms. */
  readonly monotonicMs: () => number;
  /** Keeps nodes that lost a race from meeting again at once. */
  readonly pauseAfterRace: () => Promise<void>;
}

interface ClientTurnsParts {
  readonly store: Store;
  readonly metrics: Metrics;
  /** The process's own when absent; a simulation brings one that a seed repeats. */
  readonly pace?: ProcessClock;
  /** The clock that decides, epoch ms. */
  readonly clock: () => number;
}

/** One request's turn with its client. */
interface Turn {
  /** For metrics and messages. */
  readonly operation: string;
  readonly client: ClientKey;
  readonly also?: LoadAlso;
  /** Whether the request may change anything; absent: it may. Its client is loaded meanwhile. */
  readonly admitted?: Promise<boolean> | undefined;
}

/** The state of a client when a request begins, with the moment at which the request counts. */
export interface LoadedClient extends Snapshot {
  /** When the request happens, epoch ms; never before what is recorded of the client. */
  readonly now: number;
}

/** The result of a request, and what it changes; nothing to commit when `change` is null. */
export interface ClientChange<T> {
  readonly result: T;
  readonly change: Omit<Change, 'client' | 'stamp'> | null;
}

/** Too many of one client's requests are waiting, or they waited too long. */
export class TooManyWaiting extends NamedError {}

/** The rate limit refused the request while its client was loaded. */
export class NotAdmitted extends NamedError {}

/** A request that has not begun to decide after this long never begins. */
const REQUEST_DEADLINE_MS = 2000;
const WAITING_REQUESTS_MAX = 200;

/** A lost race is decided again; losing this often means that something else is wrong. */
const TRIES_MAX = 40;
const JITTER_MS_MAX = 4;

const PROCESS_PACE: ProcessClock = {
  monotonicMs: () => performance.now(),
  pauseAfterRace: () => sleep(Math.random() * JITTER_MS_MAX),
};

/**
 * Makes the requests of one client change it one after the other. Within this process they queue; when a request of
 * another node was faster, the state is loaded and the request decided once more.
 */
export class ClientUpdates {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #metrics: Metrics;
  readonly #pace: ProcessClock;
  readonly #queue = new ClientQueue(WAITING_REQUESTS_MAX);

  constructor({ store, clock, metrics, pace = PROCESS_PACE }: ClientTurnsParts) {
    this.#store = store;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#pace = pace;
  }

  /**
   * Loads the client, calls `decide`, commits its step. Throws TooManyWaiting when there is no turn in time, NotAdmitted
   * when the request may change nothing. `whenUnsure` is told of a result whose commit the store did not answer, and
   * which it may have recorded.
   */
  take<T>(
    turn: Turn,
    decide: (moment: LoadedClient) => Promise<ClientChange<T>>,
    whenUnsure: (result: T) => void = () => {},
  ): Promise<T> {
    const { operation, client, also = {}, admitted } = turn;
    const deadlineMs = this.#pace.monotonicMs() + REQUEST_DEADLINE_MS;
    return this.alone(client, async () => {
      for (let tries = 1; tries <= TRIES_MAX && this.#pace.monotonicMs() < deadlineMs; tries++) {
        const loaded = await this.#store.load(client, also);
        requireAdmitted(await admitted);
        const { result, change } = await decide(this.#momentOf(loaded));
        if (change === null) return result;
        const next = compactState(change.state, change.state.lastAt);
        try {
          // Not by `catch` of the promise, which would make another one for each request.
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

  /** The clock is read once, so that the journal says by how much a clock came back. */
  #momentOf(loaded: Snapshot): LoadedClient {
    const clockMs = this.#clock();
    const state = moveStateBack(loaded.state, clockMs);
    return { ...loaded, state, now: chooseEventTime(state, clockMs) };
  }

  /** Runs `work` after the earlier requests of the client. */
  alone<T>(client: ClientKey, work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.run(client.hash, work);
    return turn ?? Promise.reject(new TooManyWaiting('too many requests of one client are waiting'));
  }
}

/** A store that went away may have recorded what it was told to commit. */
function noteUnsure(error: unknown, note: () => void): void {
  if (error instanceof StoreUnavailable) note();
}

/** Throws NotAdmitted when the request may change nothing. */
export function requireAdmitted(admitted: boolean | undefined): void {
  if (admitted === false) throw new NotAdmitted();
}

/**
 * Runs the requests of one client one after the other within this process, so that they do not race each other to the
 * store. Requests of different clients do not wait for each other.
 */
export class ClientQueue {
  readonly #tails = new Map<string, Tail>();
  readonly #maxWaiting: number;

  /** More than `maxWaiting` requests of one client at a time are refused. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` after all earlier work under the same key; null when too much is waiting. */
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
  /** Null before the first. */
  last: Promise<unknown> | null;
  waiting: number;
}
