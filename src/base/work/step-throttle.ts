import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as rest } from 'node:timers/promises';
import { NamedError } from '#base/named-error.ts';

/**
 * The rest after a step takes this many times as long as the step. So all steps together take a sixth of the thread's
 * time.
 */
const REST_SHARE = 5;

/** Tells whether anybody still waits for the current work. */
const wanted = new AsyncLocalStorage<() => boolean>();

/** The longest rest. Without this limit a search would never end on a busy machine, where steps take long. */
const REST_MS_MAX = 100;

/** How many items one step reads from the store. One step takes a millisecond or two of this thread, or of Redis. */
export const STEP_ITEMS_MAX = 32;

/** The work was stopped because nobody waits for its result any more. */
export class WorkAbandoned extends NamedError {}

/**
 * Runs background work beside requests: in short steps, one at a time, each followed by a rest. All work of one
 * throttle shares one part of the thread, so a request waits for one step at most. A step that starts another step
 * runs it as a part of itself, because otherwise it would wait for itself.
 */
export class StepThrottle {
  #free: Promise<void> = Promise.resolve();
  readonly #restShare: number;
  readonly #within = new AsyncLocalStorage<{ isOver: boolean }>();

  /** The rest after a step takes `restShare` times as long as the step. */
  constructor(restShare: number = REST_SHARE) {
    this.#restShare = restShare;
  }

  /** Runs work of many steps. When nobody wants the result any more, the work stops and `otherwise` is returned. */
  async runWhileWanted<T>(isWanted: () => boolean, work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await wanted.run(isWanted, work);
    } catch (error) {
      if (isWanted()) throw error;
      return otherwise;
    }
  }

  /** Runs one step when its turn comes. Throws what the step throws. The next step gets its turn in either case. */
  async run<T>(step: () => Promise<T>): Promise<T> {
    if (this.#within.getStore()?.isOver === false) return step();
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    await before;
    const startedMs = performance.now();
    const turn = { isOver: false };
    try {
      if (wanted.getStore()?.() === false)
        throw new WorkAbandoned('the work was given up, because nobody waits for its result');
      return await this.#within.run(turn, step);
    } finally {
      turn.isOver = true;
      const restMs = Math.min(REST_MS_MAX, this.#restShare * (performance.now() - startedMs));
      rest(restMs).then(resolve);
    }
  }

  /** Maps many items, a few in each step. Items that fit into one step are mapped without waiting for a turn. */
  async mapInSteps<From, To>(
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

/** The throttle of every search in this process, whatever store the search reads. All searches share the thread. */
export const searchThrottle = new StepThrottle();

/** The throttle for reading the archive on another thread. It leaves half of a core to other work. */
export const archiveReadThrottle = new StepThrottle(1);
