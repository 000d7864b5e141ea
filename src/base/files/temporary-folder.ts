import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folders that are removed if a signal ends the process. */
const folders = new Set<string>();

const ENDING = ['SIGINT', 'SIGTERM'] as const;

/** Runs `work` with a temporary folder and removes the folder afterwards, also if a signal ends the process. */
export async function withTemporaryFolder<T>(
  prefix: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  using _removal = scheduleFolderRemoval(folder);
  return await work(folder);
}

/**
 * Removes a folder when the returned object is disposed of, and when a signal ends the process. The folder need not
 * exist yet.
 */
export function scheduleFolderRemoval(folder: string): Disposable {
  if (folders.size === 0) for (const signal of ENDING) process.on(signal, endWithoutFolders);
  folders.add(folder);
  return {
    [Symbol.dispose]: () => {
      folders.delete(folder);
      if (folders.size === 0) stopListening();
      remove(folder);
    },
  };
}

/**
 * Removes the folders and ends the process. If other code listens to the signal, too, that code decides whether the
 * process ends. The work then goes on or fails, and its folder is removed afterwards.
 */
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
