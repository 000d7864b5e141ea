import { copyFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Archive } from '../../src/archive/archive.ts';
import type { Segment } from '../../src/archive/archive-log.ts';
import { platformName } from '../../src/client/client-key.ts';
import { withEvidence } from '../../src/evidence/source/evidence.ts';
import { verifyArchive } from '../../src/evidence/verify/verify-archive.ts';
import { scoring } from '../cli/scoring.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../service/current-rules.ts';
import { decisionFor, newClient, T0, verdict } from '../state/clients.ts';
import { ArchivedStore } from './archived-store.ts';

const platform = platformName('shop');

describe('a segment with a truncated file', () => {
  let place: ArchivedStore;
  let torn: Segment;
  let backup: string;
  beforeEach(async () => {
    place = await ArchivedStore.open();
    await shipped('order-1', T0);
    await shipped('order-2', T0 + 1000);
    backup = join(temporaryDirectory(), 'backup');
    await archive('backup', backup);
    const segments = place.archive.segments(place.archive.read(), { table: 'decisions' });
    torn = segments.find(({ to }) => to === T0) ?? expect.fail('there is the segment of the first order');
    truncateSync(place.archive.pathOf(torn), Math.floor(torn.bytes / 2));
  });
  afterEach(() => place.close());

  async function shipped(orderRef: string, at: number): Promise<void> {
    await verdict(place.store, newClient(platform), orderRef, at);
    await place.shipper().step();
  }

  const command =
    (name: string) =>
    (...args: readonly string[]) => {
      const env = { ARCHIVE_DIR: place.archive.folder, DATA_DIR: temporaryDirectory(), REDIS_URL: '' };
      return scoring([name, ...args], env);
    };
  const archive = command('archive');
  const decisions = command('decisions');

  const path = () => `decisions/platform=shop/day=${torn.day}/${torn.name}.parquet`;
  const told = () =>
    `1 row of decisions is left out: ${path()} cannot be read; put the file back from a backup of the archive.`;

  it('is left out of queries, which name it', async () => {
    expect(await archive('query', 'SELECT order_ref FROM decisions', '--format', 'csv')).to.deep.equal({
      exitCode: 1,
      stdout: 'order_ref\norder-2\n',
      stderr: `${told()}\n`,
    });
  });

  it('is named by status, which then ends with exit code 1', async () => {
    const { stdout, exitCode } = await archive('status');
    expect(stdout.split('\n')).to.include(told());
    const asJson = await archive('status', '--json');
    expect(JSON.parse(asJson.stdout).torn).to.deep.equal([torn]);
    expect([exitCode, asJson.exitCode]).to.deep.equal([1, 1]);
    copyFileSync(join(backup, path()), join(place.archive.folder, path()));
    expect((await archive('status')).exitCode).to.equal(0);
  });

  it('is named by status with how many clients were erased meanwhile', async () => {
    await place.store.erase(newClient(platform));
    await place.shipper().step();
    expect((await archive('status')).stdout.split('\n')).to.include(
      `${told()} It is read without the clients who were erased meanwhile (1), and rewritten without them.`,
    );
  });

  it('is named by commands that might have found something in it', async () => {
    const at = new Date(T0).toISOString();
    const unread = `1 decision from ${at} to ${at} lies in a file of the archive that cannot be read; archive status or archive verify names it.`;
    const { decisionId } = decisionFor(newClient(platform), 1, 'order-1', T0);
    for (const [args, what] of [
      [['find', '--order', 'order-1', '--platform', platform], 'there are any about order "order-1"'],
      [['explain', decisionId], `there is a decision "${decisionId}"`],
    ] as const) {
      const { exitCode, stdout, stderr } = await decisions(...args);
      expect([exitCode, stdout]).to.deep.equal([1, '']);
      expect(stderr.split('\n')).to.include(`Whether ${what} is not known: ${unread}`);
      expect(stderr).not.to.include('is kept').and.not.to.include('retention');
    }
    expect((await decisions('find', '--order', 'order-2', '--platform', platform)).exitCode).to.equal(0);
  });

  it('is a gap in all figures of its time', async () => {
    const ask = {
      place: { kind: 'archive', folder: place.archive.folder },
      from: null,
      to: null,
      platform: null,
    } as const;
    const span = await withEvidence(ask, async (evidence) => evidence.span);
    expect(span.decisions).to.equal(1);
    expect(span.gaps).to.deep.equal([{ from: torn.from, to: torn.to, entries: 1 }]);
    const elsewhere = { ...ask, platform: platformName('other') };
    expect((await withEvidence(elsewhere, async (evidence) => evidence.span)).gaps).to.deep.equal([]);
  });

  it('does not prevent merging the whole ones of its day', async () => {
    await shipped('order-3', T0 + 2000);
    const aDayLater = place.shipper({ clock: () => T0 + 24 * 3_600_000 });
    await place.shipAll(aDayLater);
    const segments = place.archive.segments(place.archive.read(), { table: 'decisions' });
    expect(segments.map(({ rows, name }) => [rows, name === torn.name])).to.have.deep.members([
      [2, false],
      [1, true],
    ]);
  });

  it('blocks neither shipping nor removing an erased client from the whole ones', async () => {
    const client = newClient(platform);
    await verdict(place.store, client, 'order-3', T0 + 2000);
    await place.shipper().step();
    await place.store.erase(client);
    await shipped('order-4', T0 + 3000);
    const found = await archive('query', 'SELECT order_ref FROM decisions ORDER BY ALL', '--format', 'csv');
    expect(found.stdout).to.equal('order_ref\norder-2\norder-4\n');
    expect(await place.store.unshippedErasures()).to.deep.equal([]);
  });

  it('is reported by verify', async () => {
    const { unreadable } = await verifyArchive({
      archiveDir: place.archive.folder,
      rulesDir: RULES_FOLDER,
      from: null,
      to: null,
      threads: 1,
      onProgress: () => {},
    });
    expect(unreadable).to.deep.equal([torn.name]);
  });

  it('does not replace its copy in a backup, and is whole again once that is restored', async () => {
    const { exitCode, stderr } = await archive('backup', backup);
    expect([exitCode, stderr]).to.deep.equal([
      1,
      `${path()} was cut off or is gone. The backup has it from before: copy it back into the archive.\n`,
    ]);
    copyFileSync(join(backup, path()), join(place.archive.folder, path()));
    expect(await new Archive(place.archive.folder).torn(place.archive.read())).to.deep.equal([]);
    expect((await archive('backup', backup)).exitCode).to.equal(0);
  });

  it('is missing from a backup that never had it, which says so', async () => {
    rmSync(place.archive.pathOf(torn));
    const { exitCode, stderr } = await archive('backup', join(temporaryDirectory(), 'another'));
    expect([exitCode, stderr]).to.deep.equal([
      1,
      `${path()} was cut off or is gone. No backup here has it: its 1 row is missing from now on.\n`,
    ]);
  });
});
