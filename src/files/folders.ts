import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

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

/** Folders that go with the work that they are for. */
const folders = new Set<string>();

const ENDING = ['SIGINT', 'SIGTERM'] as const;

/** Gives `work` a temporary folder, which is removed in the end, also when a signal ends the process meanwhile. */
export function withTemporaryFolder<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  return whileThereIs(folder, () => work(folder));
}

/** The same with a folder of any name, which may come into being meanwhile. */
export async function whileThereIs<T>(folder: string, work: () => Promise<T>): Promise<T> {
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

/** Where somebody else takes the signal, the work goes on or fails, and its folder goes in the end. */
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
