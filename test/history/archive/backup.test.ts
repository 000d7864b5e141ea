import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toClientNumberText, toPlatformName } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import { openStoreBesideArchiveFolder } from '#history/archive/archived-salt.ts';
import { BackupTargetRefused, backUp } from '#history/archive/backup.ts';
import { readQuarantine } from '#history/archive/quarantine.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { SaltRefused } from '#state/client-salt.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { newClient, verdict } from '../../state/clients.ts';
import { scoring } from '../../workbench/commands/scoring.ts';
import { ArchivedStore } from './archived-store.ts';

describe('a backup of the archive', () => {
  let place: ArchivedStore;
  let target: string;
  beforeEach(async () => {
    place = await ArchivedStore.open();
    target = join(temporaryDirectory(), 'backup');
  });
  afterEach(() => place?.close());

  async function archived(orderRef: string) {
    const client = newClient();
    const decision = await verdict(place.store, client, orderRef);
    await place.shipAll();
    return { client, decision };
  }

  async function found(folder: string, id: string) {
    return (await place.reader(folder).decision(id, null)).decision;
  }

  it('has the contents of the archive, and is one', async () => {
    const { decision } = await archived('order-1');
    const report = await backUp(place.archive, target);
    const { segments, bytes } = place.archive.computeTotals();
    expect(report).to.deep.equal({ segments, bytes, copied: segments, torn: [] });
    expect(await found(target, decision.decisionId)).to.deep.equal(decision);
  });

  it('copies only new files, and drops removed ones, like those of an erased client', async () => {
    const first = await archived('order-1');
    await backUp(place.archive, target);
    const second = await archived('order-2');
    expect((await backUp(place.archive, target)).copied).to.equal(1);
    await place.store.erase(first.client);
    await place.shipAll();
    await backUp(place.archive, target);
    expect(await found(target, first.decision.decisionId)).to.equal(null);
    expect(await found(target, second.decision.decisionId)).to.deep.equal(second.decision);
    expect(new Archive(target).read().version).to.equal(place.archive.read().version);
  });

  it('has the unreadable entries of the journal, except for erased clients', async () => {
    const { client } = await archived('order-1');
    const at = { partition: 0, ms: 1, seq: 1 };
    const entry = {
      kind: 'unreadable',
      place: at,
      clientHash: client.hash,
      why: 'newer',
      text: 'z',
    } as const;
    await place.archive.quarantine([entry]);
    await backUp(place.archive, target);
    expect(readQuarantine(target).map(({ text }) => text)).to.deep.equal(['z']);
    await place.archive.eraseFromQuarantine(new Set([toClientNumberText(client.hash)]));
    await backUp(place.archive, target);
    expect(readQuarantine(target)).to.deep.equal([]);
  });

  it('can be shipped to after it is copied back', async () => {
    const { decision } = await archived('order-1');
    await backUp(place.archive, target);
    const restored = { archive: new Archive(target) };
    const later = await verdict(place.store, newClient(), 'order-2');
    rmSync(place.archive.folder, { recursive: true });
    await place.shipAll(place.shipper(restored));
    for (const each of [decision, later]) expect(await found(target, each.decisionId)).to.deep.equal(each);
  });

  it('is refused inside the archive and over a backup of another one', async () => {
    await archived('order-1');
    const inside = join(place.archive.folder, 'backup');
    const refusal = (to: string) => backUp(place.archive, to).catch((error: unknown) => error);
    expect(await refusal(inside)).to.be.instanceOf(BackupTargetRefused);
    const other = await ArchivedStore.open();
    await verdict(other.store, newClient(), 'order-1');
    await other.shipAll();
    await backUp(other.archive, target);
    await other.close();
    expect(String(await refusal(target))).to.include('is a backup of another archive');
  });

  it('is a command', async () => {
    await archived('order-1');
    const env = { ARCHIVE_DIR: place.archive.folder, DATA_DIR: temporaryDirectory() };
    const { stdout, exitCode } = await scoring(['archive', 'backup', target], env);
    expect(stdout).to.match(/holds the archive \(segments: 1, 0\.0 MB; newly copied: 1\)\.\n$/);
    expect(exitCode).to.equal(0);
    const refused = await scoring(['archive', 'backup', place.archive.folder], env);
    expect(refused.exitCode).to.equal(2);
    expect(refused.stderr).to.include('lies in the archive; name a folder elsewhere');
  });
});

const SHOP = toPlatformName('shop');

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
    openStoreBesideArchiveFolder({ redisUrl: null, dataDir, archiveDir: folder, isAccepted: true }, () => {});

  async function found(store: Store, folder: string): Promise<string | undefined> {
    const reader = new ArchiveReader(folder, store);
    const { decision } = await reader.decision(decisionId, SHOP);
    await reader.close();
    return decision?.orderRef;
  }

  it('is used by a new store that was accepted, which finds the payers of the lost one', async () => {
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
      `SaltRefused: the payers of the store sqlite ${dataDir}/scoring.sqlite are hashed with another salt than those of the archive in ${archiveDir}, so neither would find the other's. Set ARCHIVE_DIR to the archive of this store, or to "off"; or restore the backup of the store that belongs to this archive; or begin with an empty store, which takes the archive's salt once "state accept-empty" has accepted it`,
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
