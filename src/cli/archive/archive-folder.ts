import { type Config, ConfigError, readConfig } from '../../config.ts';

/** The settings of a node that has an archive; throws ConfigError where it is off. */
export function readArchiveConfig(): Config & { readonly archiveDir: string } {
  const config = readConfig();
  const { archiveDir } = config;
  if (archiveDir !== null) return { ...config, archiveDir };
  throw new ConfigError('ARCHIVE_DIR is "off": this node has no archive; set it to the folder of one');
}
