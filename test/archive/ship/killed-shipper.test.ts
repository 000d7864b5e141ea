import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Archive } from '../../../src/archive/archive.ts';
import { Duck } from '../../../src/archive/duck.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { SCORING } from '../../cli/scoring.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { startNode } from '../../processes/node-process.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { newClient, newPlatform, verdict } from '../../state/clients.ts';

const KILLS = 8;

describe('a shipper that is killed again and again', () => {
  it('puts every decision into the archive exactly once', async function () {
    this.timeout(180_000);
    const dataDir = temporaryDirectory();
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const platform = newPlatform();
    const ids: string[] = [];
    const env = { DATA_DIR: dataDir, ARCHIVE_KEEP: '9000d', REDIS_URL: '', NO_COLOR: '1' };
    for (let round = 0; round <= KILLS; round += 1) {
      const shipper = startNode([SCORING, 'archive', 'ship'], { env: env });
      for (let count = 0; count < 40; count += 1)
        ids.push((await verdict(store, newClient(platform), 'order', Date.now())).decisionId);
      // Anywhere from before its first step to after it; the lease of a dead shipper would outlast the round.
      await sleep(400 + 250 * round);
      shipper.child.kill('SIGKILL');
      await shipper.exited;
      await store.registers
        .read('archive-lease')
        .then((held) =>
          store.registers.compareAndSet('archive-lease', held, JSON.stringify({ holder: null, renewals: 0 })),
        );
    }
    const last = startNode([SCORING, 'archive', 'ship'], { env: env });
    const archive = new Archive(join(dataDir, 'archive'));
    await shipped(archive, ids.length);
    last.child.kill('SIGTERM');
    await last.exited;
    expect(await archivedIds(archive, dataDir)).to.equal(ids.length);
    await store.close();
  });
});

async function shipped(archive: Archive, rows: number): Promise<void> {
  const count = () =>
    archive.segments(archive.read(), { table: 'decisions' }).reduce((sum, segment) => sum + segment.rows, 0);
  while (count() < rows) await sleep(100);
}

/** How many rows there are when no decision is there twice. */
async function archivedIds(archive: Archive, folder: string): Promise<number> {
  const duck = await Duck.open({ threads: 1, memoryMiB: 256, temporaryFolder: join(folder, 'spill') });
  const source = archive.source(archive.segments(archive.read(), { table: 'decisions' }));
  const [row] = await duck.rows(
    `SELECT count(*) AS n, count(DISTINCT client_hash::VARCHAR || '.' || seq) AS d FROM ${source}`,
  );
  duck.close();
  expect(row?.['d']).to.equal(row?.['n']);
  return Number(row?.['n']);
}
