import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '#base/files/atomic-file.ts';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { parseRollout, type Rollout } from './rollout.ts';

/** The rollout that the nodes with this DATA_DIR followed last. */
export interface RememberedRollout {
  /** The id of the installation whose store held the rollout. */
  readonly installation: string;
  readonly rollout: Rollout;
}

const MEMORY = 'rollout.json';

/**
 * Keeps a copy of the rollout in DATA_DIR, in case the store loses it. Returns why the copy cannot be written.
 * Returns null if it was written.
 */
export function rememberRollout(dataDir: string, remembered: RememberedRollout): string | null {
  const { installation, rollout } = remembered;
  try {
    replaceFile(join(dataDir, MEMORY), JSON.stringify({ installation, rollout }));
    return null;
  } catch (error) {
    // A read-only disk must not stop a node whose store works.
    const why = error instanceof Error ? error.message : String(error);
    return `the rollout could not be copied to DATA_DIR, where a start finds it if the store loses it: ${why}`;
  }
}

/** Reads the copy of the rollout in DATA_DIR. Returns null if there is none or it cannot be read. */
export function recallRollout(dataDir: string): RememberedRollout | null {
  const { installation, rollout } = parseJsonObjectOrNull(readTextOrNull(join(dataDir, MEMORY)) ?? '') ?? {};
  const parsed = parseRollout(JSON.stringify(rollout) ?? '');
  return typeof installation !== 'string' || parsed === null ? null : { installation, rollout: parsed };
}

function readTextOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
