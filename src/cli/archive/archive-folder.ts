import { existsSync } from 'node:fs';
import { Archive, type ErasedClients, erasedClients } from '../../archive/archive.ts';
import type { Segment } from '../../archive/archive-log.ts';
import { openArchive } from '../../archive/s3/open-archive.ts';
import { type Config, ConfigError, readConfig } from '../../config.ts';
import { sqlitePath } from '../../state/sqlite/file/open-file.ts';
import { withOpenStore } from '../open-store.ts';

/** The settings of a node that has an archive; throws ConfigError where it is off. */
export function readArchiveConfig(): Config & { readonly archiveDir: string } {
  const config = readConfig();
  const { archiveDir } = config;
  if (archiveDir !== null) return { ...config, archiveDir };
  throw new ConfigError('ARCHIVE_DIR is "off": this node has no archive; set it to the folder of one');
}

/** Runs a command on the archive; the store is asked only where it tells what the archive consists of. */
export async function withArchive<T>(run: (archive: Archive) => Promise<T>): Promise<T> {
  const config = readArchiveConfig();
  if (config.archiveS3 === null) return run(new Archive(config.archiveDir));
  return withOpenStore((store) => run(openArchive(config, store.registers)));
}

/** Says which segments are missing from what is shown, and what to do about it. */
export function leftOutTexts(leftOut: readonly Segment[]): readonly string[] {
  return leftOut.map(
    (segment) =>
      `${segment.rows} rows of ${segment.table} are left out: ${segmentPath(segment)} cannot be read; put the file back from a backup of the archive.${erasedText(segment)}`,
  );
}

function erasedText({ without = [] }: Segment): string {
  if (without.length === 0) return '';
  return ` It is read without the clients who were erased meanwhile (${without.length}), and rewritten without them.`;
}

/** Where a segment lies below the archive, and below a backup of it. */
export function segmentPath({ table, platform, day, name }: Segment): string {
  return `${table}/platform=${platform}/day=${day}/${name}.parquet`;
}

/** Erased clients whom the archive may still hold; nobody where there is no store, as with a copy of an archive. */
export async function erasedNow(): Promise<ErasedClients> {
  const { redisUrl, dataDir } = readConfig();
  if (redisUrl === null && !existsSync(sqlitePath(dataDir))) return [];
  return withOpenStore(erasedClients);
}
