import { expect } from 'chai';
import fc from 'fast-check';
import { type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import { EventFeed, type FeedEvent } from '#history/archive/read/event-feed.ts';
import type { JournalGap } from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { newClient, newPlatform, paymentOf, T0, verdict } from '../../../state/clients.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { storeWith } from '../../../stores/store-with.ts';
import { ArchivedStore } from '../archived-store.ts';

/** The shipper's day is over, so that its segments are merged. */
const NEXT_DAY = () => T0 + 48 * 3_600_000;

describeOnStores('the feed of events', (store) => {
  let place: ArchivedStore;
  let feed: EventFeed;

  before(async () => {
    place = await ArchivedStore.open(store());
    feed = new EventFeed(store(), place.reader());
  });
  after(() => place?.release());

  it('gives the same events wherever they are stored, and continues from every cursor', async () => {
    const moves = fc.array(fc.constantFrom('verdict', 'outcome', 'foreign', 'ship', 'merge'), {
      minLength: 5,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 7 }), async (steps, limit) => {
        const lived = await live(place, steps);
        const whole = await readAll(feed, lived.platform, null, 500);
        expect(whole.map(labelOf)).to.have.members(lived.labels);
        for (const clientIdKey of ['ann', 'bob'])
          expect(labelsOf(whole, clientIdKey)).to.deep.equal(
            lived.labels.filter((label) => label.startsWith(clientIdKey)),
          );
        const parts = await readAll(feed, lived.platform, null, limit);
        expect(parts.map(labelOf)).to.have.members(lived.labels);
        expect(labelsOf(parts, 'ann')).to.deep.equal(labelsOf(whole, 'ann'));
      }),
      { numRuns: 6 },
    );
  });

  it('continues strictly after a cursor, before and after shipping and merging', async () => {
    const platform = newPlatform();
    const client = newClient(platform, 'ann');
    for (const order of ['1', '2']) await verdict(store(), client, order, T0);
    const { cursor } = await firstPage(feed, platform, 500);
    for (const order of ['3', '4']) await verdict(store(), client, order, T0);
    const rest = async () => (await readAll(feed, platform, cursor, 2)).map(labelOf);
    expect(await rest()).to.deep.equal(['ann 3', 'ann 4']);
    await place.shipAll();
    expect(await rest()).to.deep.equal(['ann 3', 'ann 4']);
    await place.shipAll(place.shipper({ clock: NEXT_DAY }));
    expect(await rest()).to.deep.equal(['ann 3', 'ann 4']);
  });

  it('gives a platform nothing of another', async () => {
    const [own, foreign] = [newPlatform(), newPlatform()];
    await verdict(store(), newClient(foreign), 'foreign', T0);
    await place.shipAll();
    await verdict(store(), newClient(foreign), 'foreign', T0);
    expect(await readAll(feed, own, null, 10)).to.deep.equal([]);
  });

  it('has an erasure, and no earlier events of the client', async () => {
    const platform = newPlatform();
    const [gone, other] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
    for (const client of [gone, other]) await verdict(store(), client, 'before', T0);
    const first = await firstPage(feed, platform, 10);
    await place.shipAll();
    await store().erase(gone);
    await verdict(store(), gone, 'after', T0 + 1);
    const expected = [`erasure ${toClientNumberText(gone.hash)}`, 'ann after'];
    for (const isShipped of [false, true]) {
      if (isShipped) await place.shipAll();
      expect((await readAll(feed, platform, first.cursor, 10)).map(labelOf)).to.deep.equal(expected);
      const whole = (await readAll(feed, platform, null, 10)).map(labelOf);
      expect(whole).to.have.members(['bob before', ...expected]);
    }
  });

  it('has nothing of a client who is erased between two pages of the archive', async () => {
    const platform = newPlatform();
    const [gone, other] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
    for (const order of ['1', '2', '3'])
      for (const client of [gone, other]) await verdict(store(), client, order, T0);
    await place.shipAll();
    const { cursor, records } = await feed.readPage(platform, null, 2);
    await store().erase(gone);
    const rest = async () => (await readAll(feed, platform, cursor, 1)).map(labelOf);
    // Those of one millisecond have no order, so the first page may have had either client.
    const told = records.map(labelOf);
    const missing = ['bob 1', 'bob 2', 'bob 3'].filter((label) => !told.includes(label));
    const expected = [...missing, `erasure ${toClientNumberText(gone.hash)}`];
    expect(await rest()).to.have.members(expected);
    await place.shipAll();
    expect(await rest()).to.have.members(expected);
  });

  it("has an erasure without the client's number after 30 days, when the archive has it nowhere", async () => {
    const platform = newPlatform();
    const [gone, other] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
    for (const client of [gone, other]) await verdict(store(), client, 'before', T0);
    const first = await firstPage(feed, platform, 10);
    await store().erase(gone);
    await place.shipAll();
    const after = (days: number) => place.shipper({ clock: () => Date.now() + days * 24 * 3_600_000 });
    const told = async () => (await readAll(feed, platform, first.cursor, 10)).map(labelOf);
    await place.shipAll(after(29));
    expect(await told()).to.deep.equal([`erasure ${toClientNumberText(gone.hash)}`]);
    await place.shipAll(after(31));
    expect(await told()).to.deep.equal(['erasure ']);
    const segments = place.archive.listSegments(place.archive.read(), { table: 'erasures', platform });
    const rows = await place.duck.rows(`SELECT client_number FROM ${place.archive.createRowsSql(segments)}`);
    expect(rows).to.deep.equal([{ client_number: '' }]);
    expect(await place.shipAll(after(31))).to.deep.equal([{ did: 'nothing', because: 'nothing to do' }]);
  });

  it('reports a gap of the archive once', async () => {
    const platform = newPlatform();
    const client = newClient(platform, 'ann');
    await verdict(store(), client, '1', T0);
    await place.shipAll();
    const start = await firstPage(feed, platform, 10);
    await verdict(store(), client, '2', T0);
    const gap = { from: T0, to: T0 + 5, entries: 7 };
    await place.shipAll(place.shipper({ store: withGap(store(), gap) }));
    for (const limit of [1, 10]) {
      expect(await gapsFrom(feed, platform, null, limit)).to.deep.equal([gap]);
      expect(await gapsFrom(feed, platform, start.cursor, limit)).to.deep.equal([gap]);
    }
    const end = (await pages(feed, platform, null, 10)).at(-1)?.cursor ?? null;
    await verdict(store(), client, '3', T0);
    expect(await gapsFrom(feed, platform, end, 10)).to.deep.equal([]);
  });

  it('reports a gap in unshipped entries', async () => {
    const platform = newPlatform();
    await verdict(store(), newClient(platform, 'ann'), '1', T0);
    const gap = { from: T0, to: T0 + 5, entries: 7 };
    const lossy = new EventFeed(withGap(store(), gap), null);
    const { cursor } = await firstPage(feed, platform, 10);
    expect((await lossy.readPage(platform, cursor, 10)).gaps).to.deep.equal([gap]);
  });
});

