import type { Registers } from './store.ts';

/** Holds the id of the archive that takes the decisions of this store. */
export const ARCHIVE_REGISTER = 'archive';

/** The id of the archive that takes the decisions of this store; null: none does. */
export function readClaimedArchive(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return registers.read(ARCHIVE_REGISTER);
}
