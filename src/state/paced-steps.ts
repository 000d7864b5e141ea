import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as rest } from 'node:timers/promises';

/** Together the steps of this thread take a sixth of it. */
const REST_SHARE = 5;

/** Of the work that is being done, whether somebody still waits for it. */
const wanted = new AsyncLocalStorage<() => boolean>();

/** A machine that has much to do makes steps long, and then the rests count most; without an end a search would have none. */
const REST_MS_MAX = 100;

/** What is read of the store in one step: a millisecond or two of this thread, or of Redis. */
export const STEP_ITEMS_MAX = 32;

/** Work was given up, because nobody waits for it any more. */
export class NobodyWaits extends Error {
  override readonly name = 'NobodyWaits';
}

/**
 * Work that may wait, beside requests that may not: short steps, one at a time however many ask, each followed by a
 * rest. All of it together has its share of the thread, and a request waits for one step at most. A step must not
 * ask for another, which would wait for the first.
 */
export class PacedSteps {
  #free: Promise<void> = Promise.resolve();
  readonly #restShare: number;

  /** After a step, so many times as long as it took are left to everybody else. */
  constructor(restShare: number = REST_SHARE) {
    this.#restShare = restShare;
  }

  /** Does work of many steps, and nothing more of it, giving `otherwise`, from the step on at which nobody wants it. */
  async whileWanted<T>(isWanted: () => boolean, work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await wanted.run(isWanted, work);
    } catch (error) {
      if (isWanted()) throw error;
      return otherwise;
    }
  }

  /** Runs one step when its turn has come; what it throws is thrown, after which the next has its turn. */
  async run<T>(step: () => Promise<T>): Promise<T> {
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    await before;
    const startedMs = performance.now();
    try {
      if (wanted.getStore()?.() === false) throw new NobodyWaits('nobody waits for this any more');
      return await step();
    } finally {
      const restMs = Math.min(REST_MS_MAX, this.#restShare * (performance.now() - startedMs));
      rest(restMs).then(resolve);
    }
  }

  /** Makes something of many things, a few in each step; few enough for one step are made at once. */
  async map<From, To>(
    from: readonly From[],
    make: (some: readonly From[]) => Promise<readonly To[]>,
  ): Promise<readonly To[]> {
    if (from.length <= STEP_ITEMS_MAX) return make(from);
    const made: To[] = [];
    for (let start = 0; start < from.length; start += STEP_ITEMS_MAX)
      made.push(...(await this.run(() => make(from.slice(start, start + STEP_ITEMS_MAX)))));
    return made;
  }
}

/** Everything that searches in this process, whichever store it reads: they share its thread. */
export const searchSteps = new PacedSteps();

/** Readings of the archive, on a thread beside this one: with rests as long as they take, it leaves half of its core to others. */
export const archiveReadings = new PacedSteps(1);
