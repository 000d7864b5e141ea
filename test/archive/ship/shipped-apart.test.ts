import { join } from 'node:path';
import { expect } from 'chai';
import { Archive } from '../../../src/archive/archive.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { SCORING } from '../../cli/scoring.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { startNode } from '../../processes/node-process.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { spawnService } from '../../service/service-process.ts';
import { newClient, verdict } from '../../state/clients.ts';

describe('a service with ARCHIVE_SHIP=off', function () {
  this.timeout(120_000);

  it('leaves the journal to "archive ship", and shows how far that is behind', async () => {
    const dataDir = temporaryDirectory();
    const service = await spawnService(dataDir, { ARCHIVE_SHIP: 'off' });
    const gauges = async () => {
      const text = await (await fetch(`${service.platformUrl}/metrics`)).text();
      const shown = [...text.matchAll(/^scoring_(?:archive|journal)_(\w+)(?:\{.*\})? (\S+)$/gm)];
      return Object.fromEntries(shown.map(([, name = '', value]) => [name, Number(value)]));
    };
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    await verdict(store, newClient(), 'order', Date.now() - 60_000);
    expect(Object.keys(await gauges())).to.have.members([
      'lag_seconds',
      'segments',
      'bytes',
      'gap_entries',
      'set_aside_entries',
      'entries',
    ]);
    expect((await gauges())['lag_seconds']).to.be.at.least(60);
    const shipper = startNode([SCORING, 'archive', 'ship'], { env: { DATA_DIR: dataDir, REDIS_URL: '' } });
    await until('it is shipped', async () => (await gauges())['lag_seconds'] === 0, 60_000);
    expect((await gauges())['segments']).to.equal(1);
    expect(new Archive(join(dataDir, 'archive')).contents().segments).to.equal(1);
    shipper.child.kill('SIGTERM');
    await shipper.exited;
    await service.stop();
    await store.close();
  });
});
