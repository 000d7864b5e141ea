import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directories = new Set<string>();

process.on('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** A folder that is gone when this process is, or earlier by `removeDirectory`. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scoring-'));
  directories.add(directory);
  return directory;
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  directories.delete(directory);
}
