import { setTimeout as sleep } from 'node:timers/promises';
import { StoreLate } from '#state/store-errors.ts';

/** How long a start waits for a slow store. After a longer wait, a supervisor might end the process. */
const START_LIMIT_MS = 10_000;

const PAUSE_MS = 100;

/**
 * Repeats a step of the start while the store answers late, and reports each late answer. A store that refuses, or
 * that is not running, ends the start at once, and the supervisor starts the process again.
 */
export async function retryWhileStoreAnswersLate<T>(
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
