import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { readExactClock } from '#base/clock.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { getCommonDayOrMonth } from '#history/archive/period.ts';
import { readQuarantine } from '#history/archive/quarantine.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { findNextMerge } from '#history/archive/ship/next-merge.ts';
import type { ShipOrTidy } from '#history/archive/ship/shipper.ts';
import { keepShipping } from '#history/archive/ship/shipping.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import { getPartitionTag, journalKey } from '#state/keys.ts';
import { openRedisStore } from '#state/redis/store.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { openToOthers } from '../../../servers/open-to-others.ts';
import { type RedisServers, startStandalone } from '../../../servers/redis.ts';
import { command } from '../../../servers/redis-command.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';
import { startService } from '../../../service/running-service.ts';
import { newClient, T0, verdict } from '../../../state/clients.ts';
import { emptyRedisUrl } from '../../../stores/empty-redis.ts';
import { openPatiently } from '../../../stores/temporary-store.ts';
import { ArchivedStore } from '../archived-store.ts';

describe('shipping with new entries at every step', () => {
  const platform = toPlatformName('shop');
  let place: ArchivedStore;
  let orders = 0;
  beforeEach(async () => {
    place = await ArchivedStore.open();
    orders = 0;
  });
  afterEach(() => place.close());

  const newOrder = () => verdict(place.store, newClient(platform), `order-${++orders}`, T0 + orders);
  const segments = () => place.archive.listSegments(place.archive.read(), { table: 'decisions', platform });
  const oldest = () => Math.min(...segments().map(({ from }) => from));

  /** Ships with a new order before every step, up to a number of orders or until the condition is true. */
  async function keepBusy(ordersMax: number, holds: () => boolean, keepMs = 400 * 24 * 3_600_000) {
    const ending = new AbortController();
    const shipper = place.shipper({ keepMs });
    const turns: ShipOrTidy[] = [];
    await keepShipping({
      step: async (turn) => {
        turns.push(turn);
        await newOrder();
        const done = await shipper.step(turn);
        if (orders >= ordersMax || holds()) ending.abort();
        return done;
      },
      clock: Date.now,
      signal: ending.signal,
      onReport: ({ trouble }) => expect(trouble).to.equal(null),
      everyMs: 1,
    });
    return turns;
  }

  it('merges small segments without losing or repeating a row', async () => {
    const merged = () => segments().some(({ rows }) => rows >= 10);
    await keepBusy(100, merged);
    expect(merged()).to.equal(true);
    await place.shipAll();
    const rows = await place.duck.rows(`SELECT order_ref FROM ${place.archive.createRowsSql(segments())}`);
    const asked = Array.from({ length: orders }, (_, index) => `order-${index + 1}`);
    expect(rows.map((row) => row['order_ref'])).to.have.members(asked);
  });

  it('removes what is past its retention', async () => {
    // The shipper's clock is an hour after T0.
    await keepBusy(20, () => segments().length === 0, 3_600_000 - 5);
    await place.shipper().step();
    expect(oldest()).to.be.above(T0 + 1);
  });

  it('ships new entries at least at every other step', async () => {
    const turns = await keepBusy(12, () => false);
    expect(turns.filter((turn) => turn === 'ship').length).to.be.at.least(6);
  });
});

describe('the files under DATA_DIR', () => {
  const usual = process.umask();
  before(() => process.umask(0));
  after(() => process.umask(usual));

  it('are for the user of the service alone: store, archive, filters, lease and rule sets', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    const archived = await ArchivedStore.open(
      openSqliteStore(dataDir, { salt: TEST_SALT }),
      join(dataDir, 'archive'),
    );
    const service = await startService({ store: archived.store });
    try {
      const shop = await service.tenant('shop');
      await shop.verdict({ clientIdKey: 'payer-1' });
      await shop.outcome('payer-1', 'order-1', 'PAID');
      const shelf = new ArchivedRuleSets(archived.archive.folder, dirname(RULES_FOLDER));
      await archived.shipAll(archived.shipper({ ruleSets: shelf, holder: 'tester' }));
      const kept = readdirSync(dataDir, { recursive: true }).map(String);
      for (const wanted of [/\.sqlite$/, /-wal$/, /\.parquet$/, /\.orders$/, /verdicts\.yaml$/])
        expect(
          kept.some((path) => wanted.test(path)),
          String(wanted),
        ).to.equal(true);
      expect(openToOthers(dataDir)).to.deep.equal([]);
    } finally {
      await service.stop();
      await archived.close();
    }
  });
});

