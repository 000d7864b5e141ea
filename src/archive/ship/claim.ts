import { randomUUID } from 'node:crypto';
import type { Registers } from '../../state/store.ts';
import type { ArchiveHome } from '../archive-home.ts';
import { ARCHIVE_REGISTER } from '../archived-elsewhere.ts';

/** The store's journal goes to another archive than this node's. */
export class AnotherArchive extends Error {
  override readonly name = 'AnotherArchive';
}

/**
 * A store has one archive: the one that was first shipped to. An archive of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused.
 */
export async function claimArchive(registers: Registers, home: ArchiveHome): Promise<void> {
  const own = (await home.id()) ?? randomUUID();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (claimed === own) return;
  if (claimed === null && (await registers.compareAndSet(ARCHIVE_REGISTER, null, own))) return;
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the folder that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}
