import { randomUUID } from 'node:crypto';
import { linkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder, withFolderToRemove } from '#base/files/folders.ts';
import { readErrorCode } from '#base/files/placed.ts';
import { Archive, READING, removeSegments } from './archive.ts';
import {
  ArchiveDamaged,
  type ArchiveState,
  type Segment,
  type UnreadSegment,
  writeTemporaryState,
} from './archive-log.ts';
import { QueryEngine } from './duck.ts';

/**
 * Does work on the archive as it is now, however long that takes: merges that go on meanwhile take nothing away.
 * `work` gets a folder of links that is removed afterwards, or the archive itself where it cannot be written to. When
 * a client is erased meanwhile, the work is done once more, without the client. Segments whose files cannot be read
 * are not in the copy: `work` learns which, and they harm only themselves. Files that were cut off or are gone are
 * known before; one that has its length shows when the work fails at it, which is then done again.
 */
export function whileFrozen<T>(
  folder: string,
  work: (frozen: string, leftOut: readonly Segment[]) => Promise<T>,
): Promise<T> {
  const archive = new Archive(folder);
  return archive.reading(async (state) => {
    if (state.version === 0) return work(folder, []);
    let leftOut = await archive.torn(state);
    for (;;) {
      const readable = removeSegments([...state.segments.values()], leftOut);
      const done = await withCopy(archive, async (copy) => {
        try {
          if (!(await linkSegments(archive, state, readable, copy))) return { value: await work(folder, []) };
          return { value: await work(copy, leftOut) };
        } catch (cause) {
          const unreadable = await unreadableOf(new Archive(copy), cause);
          if (unreadable.length === 0) throw cause;
          return { unreadable };
        }
      });
      if (done.unreadable === undefined) return done.value;
      leftOut = [...leftOut, ...done.unreadable];
    }
  });
}

/**
 * Gives `work` a folder that holds those segments of an archive that are wanted, and which of them it does not hold: the
 * archive itself where it is a folder, and a copy of links where it lies elsewhere.
 */
export function whileHere<T>(
  archive: Archive,
  isWanted: (segment: Segment) => boolean,
  work: (folder: string, leftOut: readonly UnreadSegment[]) => Promise<T>,
): Promise<T> {
  if (!archive.home.isElsewhere) return work(archive.folder, []);
  return archive.reading((state) =>
    withCopy(archive, async (copy) => {
      const wanted = [...state.segments.values()].filter(isWanted);
      const missing = await archive.bring(wanted);
      if (await linkSegments(archive, state, removeSegments(wanted, missing), copy))
        return work(copy, missing);
      throw new ArchiveDamaged(`${archive.folder} cannot be written to; set DATA_DIR to a folder with room`);
    }),
  );
}

/** Gives `work` the name of a folder for a copy of an archive, which is removed afterwards, or when a client is erased. */
export function withCopy<T>(archive: Archive, work: (copy: string) => Promise<T>): Promise<T> {
  const copy = join(archive.staging(), `${READING}${randomUUID()}`);
  return withFolderToRemove(copy, () => work(copy));
}

async function unreadableOf(copy: Archive, cause: unknown): Promise<readonly Segment[]> {
  const suspects = copy.suspects([...copy.read().segments.values()], cause);
  if (suspects.length === 0) return [];
  const duck = await QueryEngine.open({ ...PROBE_LIMITS, temporaryFolder: join(copy.staging(), 'spill') });
  try {
    const damaged = await copy.damagedAmong(duck, suspects);
    // Files that vanished with the copy were not damaged: a client was erased, and the work begins anew.
    return damaged.filter((segment) => copy.isWhole(segment));
  } finally {
    duck.close();
  }
}

const PROBE_LIMITS = { threads: 1, memoryMiB: 512 } as const;

/**
 * Makes a copy that has some segments of a state, and those that `add` writes into it. False where none can be made; throws
 * when a segment was replaced since the state was read.
 */
export async function linkSegments(
  archive: Archive,
  state: ArchiveState,
  segments: readonly Segment[],
  copy: string,
  add: (frozen: Archive) => Promise<readonly Segment[]> = async () => [],
): Promise<boolean> {
  const frozen = new Archive(copy);
  try {
    makeOwnFolder(copy);
    for (const segment of segments) {
      const path = frozen.pathOf(segment);
      makeOwnFolder(dirname(path));
      linkSync(archive.pathOf(segment), path);
    }
    const all = [...segments, ...(await add(frozen))];
    writeTemporaryState(copy, { ...state, segments: new Map(all.map((segment) => [segment.name, segment])) });
    return true;
  } catch (error) {
    if (CANNOT_LINK.has(readErrorCode(error) ?? '')) return false;
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
