import { join } from 'node:path';
import { expect } from 'chai';
import { Archive } from '../../src/archive/archive.ts';
import { openStoreBesideArchive } from '../../src/archive/archived-salt.ts';
import { backUp } from '../../src/archive/backup.ts';
import { ArchiveReader } from '../../src/archive/read/archive-reader.ts';
import { platformName } from '../../src/client/client-key.ts';
import { SaltRefused } from '../../src/state/client-salt.ts';
import { openSqliteStore } from '../../src/state/sqlite/store.ts';
import type { Store } from '../../src/state/store.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { verdict } from '../state/clients.ts';
import { ArchivedStore } from './archived-store.ts';

const SHOP = platformName('shop');

describe('the salt of payers in the archive', () => {
  let archiveDir: string;
  let decisionId: string;

  before(async () => {
    const place = await ArchivedStore.open(openSqliteStore(temporaryDirectory()));
    archiveDir = place.archive.folder;
    const ann = place.store.clientKeys.of(SHOP, 'ann');
    ({ decisionId } = await verdict(place.store, ann, 'order-1'));
    await place.shipAll();
    await place.close();
  });

  const beside = (folder: string, dataDir = temporaryDirectory()) =>
    openStoreBesideArchive({ redisUrl: null, dataDir, archiveDir: folder }, () => {});

  async function found(store: Store, folder: string): Promise<string | undefined> {
    const reader = new ArchiveReader(folder, store);
    const { decision } = await reader.decision(decisionId, SHOP);
    await reader.close();
    return decision?.orderRef;
  }

  it('is used by a new store, which finds the payers of the lost one', async () => {
    const store = await beside(archiveDir);
    expect(await found(store, archiveDir)).to.equal('order-1');
    await store.close();
  });

  it('is in a backup', async () => {
    const target = join(temporaryDirectory(), 'backup');
    await backUp(new Archive(archiveDir), target);
    const store = await beside(target);
    expect(await found(store, target)).to.equal('order-1');
    await store.close();
  });

  it('refuses a store of another installation, and says what to do', async () => {
    const dataDir = temporaryDirectory();
    await openSqliteStore(dataDir).close();
    const refused = await beside(archiveDir, dataDir).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(SaltRefused);
    expect(String(refused)).to.equal(
      `SaltRefused: the payers of the store sqlite ${dataDir}/scoring.sqlite are hashed under another salt than those of the archive in ${archiveDir}, so neither would find the other's. Set ARCHIVE_DIR to the archive of this store, or to "off"; or put back the backup of the store that belongs to this archive; or begin with an empty store, which takes the archive's salt`,
    );
  });

  it('refuses the entries of a store of another installation', async () => {
    const place = await ArchivedStore.open(openSqliteStore(temporaryDirectory()), archiveDir);
    const refused = await place
      .shipper()
      .step()
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(SaltRefused);
    await place.close();
  });
});
