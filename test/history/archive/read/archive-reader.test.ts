import { join } from 'node:path';
import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { ArchiveFigures } from '#history/archive/read/archive-figures.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { runNode } from '../../../processes/node-process.ts';
import { newClient, T0, verdict } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

const MINUTE_MS = 60_000;

describe("the archive's lag and size on a node", () => {
  let place: ArchivedStore;
  let nowMs = T0;
  let isAway = false;
  const journal: Pick<Store, 'readJournal' | 'journalLength'> = {
    readJournal: (after, limit) =>
      isAway ? Promise.reject(new Error('away')) : place.store.readJournal(after, limit),
    journalLength: () => (isAway ? Promise.reject(new Error('away')) : place.store.journalLength()),
  };
  const watch = () => new ArchiveFigures(place.archive, journal, () => nowMs);
  beforeEach(async () => {
    nowMs = T0;
    isAway = false;
    place = await ArchivedStore.open();
  });
  afterEach(() => place.close());

  it('have the waiting time of the oldest entry, whoever ships', async () => {
    const watched = watch();
    expect(await watched.lagMs(), 'an empty journal').to.equal(0);
    await verdict(place.store, newClient(), 'order-1', T0);
    await verdict(place.store, newClient(), 'order-2', T0 + MINUTE_MS);
    nowMs = T0 + 2 * MINUTE_MS;
    expect(await watched.lagMs()).to.equal(2 * MINUTE_MS);
    await place.shipAll();
    expect(await watched.lagMs()).to.equal(0);
  });

  it('have a growing lag while the store is away', async () => {
    const watched = watch();
    await watched.lagMs();
    isAway = true;
    nowMs = T0 + 3 * MINUTE_MS;
    expect(await watched.lagMs()).to.equal(3 * MINUTE_MS);
    isAway = false;
    expect(await watched.lagMs()).to.equal(0);
  });

  it('have the number of segments and bytes', async () => {
    await verdict(place.store, newClient(), 'order-1', T0);
    await place.shipAll();
    expect(watch().contents()).to.deep.equal(place.archive.computeTotals());
    expect(watch().contents().segments).to.equal(1);
    expect(await watch().journalEntries()).to.equal(1);
  });
});

const SOURCE = join(import.meta.dirname, '..', '..', '..', '..', 'src');

/** Looks up an order twice: while no more files can be opened, and when they can. */
const ASKER = `
  import { closeSync, openSync } from 'node:fs';
  import { ArchiveReader } from '${SOURCE}/history/archive/read/archive-reader.ts';
  import { ClientKeys } from '${SOURCE}/decision/payer/client-key.ts';
  const clientKeys = new ClientKeys('${TEST_SALT}');
  const store = { clientKeys, unshippedErasures: async () => [], readJournal: async () => ({ entries: [] }) };
  const reader = new ArchiveReader(process.env.FOLDER, store);
  const ask = async () => {
    const { decisions } = await reader.decisionsOfOrder('shop', 'order-1', 10);
    return decisions.map(({ orderRef }) => orderRef).join();
  };
  const opened = [];
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {}
  const first = await ask().catch(({ message }) => message);
  for (const file of opened) closeSync(file);
  console.log(first.includes('too many open files') ? 'too many open files' : first);
  console.log(await ask());
  await reader.close();
`;

/** Runs a program that may have few files open at once. */
const WITH_FEW_FILES = ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh'];

describe('the engine that reads the archive', () => {
  it('is started by the next question after a failed start', async () => {
    const place = await ArchivedStore.open();
    await verdict(place.store, newClient(toPlatformName('shop')), 'order-1', T0);
    await place.shipAll();
    await place.close();
    const asked = await runNode(['--input-type=module', '-e', ASKER], {
      env: { FOLDER: place.archive.folder },
      under: WITH_FEW_FILES,
    });
    expect(asked).to.deep.equal({ exitCode: 0, stdout: 'too many open files\norder-1\n', stderr: '' });
  });
});
