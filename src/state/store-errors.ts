import { setTimeout as sleep } from 'node:timers/promises';
import { NamedError } from '#base/named-error.ts';

/** The store cannot be reached, does not answer in time, or cannot write. Callers get 503. */
export class StoreUnavailable extends NamedError {}

/** A text was given as a cursor that this journal never wrote. */
export class UnknownCursor extends NamedError {
  constructor() {
    super('not a cursor of this journal');
  }
}

/** It may well answer the next time: it was slow, or another process had locked it. */
export class StoreLate extends StoreUnavailable {
  /** Whoever hears of it by name need not tell it from a store that is away. */
  override get name(): string {
    return StoreUnavailable.name;
  }
}

/** How long a start waits for a slow store; a supervisor may lose patience with a longer wait. */
const START_LIMIT_MS = 10_000;

const PAUSE_MS = 100;

/**
 * Repeats a step of the start while the store is late with its answers, and logs it each time. A store that refuses, or
 * that nobody has started, ends the start at once: the supervisor starts it again.
 */
export async function whileStoreIsLate<T>(
  step: () => Promise<T>,
  onLate: (error: StoreLate) => void,
): Promise<T> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StoreLate) || performance.now() - beganMs > START_LIMIT_MS) throw error;
      onLate(error);
      await sleep(PAUSE_MS);
    }
  }
}

/** Runs one call on a store within its time limit; throws StoreUnavailable when it fails or is late. */
export type RunCall = <T>(call: () => Promise<T>) => Promise<T>;
