import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import type { ResultRow } from '#history/archive/query-engine.ts';
import {
  AnotherArchive,
  findLeaseHolder,
  listShippingTroubles,
  ShippingLease,
} from '#history/archive/ship/lease.ts';
import { TABLE_NAMES, toJournalEntry } from '#history/archive/tables.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import type { AnyJournalEntry } from '#state/journal.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_KEYS, TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { commitEachKind, newClient, newPlatform, T0, verdict } from '../../../state/clients.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { storeWith } from '../../../stores/store-with.ts';
import { ArchivedStore } from '../archived-store.ts';
import { describeOnArchives } from '../describe-on-archives.ts';

describeOnArchives('shipping the journal', (store, open) => {
  let place: ArchivedStore;
  before(async () => {
    place = await open();
  });
  after(() => place?.release());

  const upTo = (orders: number) => Array.from({ length: orders }, (_, index) => index + 1);
  const ask = async (client: ClientKey, orders: number) => {
    for (const order of upTo(orders)) await verdict(store(), client, `order-${order}`);
  };

  it('puts every entry into the archive once and unchanged', async () => {
    const client = newClient();
    await commitEachKind(store(), client);
    await place.shipAll();
    const own = (entry: AnyJournalEntry) =>
      entry.kind !== 'erasure' && entry.clientIdKey === client.clientIdKey;
    expect(await archivedEntries(place, client)).to.have.deep.members((await journalOf(store())).filter(own));
  });

  it('has nothing to do when everything is shipped', async () => {
    const steps = await place.shipAll();
    expect(steps).to.deep.equal([{ did: 'nothing', because: 'nothing to do' }]);
  });

  it('continues after the last commit, whoever ships', async () => {
    const client = newClient();
    await verdict(store(), client, 'order-1');
    await place.shipAll(place.shipper());
    await verdict(store(), client, 'order-2');
    await place.shipAll(place.shipper());
    expect(await numbersOf(place, client)).to.deep.equal([1, 2]);
  });

  it('ships nothing twice when two nodes ship at once', async () => {
    const client = newClient();
    await ask(client, 20);
    const [one, other] = [place.shipper(), place.shipper()];
    for (let round = 0; round < 4; round += 1) await Promise.all([one.step(), other.step()]);
    await place.shipAll();
    expect(await numbersOf(place, client)).to.deep.equal(upTo(20));
  });

  it('leaves the work to the node that holds the lease', async () => {
    await place.shipAll(place.shipper({ holder: 'tester' }));
    expect(await place.shipper({ holder: 'somebody else' }).step()).to.deep.equal({
      did: 'nothing',
      because: 'another node ships',
    });
  });

  it('removes an erased client from the archive and records the erasure', async () => {
    const platform = newPlatform();
    const [client, other] = [newClient(platform), newClient(platform)];
    for (const each of [client, other]) await verdict(store(), each, 'order-1');
    await place.shipAll();
    await store().erase(client);
    await place.shipAll();
    expect(await archivedEntries(place, client)).to.deep.equal([]);
    expect(await numbersOf(place, other)).to.deep.equal([1]);
    const [tombstone] = await rowsOf(place, 'erasures', `platform = '${platform}'`);
    expect(tombstone?.['rows_removed']).to.equal(1n);
    expect(Object.keys(tombstone ?? {}).join(' ')).to.equal(
      'journal_partition journal_ms journal_seq erased_at platform client_number rows_removed',
    );
    expect(tombstone?.['client_number']).to.equal(toClientNumberText(client.hash));
    const times = await place.reader(place.archive).readErasureTimes();
    expect(times.get(toClientNumberText(client.hash))).to.be.a('number');
    expect(times.has(toClientNumberText(other.hash))).to.equal(false);
  });

  it('removes an erased client although the journal lost the erasure', async () => {
    const [erased, other] = [newClient(), newClient()];
    for (const each of [erased, other]) await verdict(store(), each, 'order-1');
    await place.shipAll();
    await store().erase(erased);
    await place.shipAll(place.shipper({ store: forgetfulJournal(store()) }));
    expect(await numbersOf(place, erased)).to.deep.equal([]);
    const told = await rowsOf(place, 'erasures', `client_number = '${toClientNumberText(erased.hash)}'`);
    expect(told.map((row) => [row['platform'], row['rows_removed']])).to.deep.equal([[erased.platform, 1n]]);
    expect(await numbersOf(place, other)).to.deep.equal([1]);
  });

  it('archives what an erased client does afterwards', async () => {
    const client = newClient();
    await verdict(store(), client, 'before');
    await store().erase(client);
    await verdict(store(), client, 'after');
    await place.shipAll();
    expect(await ordersOf(place, client)).to.deep.equal(['after']);
  });

  it('ships as many pages of the journal with one commit as allowed', async () => {
    const client = newClient();
    await ask(client, 10);
    const steps = await place.shipAll(place.shipper({ limits: { commitEntriesMax: 6, pageEntriesMax: 2 } }));
    expect(steps.filter(({ did }) => did === 'shipped')).to.deep.equal([
      { did: 'shipped', entries: 6, more: true },
      { did: 'shipped', entries: 4, more: false },
    ]);
    expect(await numbersOf(place, client)).to.deep.equal(upTo(10));
  });

  it('removes an erased client from the pages before that of its erasure', async () => {
    const platform = newPlatform();
    const [client, other] = [newClient(platform), newClient(platform)];
    for (const order of ['order-1', 'order-2', 'order-3']) {
      await verdict(store(), client, order);
      await verdict(store(), other, order);
    }
    await store().erase(client);
    await verdict(store(), other, 'order-4');
    await place.shipAll(place.shipper({ limits: { commitEntriesMax: 100, pageEntriesMax: 2 } }));
    expect(await archivedEntries(place, client)).to.deep.equal([]);
    expect(await numbersOf(place, other)).to.deep.equal([1, 2, 3, 4]);
  });

  it('removes shipped entries from the journal, except the newest', async () => {
    const client = newClient();
    await ask(client, 5);
    await place.shipAll(place.shipper({ kept: { journalEntries: 0, decisionsHotMs: 86_400_000 } }));
    expect(await journalOf(store())).to.deep.equal([]);
    expect(await numbersOf(place, client)).to.deep.equal(upTo(5));
  });

  it('refuses a folder that is not the archive of the store', async () => {
    const elsewhere = new Archive(temporaryDirectory());
    const declareRefusal = await failureOf(place.shipper({ archive: elsewhere }).step());
    expect(declareRefusal).to.be.instanceOf(AnotherArchive);
    expect(String(declareRefusal)).to.include('set ARCHIVE_DIR to the place that the fleet shares');
  });

  it('is left to others by a node that cannot write, or has another folder, and all can see why', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, 'no folder can be below it');
    const unwritable = place.node(place.archive.folder);
    unwritable.getStagingFolder = () => join(file, 'staging');
    const elsewhere = new Archive(temporaryDirectory());
    for (const [holder, archive] of Object.entries({ unwritable, elsewhere })) {
      await place.shipAll(place.shipper());
      await failureOf(place.shipper({ holder, archive }).step());
      await new ShippingLease(store().registers, 'tester', () => performance.now()).release();
      expect(await failureOf(place.shipper({ holder, archive }).step())).to.be.instanceOf(Error);
      expect(await findLeaseHolder(store().registers)).to.equal(null);
    }
    const troubles = (await listShippingTroubles(store().documents)).filter(({ name }) => name !== 'tester');
    expect(troubles.map(({ name }) => name)).to.deep.equal(['elsewhere', 'unwritable']);
    expect(troubles[0]?.why).to.include('set ARCHIVE_DIR to the place that the fleet shares');
    expect(troubles[1]?.why).to.match(/ENOTDIR|EEXIST/);
    expect((await place.shipAll()).at(-1)).to.deep.equal({ did: 'nothing', because: 'nothing to do' });
  });

  it('commits nothing when a segment cannot be written, and ships it later', async () => {
    const client = newClient();
    await verdict(store(), client, 'order-1');
    const staging = place.archive.getStagingFolder();
    rmSync(staging, { recursive: true, force: true });
    const shipper = place.shipper();
    await shipper.step();
    await verdict(store(), client, 'order-2');
    rmSync(staging, { recursive: true, force: true });
    writeFileSync(staging, 'a file where the folder should be');
    const before = place.archive.read().version;
    expect(await failureOf(shipper.step())).to.be.instanceOf(Error);
    expect(place.archive.read().version).to.equal(before);
    rmSync(staging);
    await place.shipAll();
    expect(await numbersOf(place, client)).to.deep.equal([1, 2]);
  });
});

