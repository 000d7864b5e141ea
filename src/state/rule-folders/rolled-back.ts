import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file in the folder of a version that was rolled back. It is no part of the rules, and no digest includes it. */
export const ROLLBACK_NOTE_FILE = 'rolled-back.json';

interface RolledBack {
  /** Epoch ms. */
  readonly at: number;
  readonly who: string;
  readonly reason: string;
}

/**
 * Notes that a version was rolled back. So a service that starts for the first time does not choose this version,
 * even if it is the newest. Returns false if the folder is not writable, as in a container.
 */
export function noteRolledBack(folder: string, { at, who, reason }: RolledBack): boolean {
  try {
    const note = { at: new Date(at).toISOString(), who, reason };
    writeFileSync(join(folder, ROLLBACK_NOTE_FILE), `${JSON.stringify(note, null, 2)}\n`);
    return true;
  } catch {
    return false;
  }
}

/** Removes the note if the version is wanted again. A note that cannot be removed stays. */
export function forgetRolledBack(folder: string): void {
  try {
    rmSync(join(folder, ROLLBACK_NOTE_FILE), { force: true });
  } catch {
    // The folder may not be writable.
  }
}

export function wasRolledBack(folder: string): boolean {
  return existsSync(join(folder, ROLLBACK_NOTE_FILE));
}
