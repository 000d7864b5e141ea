import { setTimeout as sleep } from 'node:timers/promises';

/** A node loads a changed folder a second after the change, and on a busy machine a little later. */
const TAKEN_UP_WITHIN_MS = 3000;

const LOOK_MS = 50;

/**
 * Waits until `holds` says that nodes have loaded a change in RULES_DIR. Returns false if they have not loaded it
 * within three seconds.
 */
export async function waitUntilLoaded(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + TAKEN_UP_WITHIN_MS;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() > deadline) return false;
    await sleep(LOOK_MS);
  }
}
