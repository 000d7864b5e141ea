import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { openArchive } from '#history/archive/s3/open-archive.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { startNode } from '../../../processes/node-process.ts';
import { s3Environment, s3Place, startS3 } from '../../../servers/s3.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { newClient, newPlatform, verdict } from '../../../state/clients.ts';
import { SCORING } from '../../../workbench/commands/scoring.ts';

const KILLS = 4;

describe('a shipper that is killed again and again', function () {
  this.timeout(180_000);

  it('puts every decision into a folder exactly once', () => {
    const dataDir = temporaryDirectory();
    return killAndCount(dataDir, {}, () => new Archive(join(dataDir, 'archive')));
  });

  it('puts every decision into S3 exactly once', async () => {
    const server = await startS3();
    try {
      const place = () => ({ archiveDir: temporaryDirectory(), archiveS3: s3Place(server.port, 'years') });
      const settings = s3Environment(server.port, 'years');
      await killAndCount(temporaryDirectory(), settings, ({ registers }) => openArchive(place(), registers));
    } finally {
      await server.stop();
    }
  });
});

async function killAndCount(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  open: (store: Store) => Archive,
): Promise<void> {
  const store = openSqliteStore(dataDir, { salt: TEST_SALT });
  const platform = newPlatform();
  const ids: string[] = [];
  const env = { DATA_DIR: dataDir, ARCHIVE_KEEP: '9000d', REDIS_URL: '', NO_COLOR: '1', ...settings };
  for (let round = 0; round <= KILLS; round += 1) {
    const shipper = startNode([SCORING, 'archive', 'ship'], { env: env });
    for (let count = 0; count < 40; count += 1)
      ids.push((await verdict(store, newClient(platform), 'order', Date.now())).decisionId);
    // Before, during or after its first step; later the lease of a dead shipper would outlast the round.
    await sleep(400 + 500 * round);
    shipper.child.kill('SIGKILL');
    await shipper.exited;
    await store.registers
      .read('archive-lease')
      .then((held) =>
        store.registers.compareAndSet('archive-lease', held, JSON.stringify({ holder: null, renewals: 0 })),
      );
  }
  const last = startNode([SCORING, 'archive', 'ship'], { env: env });
  const archive = open(store);
  await shipped(archive, ids.length);
  last.child.kill('SIGTERM');
  await last.exited;
  expect(await archivedIds(archive, dataDir)).to.equal(ids.length);
  await store.close();
}

async function shipped(archive: Archive, rows: number): Promise<void> {
  const count = async () =>
    archive
      .listSegments(await archive.refresh(), { table: 'decisions' })
      .reduce((sum, segment) => sum + segment.rows, 0);
  while ((await count()) < rows) await sleep(100);
}

/** The number of rows; fails when a decision is there twice. */
async function archivedIds(archive: Archive, folder: string): Promise<number> {
  const duck = await QueryEngine.open({ threads: 1, memoryMiB: 256, temporaryFolder: join(folder, 'spill') });
  const segments = archive.listSegments(archive.read(), { table: 'decisions' });
  expect(await archive.makeReadable(segments)).to.deep.equal([]);
  const source = archive.createRowsSql(segments);
  const [row] = await duck.rows(
    `SELECT count(*) AS n, count(DISTINCT client_hash::VARCHAR || '.' || seq) AS d FROM ${source}`,
  );
  duck.close();
  expect(row?.['d']).to.equal(row?.['n']);
  return Number(row?.['n']);
}
