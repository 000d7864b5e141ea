import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { type EvidenceAsk, withEvidence } from '#history/evidence/source/evidence.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { verifyArchivedDecisions } from '#workbench/verify/verify-archive.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { decisionFor, newClient, T0, verdict } from '../../state/clients.ts';
import { scoring } from '../../workbench/commands/scoring.ts';
import { all } from '../evidence/source/recorded-evidence.ts';
import { ArchivedStore } from './archived-store.ts';

const platform = toPlatformName('shop');

/** What disk faults do to a file. */
const FAULTS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  'was cut off': (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2)),
  'holds nothing': (bytes) => bytes.fill(0),
  'holds no list of its columns any more': (bytes) => bytes.fill(0xff, bytes.length - 400, bytes.length - 8),
  'holds rows that are damaged': (bytes) => bytes.fill(0, 4, Math.floor(bytes.length / 2)),
};

describe('a segment with a file', () => {
  let place: ArchivedStore;
  let damaged: Segment;
  beforeEach(async () => {
    place = await ArchivedStore.open();
    await shipped('order-1', T0);
    await shipped('order-2', T0 + 1000);
    const segments = place.archive.listSegments(place.archive.read(), { table: 'decisions' });
    damaged = segments.find(({ to }) => to === T0) ?? expect.fail('there is the segment of the first order');
  });
  afterEach(() => place?.close());

  async function shipped(orderRef: string, at: number): Promise<void> {
    await verdict(place.store, newClient(platform), orderRef, at);
    await place.shipper().step();
  }

  /** With a store that knows nothing of what is archived. */
  const emptied = temporaryDirectory();
  before(() => openSqliteStore(emptied, { salt: TEST_SALT }).close());
  const run = (...args: readonly string[]) => {
    const env = { ARCHIVE_DIR: place.archive.folder, DATA_DIR: emptied, REDIS_URL: '' };
    return scoring(args, env);
  };
  const path = () => `decisions/platform=shop/day=${damaged.day}/${damaged.name}.parquet`;
  const told = () =>
    `1 row of decisions is left out: ${path()} cannot be read; put the file back from a backup of the archive.`;

  for (const [fault, harmed] of Object.entries(FAULTS))
    it(`that ${fault} is left out of queries, and is a gap in figures, which the others are used for`, async () => {
      const file = place.archive.getSegmentPath(damaged);
      writeFileSync(file, harmed(readFileSync(file)));
      const sql = 'SELECT count(*) AS others FROM (SELECT DISTINCT * FROM decisions)';
      expect(await run('archive', 'query', sql, '--format', 'csv')).to.deep.equal({
        exitCode: 1,
        stdout: 'others\n1\n',
        stderr: `${told()}\n`,
      });
      const read = (ask: Partial<EvidenceAsk>) =>
        withEvidence(
          { ...all({ kind: 'archive', folder: place.archive.folder }), ...ask },
          async ({ duck, span }) => {
            const orders = await duck.rows('SELECT DISTINCT * FROM decisions');
            return { orders: orders.map((row) => row['order_ref']), gaps: span.gaps };
          },
        );
      const gaps = [{ from: damaged.from, to: damaged.to, entries: 1 }];
      expect(await read({})).to.deep.equal({ orders: ['order-2'], gaps });
      expect(await read({ platform: toPlatformName('other') })).to.deep.equal({ orders: [], gaps: [] });
    });

  describe('that was cut off', () => {
    let backup: string;
    beforeEach(async () => {
      backup = join(temporaryDirectory(), 'backup');
      await run('archive', 'backup', backup);
      truncateSync(place.archive.getSegmentPath(damaged), Math.floor(damaged.bytes / 2));
    });
    const putBack = () => copyFileSync(join(backup, path()), join(place.archive.folder, path()));

    it('is named by status, which then ends with exit code 1, with how many were erased meanwhile', async () => {
      const { stdout, exitCode } = await run('archive', 'status');
      expect(stdout.split('\n')).to.include(told());
      const asJson = await run('archive', 'status', '--json');
      expect(JSON.parse(asJson.stdout).torn).to.deep.equal([damaged]);
      expect([exitCode, asJson.exitCode]).to.deep.equal([1, 1]);
      await place.store.erase(newClient(platform));
      await place.shipper().step();
      expect((await run('archive', 'status')).stdout.split('\n')).to.include(
        `${told()} It is read without clients who were erased meanwhile (1), and rewritten without them.`,
      );
      putBack();
      expect((await run('archive', 'status')).exitCode).to.equal(0);
    });

    it('is named by commands that might have found something in it', async () => {
      const at = new Date(T0).toISOString();
      const unread = `1 decision from ${at} to ${at} lies in a file of the archive that cannot be read; archive status or archive verify names it.`;
      const { decisionId } = decisionFor(newClient(platform, 'ann'), 1, 'order-1', T0);
      const find = (order: string) => ['find', '--order', order, '--platform', platform];
      for (const [args, what] of [
        [find('order-1'), 'there are any about order "order-1"'],
        [['explain', decisionId], `there is a decision "${decisionId}"`],
      ] as const) {
        const { exitCode, stdout, stderr } = await run('decisions', ...args);
        expect([exitCode, stdout]).to.deep.equal([1, '']);
        expect(stderr.split('\n')).to.include(`Whether ${what} is not known: ${unread}`);
        expect(stderr).not.to.include('is kept').and.not.to.include('retention');
      }
      expect((await run('decisions', ...find('order-2'))).exitCode).to.equal(0);
    });

    it('is reported by verify, unless it lies outside the span that is verified', async () => {
      const unreadable = async (from: number | null, to: number | null) => {
        const ask = {
          archiveDir: place.archive.folder,
          rulesDir: RULES_FOLDER,
          signalSecrets: [],
          threads: 1,
        };
        const verified = await verifyArchivedDecisions({ ...ask, from, to, onProgress: () => {} });
        return verified.unreadable;
      };
      expect(await unreadable(null, null)).to.deep.equal([damaged.name]);
      expect(await unreadable(damaged.to, damaged.from)).to.deep.equal([damaged.name]);
      expect(await unreadable(damaged.to + 1, null)).to.deep.equal([]);
      expect(await unreadable(null, damaged.from - 1)).to.deep.equal([]);
    });

    it('does not replace its copy in a backup, which one that never had it says, and is whole once it is put back', async () => {
      const backedUp = async (folder: string) => {
        const { exitCode, stderr } = await run('archive', 'backup', folder);
        return [exitCode, stderr];
      };
      const gone = `${path()} was cut off or is gone.`;
      expect(await backedUp(backup)).to.deep.equal([
        1,
        `${gone} The backup still has it: copy it back into the archive.\n`,
      ]);
      rmSync(place.archive.getSegmentPath(damaged));
      expect(await backedUp(join(temporaryDirectory(), 'another'))).to.deep.equal([
        1,
        `${gone} This backup does not have it: its 1 row is missing from now on.\n`,
      ]);
      putBack();
      expect(await new Archive(place.archive.folder).findTornSegments(place.archive.read())).to.deep.equal(
        [],
      );
      expect(await backedUp(backup)).to.deep.equal([0, '']);
    });
  });
});
