import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readErrorCode } from '#base/files/atomic-file.ts';
import { listFileNames } from './archive-log.ts';

/** The beginning of the names of copies that are being read. The copies lie in `staging/` of the archive's folder. */
export const READING_COPY_PREFIX = 'reading-';

/**
 * Ends all reading of an archive: removes the copies that are being read, so that their readers start again on the
 * remaining segments.
 */
export function endReadings(folder: string): void {
  const staging = join(folder, 'staging');
  for (const name of listFileNames(staging))
    if (name.startsWith(READING_COPY_PREFIX)) endCopy(join(staging, name));
}

function endCopy(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    // A copy that another user made is removed when that user's reading ends.
    if (readErrorCode(error) !== 'EACCES' && readErrorCode(error) !== 'EPERM') throw error;
  }
}
