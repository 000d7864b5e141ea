import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Segment } from '../../src/archive/archive-log.ts';
import { platformName } from '../../src/client/client-key.ts';
import { withEvidence } from '../../src/evidence/source/evidence.ts';
import { scoring } from '../cli/scoring.ts';
import { all } from '../evidence/source/lived-evidence.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { newClient, T0, verdict } from '../state/clients.ts';
import { ArchivedStore } from './archived-store.ts';

const platform = platformName('shop');

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
