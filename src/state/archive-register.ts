import type { Registers } from './store.ts';

/** The register with the id of the archive that has the decisions of this store. */
export const ARCHIVE_REGISTER = 'archive';

/** Reads the id of the archive that has the decisions of this store. Returns null if there is none. */
export function readClaimedArchiveId(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return registers.read(ARCHIVE_REGISTER);
}
