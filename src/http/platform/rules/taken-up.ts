import { setTimeout as sleep } from 'node:timers/promises';

/** A node takes up a changed folder a second after the change, and on a busy machine a little later. */
const TAKEN_UP_WITHIN_MS = 3000;
const LOOK_MS = 50;

/** Waits for this node to take up what was changed in RULES_DIR, so that the next answer tells of it; false when it did not yet. */
export async function isTakenUp(holds: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; !holds() && waitedMs < TAKEN_UP_WITHIN_MS; waitedMs += LOOK_MS) await sleep(LOOK_MS);
  return holds();
}
