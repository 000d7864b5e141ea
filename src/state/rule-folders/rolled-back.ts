import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lies in the folder of a version that was rolled back; it is not part of the rules, and of no digest. */
export const ROLLED_BACK_FILE = 'rolled-back.json';

interface RolledBack {
  /** Epoch ms. */
  readonly at: number;
  readonly who: string;
  readonly reason: string;
}

/**
 * Notes that a version was rolled back, so that no first start chooses it as the newest. False when the
 * folder may not be written to, as in a container.
 */
export function noteRolledBack(folder: string, { at, who, reason }: RolledBack): boolean {
  try {
    const note = { at: new Date(at).toISOString(), who, reason };
    writeFileSync(join(folder, ROLLED_BACK_FILE), `${JSON.stringify(note, null, 2)}\n`);
    return true;
  } catch {
    return false;
  }
}

/** The version is wanted again. Where the note cannot be removed it stays. */
export function forgetRolledBack(folder: string): void {
  try {
    rmSync(join(folder, ROLLED_BACK_FILE), { force: true });
  } catch {
    // The folder may not be written to.
  }
}

export function wasRolledBack(folder: string): boolean {
  return existsSync(join(folder, ROLLED_BACK_FILE));
}
