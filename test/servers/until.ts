import { setTimeout as delay } from 'node:timers/promises';

const READY_LIMIT_MS = 20_000;

/** Waits until something holds that is only a matter of time; names it when it never does. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  limitMs = READY_LIMIT_MS,
): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`still not after ${limitMs} ms: ${what}`);
    await delay(25);
  }
}
