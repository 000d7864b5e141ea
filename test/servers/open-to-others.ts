import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What under a folder others may read or change, with the mode of each: files that are not 0600, folders not 0700. */
export function openToOthers(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ path: join(entry.parentPath, entry.name), mode: entry.isDirectory() ? 0o700 : 0o600 }))
    .map(({ path, mode }) => ({ path, mode, actual: statSync(path).mode & 0o777 }))
    .filter(({ mode, actual }) => actual !== mode)
    .map(({ path, actual }) => `${path.slice(folder.length + 1)} ${actual.toString(8)}`);
}
