import { randomUUID } from 'node:crypto';
import type { Store } from '../../state/store.ts';
import type { Archive } from '../archive.ts';
import { ARCHIVE_REGISTER } from '../archived-elsewhere.ts';
import { bringSalt, keepSalt, requireSalt } from '../client-salt.ts';

/** The store's journal goes to another archive than this node's. */
export class AnotherArchive extends Error {
  override readonly name = 'AnotherArchive';
}

/**
 * A store has one archive: the one that was first shipped to. An archive of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused. It keeps the salt of the store's clients.
 */
export async function claimArchive(
  store: Pick<Store, 'name' | 'registers' | 'clientKeys'>,
  { folder, home }: Pick<Archive, 'folder' | 'home'>,
): Promise<void> {
  const { registers, clientKeys } = store;
  await bringSalt(home);
  requireSalt(store, folder);
  const own = (await home.id()) ?? randomUUID();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  const isNew = claimed === null && (await registers.compareAndSet(ARCHIVE_REGISTER, null, own));
  if (isNew || claimed === own) {
    await keepSalt(home, folder, clientKeys.salt);
    return requireSalt(store, folder);
  }
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the folder that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}
