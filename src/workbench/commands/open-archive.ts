import { existsSync } from 'node:fs';
import { formatCount } from '#base/count-text.ts';
import { type Config, ConfigError, readConfig } from '#config.ts';
import {
  type Archive,
  type ErasedClientNumbers,
  readUnshippedErasedClientNumbers,
} from '#history/archive/archive.ts';
import { isArchivedElsewhere } from '#history/archive/archive-home.ts';
import type { Segment, UnreadSegment } from '#history/archive/archive-log.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { openArchive } from '#history/archive/s3/open-archive.ts';
import { getSegmentFilePath } from '#history/archive/segment-files.ts';
import { createSnapshotOpener, type OpenSnapshot } from '#history/archive/snapshot.ts';
import { formatUnread } from '#history/archive/unread-decisions.ts';
import { getDbPath } from '#state/sqlite/open-file.ts';
import type { Store } from '#state/store.ts';
import { withOpenStore, withStoreRegisters } from './open-store.ts';

/** Runs a command on the decisions in the store and in the archive. */
export function withDecisionLookup<T>(
  run: (decisions: DecisionLookup, store: Store) => Promise<T>,
): Promise<T> {
  return withOpenStore((store) =>
    withArchiveReader(store, (archive) => run(new DecisionLookup(store, archive), store)),
  );
}

/** Runs a command on the archive, if there is one, and the journal of an open store. */
export async function withArchiveReader<T>(
  store: Store,
  run: (archive: ArchiveReader) => Promise<T>,
): Promise<T> {
  const { archiveDir, archiveS3 } = readConfig();
  const opened = archiveDir === null ? null : openArchive({ archiveDir, archiveS3 }, store.registers);
  const archive = opened === null ? ArchiveReader.withoutArchive(store) : new ArchiveReader(opened, store);
  await opened?.refresh().catch(() => {
    // If the archive cannot be read, the command shows the data of the store and says that the archive is missing.
  });
  try {
    return await run(archive);
  } finally {
    await archive.close();
  }
}

/**
 * Returns a sentence that `what` is not known because decisions could not be read, and which command names the cause.
 */
export function explainUnreadDecisions(what: string, unread: Parameters<typeof formatUnread>[0]): string {
  return `${what} is not known: ${formatUnread(unread)}; archive status or archive verify names it.`;
}

/** Reads the settings of a node that has an archive. Throws ConfigError if ARCHIVE_DIR is "off". */
export function readArchiveConfig(): Config & { readonly archiveDir: string } {
  const config = readConfig();
  const { archiveDir } = config;
  if (archiveDir !== null) return { ...config, archiveDir };
  throw new ConfigError('ARCHIVE_DIR is "off", so there is no archive; set it to the folder of one');
}

/** Runs a command on the archive. The store is opened only if it is needed to find the contents of the archive. */
export async function withArchive<T>(run: (archive: Archive) => Promise<T>): Promise<T> {
  const config = readArchiveConfig();
  return withStoreRegisters((registers) => run(openArchive(config, registers)));
}

/**
 * Runs a command on snapshots of archive and journal, with the clients who were erased. If the archive is not that of
 * the store, or there is no store, the snapshots are of the archive alone.
 */
export async function withSnapshotOpener<T>(
  run: (open: OpenSnapshot, erased: ErasedClientNumbers) => Promise<T>,
): Promise<T> {
  const { archiveDir } = readArchiveConfig();
  const alone = (erased: ErasedClientNumbers) =>
    withArchive((archive) => run(createSnapshotOpener(archive), erased));
  if (!hasStore()) return alone([]);
  return withOpenStore(async (store) => {
    const erased = await readUnshippedErasedClientNumbers(store);
    if (await isArchivedElsewhere(store.registers, archiveDir)) return alone(erased);
    return withArchiveReader(store, (past) => run(past.openToEnd, erased));
  });
}

/** Formats which segments are missing from the result, and what a person can do about it. */
export function formatUnreadSegments(leftOut: readonly UnreadSegment[]): readonly string[] {
  const [noRoom, away] = (['noRoom', 'away'] as const).map((reason) =>
    leftOut.filter(({ why }) => why === reason),
  );
  return [
    ...formatTogether(noRoom, 'they do not fit into ARCHIVE_CACHE_MAX together; raise it, or ask about less'),
    ...formatTogether(away, 'the S3 store did not deliver them; ask again'),
    ...leftOut
      .filter(({ why = 'damaged' }) => why === 'damaged')
      .map(
        (segment) =>
          `${formatCount(segment.rows, `row of ${segment.table} is`, `rows of ${segment.table} are`)} left out: ${getSegmentFilePath(segment, 'parquet')} cannot be read; put the file back from a backup of the archive.${formatErased(segment)}`,
      ),
  ];
}

/** Formats, as one line, segments that are sound but cannot be read now for the same reason. */
function formatTogether(segments: readonly Segment[] = [], why: string): readonly string[] {
  if (segments.length === 0) return [];
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  return [`${formatCount(rows, 'row')} in ${formatCount(segments.length, 'file')} left out: ${why}.`];
}

function formatErased({ without = [] }: Segment): string {
  if (without.length === 0) return '';
  return ` It is read without clients who were erased meanwhile (${without.length}), and rewritten without them.`;
}

/**
 * Reads the erased clients whom the archive may still hold. Returns an empty array if there is no store, for example
 * on a machine that has only a copy of an archive.
 */
export async function readErasedClients(): Promise<ErasedClientNumbers> {
  return hasStore() ? withOpenStore(readUnshippedErasedClientNumbers) : [];
}

function hasStore(): boolean {
  const { redisUrl, dataDir } = readConfig();
  return redisUrl !== null || existsSync(getDbPath(dataDir));
}
