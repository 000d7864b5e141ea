import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** Where a file of the repository lies. */
export function packagedPath(path: string): string {
  return join(ROOT, path);
}

/** What a file of the repository says. */
export function packaged(path: string): string {
  return readFileSync(packagedPath(path), 'utf8');
}