describe('shipping the journal of a SQLite store', () => {
  it('ships entries since the store was restored to an earlier time', async () => {
    const [folder, client] = [temporaryDirectory(), newClient()];
    const lived = await ArchivedStore.open();
    const kept = await ArchivedStore.open(openSqliteStore(folder, { salt: TEST_SALT }), lived.archive.folder);
    try {
      for (const one of [lived, kept]) await verdict(one.store, client, 'before', T0);
      for (const orderRef of ['lost-1', 'lost-2', 'lost-3'])
        await verdict(lived.store, client, orderRef, T0 + 1000);
      await lived.shipAll();
      await kept.store.registers.compareAndSet(ARCHIVE_REGISTER, null, await claimOf(lived));
      for (const orderRef of ['since-1', 'since-2']) await verdict(kept.store, client, orderRef, T0 + 2000);
      await kept.shipAll(kept.shipper({ limits: { commitEntriesMax: 1, pageEntriesMax: 1 } }));
      const orders = ['before', 'lost-1', 'lost-2', 'lost-3', 'since-1', 'since-2'];
      expect(await ordersOf(kept, client)).to.deep.equal(orders);
    } finally {
      await Promise.all([lived.close(), kept.close()]);
    }
  });
});

describeOnStores('shipping the journal of a new store', (store) => {
  it('to the folder of an old one begins with the first entry', async () => {
    const client = newClient();
    const orders = ['new-1', 'new-2', 'new-3'];
    const old = await ArchivedStore.open();
    const place = await ArchivedStore.open(store(), old.archive.folder);
    try {
      await verdict(old.store, client, 'old', T0);
      await old.shipAll();
      for (const orderRef of orders) await verdict(store(), client, orderRef, T0 + 1000);
      await place.shipAll();
      expect(await ordersOf(place, client)).to.deep.equal([...orders, 'old']);
    } finally {
      await place.release();
      await old.close();
    }
  });
});

