import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Only the owner may read these folders, because their files hold data of every payer. */
const FOLDER_MODE = 0o700;

/**
 * Creates a folder that only its owner may use, and its missing parents. Throws the system's error. The option
 * `recursive` of mkdir is not used, because it loops forever in a file system like /proc, which answers ENOENT even
 * if the parent exists.
 */
export function makeOwnFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeOwnFolder(above);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    // Another process may have made the folder at the same time.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
