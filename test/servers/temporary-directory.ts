import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { note } from '../processes/belongings.ts';

/** A folder that goes with this process, or earlier by `removeDirectory`. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scoring-'));
  note('made', directory);
  return directory;
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  note('removed', directory);
}
