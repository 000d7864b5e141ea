import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { SaltRefused } from '#state/client-salt.ts';
import { type OpenStoreOptions, openStore } from '#state/open-store.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { ArchiveHome } from './archive-home.ts';
import { ArchiveDamaged } from './archive-log.ts';

/**
 * The name of the file in the archive's folder that holds the salt of client hashes. If the store is lost, an empty
 * store can take this salt and so find the clients of the archive.
 */
export const SALT_FILE = 'client-salt';

/** Reads the salt. Returns null before anything was shipped. */
export function readSalt(folder: string): string | null {
  const path = join(folder, SALT_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

/**
 * Makes sure that this process can read the archive's salt from the local folder. It is no error if the archive has
 * lost its salt or has none yet. Throws StoreUnavailable if the home cannot be reached.
 */
export async function makeSaltReadableLocally(home: ArchiveHome): Promise<void> {
  const missing = await home.makeReadable([{ path: SALT_FILE, bytes: null }]);
  if (missing.get(SALT_FILE) === 'away')
    throw new StoreUnavailable(`${home.name}: ${SALT_FILE} cannot be read; it is tried again`);
}

/**
 * Writes the salt if the archive has none. If the process is killed meanwhile, the archive still has no salt, and the
 * next process writes it.
 */
export async function writeSaltIfMissing(home: ArchiveHome, salt: string): Promise<void> {
  const { folder } = home;
  if (readSalt(folder) !== null) return;
  makeOwnFolder(folder);
  const draft = join(folder, `.${randomUUID()}`);
  writeFileSync(draft, salt, { mode: 0o600, flush: true });
  await home.put([{ path: SALT_FILE, from: draft }]);
}

/** Reads the salt of an archive that has segments. Throws ArchiveDamaged if it is missing. */
export function readRequiredSalt(folder: string): string {
  const salt = readSalt(folder);
  if (salt !== null) return salt;
  throw new ArchiveDamaged(
    `${join(folder, SALT_FILE)} is missing; a node that ships to this archive puts it back, and so does copying it from a backup`,
  );
}

/** Throws SaltRefused if the archive has another salt than the store. An archive without a salt is accepted. */
export function requireSameSalt(
  { name, clientKeys }: Pick<Store, 'name' | 'clientKeys'>,
  folder: string,
): void {
  const archived = readSalt(folder);
  if (archived === null || archived === clientKeys.salt) return;
  throw new SaltRefused(
    `the payers of the store ${name} are hashed with another salt than those of the archive in ${folder}, so neither would find the other's. Set ARCHIVE_DIR to the archive of this store, or to "off"; or restore the backup of the store that belongs to this archive; or begin with an empty store, which takes the archive's salt once "state accept-empty" has accepted it`,
  );
}

/**
 * Opens the store as `openStore` does. An archive with a salt shows that there was a store before. So an empty store
 * is refused until a person accepts it. The accepted store takes the archive's salt. Throws SaltRefused.
 */
export async function openStoreBesideArchiveFolder(
  place: OpenStoreOptions & { readonly archiveDir: string | null },
  ...listeners: StoreListeners
): Promise<Store> {
  const { archiveDir } = place;
  const salt = archiveDir === null ? null : readSalt(archiveDir);
  const expected = salt === null ? null : { id: null, salt, toldBy: `the archive in ${archiveDir}` };
  const store = await openStore({ ...place, expected }, ...listeners);
  try {
    if (archiveDir !== null) requireSameSalt(store, archiveDir);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

export type StoreListeners =
  Parameters<typeof openStore> extends [OpenStoreOptions, ...infer Told] ? Told : never;
