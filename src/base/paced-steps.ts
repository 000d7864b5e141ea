import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as rest } from 'node:timers/promises';
import { NamedError } from './named-error.ts';

/** All steps together take a sixth of this thread. */
const REST_SHARE = 5;

/** Whether somebody still waits for the current work. */
const wanted = new AsyncLocalStorage<() => boolean>();

/** On a busy machine steps take long and rests even longer; without this bound a search would never end. */
const REST_MS_MAX = 100;

/** How much one step reads of the store: a millisecond or two of this thread, or of Redis. */
export const STEP_ITEMS_MAX = 32;

/** The work was abandoned, because nobody waits for it any more. */
export class WorkAbandoned extends NamedError {}

/**
 * Runs work that may wait beside requests that may not: in short steps, one at a time, each followed by a rest. All
 * such work shares its part of the thread, and a request waits for one step at most. A step that starts another has it
 * as its part: waiting for a turn it would wait for itself.
 */
export class StepThrottle {
  #free: Promise<void> = Promise.resolve();
  readonly #restShare: number;
  readonly #within = new AsyncLocalStorage<{ isOver: boolean }>();

  /** After a step everybody else gets this many times as long as the step took. */
  constructor(restShare: number = REST_SHARE) {
    this.#restShare = restShare;
  }

  /** Does work of many steps; as soon as nobody wants it any more, it stops and returns `otherwise`. */
  async whileWanted<T>(isWanted: () => boolean, work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await wanted.run(isWanted, work);
    } catch (error) {
      if (isWanted()) throw error;
      return otherwise;
    }
  }

  /** Runs one step when its turn has come, and passes on what it throws; the next step has its turn in any case. */
  async run<T>(step: () => Promise<T>): Promise<T> {
    if (this.#within.getStore()?.isOver === false) return step();
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    await before;
    const startedMs = performance.now();
    const turn = { isOver: false };
    try {
      if (wanted.getStore()?.() === false) throw new WorkAbandoned('nobody waits for this any more');
      return await this.#within.run(turn, step);
    } finally {
      turn.isOver = true;
      const restMs = Math.min(REST_MS_MAX, this.#restShare * (performance.now() - startedMs));
      rest(restMs).then(resolve);
    }
  }

  /** Maps many items, a few in each step; when one step is enough, at once. */
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

/** For every search in this process, whichever store it reads: they share its thread. */
export const searchThrottle = new StepThrottle();

/** For reading the archive on another thread: rests as long as the steps leave half of its core to others. */
export const archiveReadThrottle = new StepThrottle(1);
