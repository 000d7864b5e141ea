import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Segment } from '../../src/archive/archive-log.ts';
import { ArchiveReader } from '../../src/archive/read/archive-reader.ts';
import { type ExplorationAsk, explore } from '../../src/archive/read/exploration.ts';
import { type ClientKey, platformName } from '../../src/client/client-key.ts';
import { withEvidence } from '../../src/evidence/source/evidence.ts';
import { scoring } from '../cli/scoring.ts';
import { all } from '../evidence/source/lived-evidence.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { newClient, newPlatform, T0, verdict } from '../state/clients.ts';
import { ArchivedStore } from './archived-store.ts';

const platform = platformName('shop');

const ASKED: ExplorationAsk = {
  ...{ from: T0, to: T0 + 3_600_000, platform, by: 'verdict', verdict: null },
  ...{ filter: {}, against: null, asOf: null, money: true },
};

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe('the exploration of an archive of which one file is damaged', () => {
  let place: ArchivedStore;
  let reader: ArchiveReader;
  before(async () => {
    place = await ArchivedStore.open();
    reader = new ArchiveReader(place.archive.folder, place.store);
  });
  after(async () => {
    await reader?.close();
    await place?.close();
  });

  async function shipped(client: ClientKey, orderRef: string, at: number): Promise<void> {
    await verdict(place.store, client, orderRef, at, { amount: 25, currency: 'EUR' });
    await place.shipper().step();
  }

  it('counts each order once, and names what is missing', async () => {
    const payer = newClient(platform);
    await shipped(payer, 'twice', T0);
    await shipped(payer, 'twice', T0 + 1000);
    await shipped(payer, 'twice', T0 + 2000);
    await shipped(newClient(platform), 'elsewhere', T0 + 3000);
    const figures = async () => {
      const { all, values, unreadable, gaps } = await explore(reader, ASKED);
      const money = values[0]?.money['EUR'] ?? [];
      return { decisions: sum(all), money: sum(money), unreadable, gaps };
    };
    expect(await figures()).to.deep.equal({ decisions: 4, money: 50, unreadable: [], gaps: [] });
    const segments = place.archive.segments(place.archive.read(), { table: 'decisions' });
    const damaged = segments.find(({ to }) => to === T0 + 3000) ?? expect.fail('there is the last segment');
    writeFileSync(place.archive.pathOf(damaged), 'torn');
    expect(await figures()).to.deep.equal({
      ...{ decisions: 3, money: 25, gaps: [] },
      unreadable: [{ from: T0 + 3000, to: T0 + 3000, decisions: 1 }],
    });
  });

  it('reads the sound files by facts that none of them has', async () => {
    const other = newPlatform();
    await verdict(place.store, newClient(other), 'order', T0);
    await place.shipper().step();
    for (const filter of [{ amountMin: 10 }, { method: 'card' }]) {
      const { all, unreadable, gaps } = await explore(reader, { ...ASKED, platform: other, filter });
      expect([sum(all), unreadable, gaps]).to.deep.equal([0, [], []]);
    }
  });
});

/** What disk faults do to a file that keeps its length. */
const FAULTS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  'holds nothing': (bytes) => bytes.fill(0),
  'holds no list of its columns any more': (bytes) => bytes.fill(0xff, bytes.length - 400, bytes.length - 8),
  'holds rows that are damaged': (bytes) => bytes.fill(0, 4, Math.floor(bytes.length / 2)),
};

describe('a segment with a file of the right length', () => {
  for (const [fault, harmed] of Object.entries(FAULTS))
    describe(`and ${fault}`, () => {
      let place: ArchivedStore;
      let damaged: Segment;
      before(async () => {
        place = await ArchivedStore.open();
        for (const [orderRef, at] of [
          ['order-1', T0],
          ['order-2', T0 + 1000],
        ] as const) {
          await verdict(place.store, newClient(platform), orderRef, at);
          await place.shipper().step();
        }
        const segments = place.archive.segments(place.archive.read(), { table: 'decisions' });
        damaged =
          segments.find(({ to }) => to === T0) ?? expect.fail('there is the segment of the first order');
        const path = place.archive.pathOf(damaged);
        writeFileSync(path, harmed(readFileSync(path)));
      });
      after(() => place?.close());

      it('is left out of queries, which name it', async () => {
        const env = { ARCHIVE_DIR: place.archive.folder, DATA_DIR: temporaryDirectory(), REDIS_URL: '' };
        const sql = 'SELECT count(*) AS others FROM (SELECT DISTINCT * FROM decisions)';
        expect(await scoring(['archive', 'query', sql, '--format', 'csv'], env)).to.deep.equal({
          exitCode: 1,
          stdout: 'others\n1\n',
          stderr: `1 row of decisions is left out: decisions/platform=shop/day=${damaged.day}/${damaged.name}.parquet cannot be read; put the file back from a backup of the archive.\n`,
        });
      });

      it('is a gap in figures, which the other segments are used for', async () => {
        const ask = all({ kind: 'archive', folder: place.archive.folder });
        const read = await withEvidence(ask, async ({ duck, span }) => {
          const orders = await duck.rows('SELECT DISTINCT * FROM decisions');
          return { orders: orders.map((row) => row['order_ref']), gaps: span.gaps };
        });
        expect(read).to.deep.equal({
          orders: ['order-2'],
          gaps: [{ from: damaged.from, to: damaged.to, entries: 1 }],
        });
      });
    });
});