type Move = 'verdict' | 'outcome' | 'foreign' | 'ship' | 'merge';

/** The events of a client by label, like `ann 3`. */
async function live(place: ArchivedStore, moves: readonly Move[]) {
  const platform = newPlatform();
  const [ann, bob] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
  const { store } = place;
  const labels: string[] = [];
  for (const [index, move] of moves.entries()) {
    const client = index % 3 === 0 ? bob : ann;
    switch (move) {
      case 'verdict':
        await verdict(store, client, String(index), T0 + index);
        break;
      case 'outcome':
        await store.commit(paymentOf(client, await store.load(client), String(index), T0 + index));
        break;
      case 'foreign':
        await verdict(store, newClient(), String(index), T0 + index);
        break;
      case 'ship':
        await place.shipper().step();
        break;
      case 'merge':
        await place.shipAll(place.shipper({ clock: NEXT_DAY }));
        break;
      default:
        throw new Error(move satisfies never);
    }
    if (move === 'verdict' || move === 'outcome') labels.push(`${client.clientIdKey} ${index}`);
  }
  return { platform, labels };
}

function labelOf(record: FeedEvent): string {
  switch (record.kind) {
    case 'verdict':
      return `${record.clientIdKey} ${record.decision.orderRef}`;
    case 'outcome':
      return `${record.clientIdKey} ${record.orderRef}`;
    case 'erasure':
      return `erasure ${record.clientNumber}`;
    default:
      return record.kind;
  }
}

function labelsOf(records: readonly FeedEvent[], clientIdKey: string): readonly string[] {
  return records.map(labelOf).filter((label) => label.startsWith(clientIdKey));
}

async function pages(feed: EventFeed, platform: PlatformName, after: string | null, limit: number) {
  const read = [];
  for (let cursor = after; ; ) {
    const page = await feed.readPage(platform, cursor, limit);
    read.push(page);
    cursor = page.cursor;
    if (page.ended) return read;
  }
}

async function readAll(feed: EventFeed, platform: PlatformName, after: string | null, limit: number) {
  return (await pages(feed, platform, after, limit)).flatMap(({ records }) => records);
}

async function gapsFrom(feed: EventFeed, platform: PlatformName, after: string | null, limit: number) {
  return (await pages(feed, platform, after, limit)).flatMap(({ gaps }) => gaps);
}

/** The first page that is not empty. */
async function firstPage(feed: EventFeed, platform: PlatformName, limit: number) {
  const found = (await pages(feed, platform, null, limit)).find(({ records }) => records.length > 0);
  return found ?? expect.fail('the feed is empty');
}

/** The store after its journal overflowed, reported once. */
function withGap(store: Store, gap: JournalGap): Store {
  let isTold = false;
  const readJournal: Store['readJournal'] = async (after, limit) => {
    const page = await store.readJournal(after, limit);
    const gapOnce = isTold ? null : gap;
    isTold = true;
    return { ...page, gap: gapOnce };
  };
  return storeWith(store, { readJournal });
}
