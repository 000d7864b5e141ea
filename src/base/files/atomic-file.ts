import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from './folders.ts';

/** Returns the code of a system error, like `ENOENT`. Returns null for every other error. */
export function readErrorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Whether the file must be on the disk when the call returns. Without `flush`, a power failure may lose the file. */
interface Durability {
  readonly flush?: boolean;
}

/**
 * Writes a file that only its owner may read, and replaces an existing file. A reader sees the old file or the new
 * one, never a part.
 */
export function replaceFile(path: string, text: string, durability: Durability = {}): void {
  renameSync(writeDraftBeside(path, text, durability), path);
}

/**
 * Writes a file as `replaceFile` does, but only if the file does not exist yet. Returns false if another process was
 * faster.
 */
export function createFileOnce(path: string, text: string, durability: Durability = {}): boolean {
  const draft = writeDraftBeside(path, text, durability);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
}

function writeDraftBeside(path: string, text: string, { flush = false }: Durability): string {
  makeOwnFolder(dirname(path));
  const draft = join(dirname(path), `.${randomUUID()}`);
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush });
  return draft;
}
