import { setTimeout as delay } from 'node:timers/promises';
import { usableMsSince, watchStandstills } from './standstill.ts';

const READY_LIMIT_MS = 20_000;

/**
 * Waits until something holds that is only a matter of time; names it when it never does. The limit is time
 * that the machine lets us use.
 */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  limitMs = READY_LIMIT_MS,
): Promise<void> {
  watchStandstills();
  const startedMs = performance.now();
  while (!(await holds())) {
    if (usableMsSince(startedMs) > limitMs) throw new Error(`still not after ${limitMs} ms: ${what}`);
    await delay(25);
  }
}
