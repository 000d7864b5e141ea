import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Registers } from '../state/store.ts';
import { ID_FILE } from './archive-home.ts';

/** The register in which a store notes the id of its archive. */
export const ARCHIVE_REGISTER = 'archive';

/**
 * Whether the store's decisions are archived in a folder that is not this one; null: the decisions are not archived
 * at all.
 */
export async function isArchivedElsewhere(
  registers: Pick<Registers, 'read'>,
  folder: string | null,
): Promise<boolean> {
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (claimed === null) return false;
  const path = folder === null ? null : join(folder, ID_FILE);
  return path === null || !existsSync(path) || readFileSync(path, 'utf8').trim() !== claimed;
}
