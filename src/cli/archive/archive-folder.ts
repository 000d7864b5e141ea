import { existsSync } from 'node:fs';
import { type ErasedClients, erasedClients } from '../../archive/archive.ts';
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

/** Erased clients whom the archive may still hold; nobody where there is no store, as with a copy of an archive. */
export async function erasedNow(): Promise<ErasedClients> {
  const { redisUrl, dataDir } = readConfig();
  if (redisUrl === null && !existsSync(sqlitePath(dataDir))) return [];
  return withOpenStore(erasedClients);
}
