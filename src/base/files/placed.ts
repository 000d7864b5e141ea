import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from './folders.ts';

/** `ENOENT` and the like; null of what is no error of the system. */
export function readErrorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Whether a file is on the disk once it is placed; otherwise it may be lost with the power. */
interface Durability {
  readonly flush?: boolean;
}

/** Puts a text in its place, for its owner alone: whole or not at all, whatever was there before. */
export function replaceFile(path: string, text: string, durability: Durability = {}): void {
  renameSync(draftBeside(path, text, durability), path);
}

/** The same where nothing may be yet; false when somebody else was faster. */
export function createFileOnce(path: string, text: string, durability: Durability = {}): boolean {
  const draft = draftBeside(path, text, durability);
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

function draftBeside(path: string, text: string, { flush = false }: Durability): string {
  makeOwnFolder(dirname(path));
  const draft = join(dirname(path), `.${randomUUID()}`);
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush });
  return draft;
}