const DAY_MS = 86_400_000;

describeWithServer('redis-server', 'a node whose clock jumps two years ahead', () => {
  it('keeps rows for ARCHIVE_KEEP by the clock of the store', async () => {
    const url = await emptyRedisUrl();
    let aheadMs = 0;
    const clock = () => readExactClock() + aheadMs;
    const right = await openPatiently(url);
    await verdict(right, newClient(), 'order-1', Date.now());
    await right.close();
    const place = await ArchivedStore.open(await openPatiently(url, { clock }));
    const shipping = { clock: createStoreClock(clock, place.store), keepMs: 400 * DAY_MS };
    try {
      await place.shipAll(place.shipper(shipping));
      aheadMs = 730 * DAY_MS;
      await place.shipAll(place.shipper(shipping));
      expect(place.archive.computeTotals().segments).to.equal(1);
    } finally {
      await place.close();
    }
  });
});

describeWithServer('redis-server', 'an entry of the journal that cannot be read', () => {
  let servers: RedisServers;
  let place: ArchivedStore;
  before(async () => {
    servers = await startStandalone();
    place = await ArchivedStore.open(await openRedisStore(servers.url, () => {}, { salt: TEST_SALT }));
  });
  after(async () => {
    await place.close();
    await servers.stop();
  });

  it('is set aside and named, while everything else is shipped and listed', async () => {
    const client = newClient();
    const { store, archive } = place;
    const port = servers.nodes[0]?.port ?? 0;
    const key = journalKey(getPartitionTag(client.hash));
    const add = (text: string) =>
      command(port, ['XADD', key, '*', 'entry', `${client.platform} ${client.hash} ${text}`]);
    await verdict(store, client, 'order-1');
    await add('z["of a newer version"]');
    await add('o[1,');
    await verdict(store, client, 'order-2');
    const reader = place.reader();
    const { entries, isWhole } = await reader.readHistory(client, null, 10);
    expect({ entries: entries.length, isWhole }).to.deep.equal({ entries: 2, isWhole: false });
    const found = await reader.findDecisions(client.platform, {}, 10);
    expect(found.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['order-2', 'order-1']);
    await place.shipAll();
    expect(archive.listSegments(archive.read(), { table: 'decisions' })[0]?.rows).to.equal(2);
    expect(archive.computeTotals().setAsideEntries).to.equal(2);
    const [newer, damaged] = readQuarantine(archive.folder);
    expect(newer?.text).to.equal('z["of a newer version"]');
    expect(newer?.why).to.equal('no journal entry is stored as z["of a newer version"]');
    expect(damaged?.text).to.equal('o[1,');
  });

  it('is forgotten with its client', async () => {
    const client = newClient();
    const port = servers.nodes[0]?.port ?? 0;
    await verdict(place.store, client, 'order-1');
    const key = journalKey(getPartitionTag(client.hash));
    await command(port, ['XADD', key, '*', 'entry', `${client.platform} ${client.hash} z`]);
    await place.shipAll();
    const before = readQuarantine(place.archive.folder).length;
    await place.store.erase(client);
    await place.shipAll();
    expect(readQuarantine(place.archive.folder)).to.have.length(before - 1);
  });

  it('whose record is damaged is set aside, too', async () => {
    const client = newClient();
    await verdict(place.store, client, 'order-1');
    await verdict(place.store, client, 'order-2');
    const port = servers.nodes[0]?.port ?? 0;
    const keys = await command(port, ['KEYS', `d:*${client.hash}.1`]);
    const [record] = Array.isArray(keys) ? keys.map(String) : [];
    await command(port, ['SET', record ?? '', '[no record']);
    const before = place.archive.computeTotals().setAsideEntries;
    await place.shipAll();
    expect(place.archive.computeTotals().setAsideEntries).to.equal(before + 1);
  });
});

