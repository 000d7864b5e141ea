import { expect } from 'chai';
import { ArchiveWatch } from '../../../src/archive/read/archive-watch.ts';
import type { Store } from '../../../src/state/store.ts';
import { newClient, T0, verdict } from '../../state/clients.ts';
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
  const watch = () => new ArchiveWatch(place.archive, journal, () => nowMs);
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
    expect(watch().contents()).to.deep.equal(place.archive.contents());
    expect(watch().contents().segments).to.equal(1);
    expect(await watch().journalEntries()).to.equal(1);
  });
});
