import { randomUUID } from 'node:crypto';
import type { Registers, Store } from '../../state/store.ts';
import { StoreUnavailable } from '../../state/store-errors.ts';
import type { Archive } from '../archive.ts';
import type { ArchiveHome } from '../archive-home.ts';
import type { Commit } from '../archive-log.ts';
import { ARCHIVE_REGISTER } from '../archived-elsewhere.ts';
import { bringSalt, keepSalt, requireSalt, SALT_FILE, saltOf } from '../client-salt.ts';

/** The store's journal goes to another archive than this node's. */
export class AnotherArchive extends Error {
  override readonly name = 'AnotherArchive';
}

/**
 * A store has one archive: the one that was first shipped to. An archive of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused. It keeps the salt of the store's clients.
 * `adoption` is committed where the archive was another store's until now.
 */
export async function claimArchive(
  store: Pick<Store, 'name' | 'registers' | 'clientKeys'>,
  { folder, home }: Pick<Archive, 'folder' | 'home'>,
  adoption: Commit,
): Promise<void> {
  const { registers, clientKeys } = store;
  await bringSalt(home);
  if (home.isElsewhere && home.read().version > 0 && saltOf(folder) === null)
    throw new StoreUnavailable(`${home.name}: ${SALT_FILE} cannot be read; it is tried again`);
  requireSalt(store, folder);
  await claimId(registers, home, adoption);
  await keepSalt(home, folder, clientKeys.salt);
  requireSalt(store, folder);
}

/** An archive that exists already is not taken over by itself: a person has to say so. */
async function claimId(registers: Registers, home: ArchiveHome, adoption: Commit): Promise<void> {
  const own = await home.id();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (own === null) return beginArchive(registers, home, claimed);
  if (claimed === own) return;
  if (claimed === null && home.isElsewhere)
    throw new AnotherArchive(
      `${home.name} holds an archive that this store knows nothing of; when its own store is lost, run archive adopt, otherwise set ARCHIVE_DIR to another place`,
    );
  if (claimed === null) {
    // First: a process that ends in between begins anew, and nobody continues from the other store's
    // cursor.
    if (home.read().version > 0) await home.commit(home.read(), adoption);
    if (await registers.compareAndSet(ARCHIVE_REGISTER, null, own)) return;
  }
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the ${home.isElsewhere ? 'place' : 'folder'} that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}

/** The register comes first: two nodes that begin at once both use its id. */
async function beginArchive(registers: Registers, home: ArchiveHome, claimed: string | null): Promise<void> {
  if (claimed !== null && home.read().version > 0)
    throw new AnotherArchive(`${home.name} is empty, but this store has an archive; set ARCHIVE_DIR right`);
  const id = claimed ?? randomUUID();
  if (claimed !== null || (await registers.compareAndSet(ARCHIVE_REGISTER, null, id))) return home.giveId(id);
  throw new AnotherArchive(`another node has just begun the archive in ${home.name}; it is tried again`);
}