const TODAY = '2026-11-21';

describe('the segments that are merged', () => {
  it('are those of a day that is over', () => {
    const day = [segment('a', '2026-11-20', 5), segment('b', '2026-11-20', 7)];
    expect(findNextMerge([...day, segment('c', '2026-11-19', 5)], TODAY)).to.deep.equal(day);
  });

  it("are today's once there are ten of about the same size", () => {
    const ten = Array.from({ length: 10 }, (_, index) => segment(`s-${index}`, TODAY, 10 + index));
    expect(findNextMerge(ten.slice(1), TODAY)).to.equal(null);
    expect(findNextMerge([...ten, segment('large', TODAY, 1000)], TODAY)).to.deep.equal(ten);
  });

  it("are today's small ones also beside ten that are as large as a segment may be", () => {
    const large = Array.from({ length: 10 }, (_, index) => segment(`l-${index}`, TODAY, 2_000_000));
    const small = Array.from({ length: 10 }, (_, index) => segment(`s-${index}`, TODAY, 5000));
    expect(findNextMerge(large, TODAY)).to.equal(null);
    expect(findNextMerge([...large, ...small], TODAY)).to.deep.equal(small);
  });

  it('are those of quiet days of a month that is over', () => {
    const [quiet, also] = [segment('a', '2026-10-03', 200), segment('b', '2026-10-31', 50_000)];
    expect(findNextMerge([quiet, also, segment('c', '2026-10-04', 50_001)], TODAY)).to.deep.equal([
      quiet,
      also,
    ]);
    for (const [day, other] of [
      ['2026-11-03', '2026-11-04'],
      ['2026-10-03', '2026-09-03'],
    ] as const)
      expect(findNextMerge([segment('a', day, 200), segment('b', other, 200)], TODAY)).to.equal(null);
  });

  it('are those of quiet days of erasures only when these name nobody any more', () => {
    const days = ['2026-10-03', '2026-10-04'].map((day) => ({
      ...segment(day, day, 3),
      table: 'erasures' as const,
    }));
    expect(findNextMerge(days, TODAY)).to.equal(null);
    const nameless = days.map((one) => ({ ...one, nameless: true as const }));
    expect(findNextMerge(nameless, TODAY)).to.deep.equal(nameless);
    const [first, second] = days.map((one) => ({ ...one, day: '2026-11-20' }));
    if (first === undefined || second === undefined) throw new Error('no segments');
    expect(findNextMerge([first, { ...second, nameless: true }], TODAY)).to.equal(null);
  });

  it('are never those of two platforms or tables', () => {
    const one = segment('a', '2026-10-03', 200);
    const others = [
      { ...one, name: 'b', platform: 'other' },
      { ...one, name: 'c', table: 'scores' } as const,
    ];
    expect(findNextMerge([one, ...others], TODAY)).to.equal(null);
  });

  it('have at most two million rows together', () => {
    const rows = { a: 1_500_000, b: 600_000, c: 9 };
    const day = Object.entries(rows).map(([name, some]) => segment(name, '2026-11-20', some));
    expect(findNextMerge(day, TODAY)?.map(({ name }) => name)).to.deep.equal(['c', 'b']);
  });

  it('are named by their day, or else by their month', () => {
    expect(getCommonDayOrMonth(['2026-10-03', '2026-10-03'])).to.equal('2026-10-03');
    expect(getCommonDayOrMonth(['2026-10-03', '2026-10-04'])).to.equal('2026-10');
    expect(getCommonDayOrMonth(['2026-10', '2026-10-04'])).to.equal('2026-10');
  });
});

function segment(name: string, day: string, rows: number): Segment {
  const when = { day, from: 0, to: 0, firstTick: 0, lastTick: 0 };
  return { table: 'decisions', platform: 'shop', ...when, name, rows, bytes: 1 };
}