/** The store after its journal overflowed: unread erasures are a gap. */
function forgetfulJournal(store: Store): Store {
  const readJournal: Store['readJournal'] = async (after, limit) => {
    const page = await store.readJournal(after, limit);
    const entries = page.entries.filter(({ kind }) => kind !== 'erasure');
    const lost = page.entries.length - entries.length;
    return lost === 0 ? page : { ...page, entries, gap: { from: T0, to: T0, entries: lost } };
  };
  return storeWith(store, { readJournal });
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

async function journalOf(store: Store): Promise<readonly AnyJournalEntry[]> {
  return (await store.readJournal(null, 10_000)).entries.filter((entry) => entry.kind !== 'erasure');
}

async function rowsOf(place: ArchivedStore, table: (typeof TABLE_NAMES)[number], where: string) {
  const segments = place.archive.listSegments(await place.archive.refresh(), { table });
  expect(await place.archive.makeReadable(segments)).to.deep.equal([]);
  if (segments.length === 0) return [];
  return place.duck.rows(`SELECT * FROM ${place.archive.createRowsSql(segments)} WHERE ${where}`);
}

async function archivedEntries(place: ArchivedStore, client: ClientKey): Promise<readonly AnyJournalEntry[]> {
  const entries: AnyJournalEntry[] = [];
  for (const table of TABLE_NAMES.filter((name) => name !== 'erasures')) {
    const rows = await rowsOf(place, table, `client_id_key = '${client.clientIdKey}'`);
    for (const row of rows) {
      const entry = toJournalEntry(table, row, TEST_KEYS);
      if (entry !== null) entries.push(entry);
    }
  }
  return entries;
}

async function decisionsOf(place: ArchivedStore, client: ClientKey): Promise<readonly ResultRow[]> {
  return rowsOf(place, 'decisions', `client_id_key = '${client.clientIdKey}'`);
}

async function ordersOf(place: ArchivedStore, client: ClientKey): Promise<readonly string[]> {
  return (await decisionsOf(place, client)).map((row) => String(row['order_ref'])).toSorted();
}

const claimOf = async ({ store }: ArchivedStore) => (await store.registers.read(ARCHIVE_REGISTER)) ?? '';

async function numbersOf(place: ArchivedStore, client: ClientKey): Promise<readonly number[]> {
  return (await decisionsOf(place, client)).map((row) => Number(row['seq'])).toSorted((a, b) => a - b);
}
