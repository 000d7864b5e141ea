import { randomUUID } from 'node:crypto';
import { linkSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from '../files/own-folder.ts';
import { Archive, READING } from './archive.ts';
import { type ArchiveState, codeOf, type Segment, writePassingState } from './archive-log.ts';

/**
 * Does work on the archive as it is now, however long that takes: merges that go on meanwhile take nothing away. `work`
 * is given the folder of a copy, which is made of links and goes with it. Where the archive cannot be written to, it is
 * given the archive itself. When a client is erased meanwhile, the work is done once more, without the client. Segments
 * whose files were cut off or are gone are not in the copy: `work` is told which, and they harm only themselves.
 */
export function whileFrozen<T>(
  folder: string,
  work: (frozen: string, torn: readonly Segment[]) => Promise<T>,
): Promise<T> {
  const archive = new Archive(folder);
  return archive.reading(async (state) => {
    if (state.version === 0) return work(folder, []);
    const copy = join(archive.staging(), `${READING}${randomUUID()}`);
    try {
      const torn = archive.torn(state);
      const whole = new Map([...state.segments].filter(([, segment]) => !torn.includes(segment)));
      const isCopied = link(archive, { ...state, segments: whole }, copy);
      return await (isCopied ? work(copy, torn) : work(folder, []));
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
}

/** False where no copy can be made; throws when a segment was replaced since the state was read. */
function link(archive: Archive, state: ArchiveState, copy: string): boolean {
  const frozen = new Archive(copy);
  try {
    for (const segment of state.segments.values()) {
      const path = frozen.pathOf(segment);
      makeOwnFolder(dirname(path));
      linkSync(archive.pathOf(segment), path);
    }
    writePassingState(copy, state);
    return true;
  } catch (error) {
    if (CANNOT_LINK.has(codeOf(error) ?? '')) return false;
    throw error;
  }
}

/** A folder that is read-only or of another user, or a disk that is full or out of links. */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  'EROFS',
  'EACCES',
  'EPERM',
  'ENOSPC',
  'EDQUOT',
  'EMLINK',
  'EXDEV',
]);
