import { copyFileSync, cpSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { NamedError } from '#base/named-error.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { Archive } from './archive.ts';
import { ARCHIVE_ID_FILE, RULE_SETS_FOLDER, readArchiveId } from './archive-home.ts';
import { replaceArchiveState, type Segment } from './archive-log.ts';
import { SALT_FILE } from './archived-salt.ts';
import { QUARANTINE_FOLDER } from './quarantine.ts';
import { SEGMENT_FILE_KINDS } from './segment-files.ts';
import { createSnapshotOpener, withSnapshot } from './snapshot.ts';
import { explainUnread } from './unread-decisions.ts';

/** Thrown if the target folder cannot hold a backup of this archive. The message says why. */
export class BackupTargetRefused extends NamedError {}

interface BackupReport {
  readonly segments: number;
  readonly bytes: number;
  /** The number of segments that an earlier backup did not have. */
  readonly copied: number;
  /** The segments whose files in the archive were cut off or are gone, and whether an earlier backup has them. */
  readonly torn: readonly { readonly segment: Segment; readonly isKept: boolean }[];
}

/**
 * Copies the archive, as it is at one moment, into a folder. Shipping may go on meanwhile. Segments never change, so
 * the segments of an earlier backup stay there. Segments that the archive no longer has are removed from the backup.
 * A damaged file of the archive never replaces its copy. The folder can be copied back as the archive. Throws
 * BackupTargetRefused.
 */
export async function backUp(archive: Archive, target: string): Promise<BackupReport> {
  const { folder } = archive;
  await archive.refresh();
  requireFittingTarget(folder, target);
  const backup = new Archive(target);
  return withSnapshot(createSnapshotOpener(archive), async ({ state }) => {
    const torn = await archive.findTornSegments(state);
    const done = new Map<Segment, Copying>();
    for (const segment of state.segments.values())
      done.set(segment, torn.includes(segment) ? 'torn' : await copySegment(archive, backup, segment));
    const segmentsThat = (wanted: Copying) =>
      [...done].filter(([, copying]) => copying === wanted).map(([segment]) => segment);
    const [copied, whole] = [segmentsThat('copied'), [...segmentsThat('copied'), ...segmentsThat('there')]];
    makeOwnFolder(target);
    // The quarantine is copied anew, so that entries of erased clients are removed from the backup, too.
    rmSync(join(target, QUARANTINE_FOLDER), { recursive: true, force: true });
    for (const name of [RULE_SETS_FOLDER, QUARANTINE_FOLDER, ARCHIVE_ID_FILE, SALT_FILE])
      if (existsSync(join(folder, name))) cpSync(join(folder, name), join(target, name), { recursive: true });
    replaceArchiveState(target, state);
    await backup.removeUnnamedFiles(state);
    const kept = segmentsThat('torn').map((segment) => ({ segment, isKept: !backup.isCutOff(segment) }));
    const bytes = whole.reduce((sum, segment) => sum + segment.bytes, 0);
    return { segments: state.segments.size, bytes, copied: copied.length, torn: kept };
  });
}

/**
 * The result of copying a segment: it was copied, the backup had it already, or its file in the archive is cut off or
 * gone.
 */
type Copying = 'copied' | 'there' | 'torn';

async function copySegment(archive: Archive, backup: Archive, segment: Segment): Promise<Copying> {
  if (!backup.isCutOff(segment)) return 'there';
  const [missing] = await archive.makeReadable([segment], SEGMENT_FILE_KINDS);
  if (missing !== undefined && missing.why === undefined) return 'torn';
  if (missing !== undefined)
    throw new StoreUnavailable(`a file of the archive ${explainUnread(missing.why)}`);
  const [, rows] = SEGMENT_FILE_KINDS.map((kind) =>
    copyOnce(archive.getSegmentPath(segment, kind), backup.getSegmentPath(segment, kind)),
  );
  return rows === true ? 'copied' : 'there';
}

/** Copies a file. Returns false if the copy exists already, or if the file is an order filter that is missing. */
function copyOnce(from: string, to: string): boolean {
  if (!existsSync(from) && to.endsWith('.orders')) return false;
  const { size } = statSync(from);
  if (existsSync(to) && statSync(to).size === size) return false;
  makeOwnFolder(dirname(to));
  copyFileSync(from, `${to}.part`);
  renameSync(`${to}.part`, to);
  return true;
}

function requireFittingTarget(folder: string, target: string): void {
  const inside = relative(resolve(folder), resolve(target));
  if (!inside.startsWith('..'))
    throw new BackupTargetRefused(`${target} lies in the archive; name a folder elsewhere`);
  if (!existsSync(folder)) throw new BackupTargetRefused(`there is no archive in ${folder} yet`);
  const [own, other] = [folder, target].map(readArchiveId);
  if (other !== null && own !== other)
    throw new BackupTargetRefused(
      `${target} is a backup of another archive (${other}, this one is ${own}); name another folder`,
    );
}
