import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Who reads what is kept knows every payer. */
const FOLDER_MODE = 0o700;

/**
 * Makes a folder that its owner alone may use, and those above it that are missing; throws the system's error where
 * there can be none. It stands for mkdir's own `recursive`, which tries for ever in a file system that refuses new names
 * as if the folder above them were missing, as /proc does.
 */
export function makeOwnFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeOwnFolder(above);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    // Another process has just made it.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
