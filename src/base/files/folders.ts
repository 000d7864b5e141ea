import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Only the owner may read these folders: their files hold data of every payer. */
const FOLDER_MODE = 0o700;

/**
 * Makes a folder for its owner alone, with its missing parents. Throws the system's error. The option `recursive` of
 * mkdir is not used, because it never ends in a file system like /proc, which refuses new names as if the parent were
 * missing.
 */
export function makeOwnFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeOwnFolder(above);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    // Another process may have just made it.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The folders that are removed when the process ends, also when a signal ends it. */
const folders = new Set<string>();

const ENDING = ['SIGINT', 'SIGTERM'] as const;

/** Runs `work` with a temporary folder and removes the folder afterwards, also when a signal ends the process. */
export function withTemporaryFolder<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  return withFolderToRemove(folder, () => work(folder));
}

/** Runs `work`, which may create `folder`, and removes that folder afterwards. */
export async function withFolderToRemove<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (folders.size === 0) for (const signal of ENDING) process.on(signal, endWithoutFolders);
  folders.add(folder);
  try {
    return await work();
  } finally {
    folders.delete(folder);
    if (folders.size === 0) stopListening();
    remove(folder);
  }
}

/** Where something else listens to the signal too, the work goes on or fails, and its folder is removed afterwards. */
function endWithoutFolders(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  for (const folder of folders) remove(folder);
  stopListening();
  process.kill(process.pid, signal);
}

function stopListening(): void {
  for (const signal of ENDING) process.off(signal, endWithoutFolders);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
