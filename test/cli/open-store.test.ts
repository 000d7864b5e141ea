import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { spawnService } from '../service/service-process.ts';
import { scoring } from './scoring.ts';

describe('a command on a new store', () => {
  it('says once which store it made, because REDIS_URL may have been forgotten', async () => {
    const env = { DATA_DIR: join(temporaryDirectory(), 'data') };
    const first = await scoring(['keys', 'list'], env);
    const path = join(env.DATA_DIR, 'scoring.sqlite');
    expect([first.exitCode, first.stderr]).to.deep.equal([
      0,
      `The store is sqlite ${path}: it was made just now, because REDIS_URL is not set.\n`,
    ]);
    expect((await scoring(['keys', 'list'], env)).stderr).to.equal('');
  });

  it('made by a service finds the demo key, which expires within a day and is audited', async () => {
    const dataDir = temporaryDirectory();
    const service = await spawnService(dataDir, { ARCHIVE_DIR: 'off' });
    // It serves before it prints its greeting.
    await until('the key is shown', async () => service.stdout().includes('It expires in 24 hours.'));
    const { stdout } = await scoring(['keys', 'list', '--json'], { DATA_DIR: dataDir });
    const audit = await scoring(['audit', '--json'], { DATA_DIR: dataDir });
    await service.stop();
    const [key, ...others] = JSON.parse(stdout);
    expect(others).to.deep.equal([]);
    expect(key).to.include({ platform: 'demo', status: 'live' });
    expect(Date.parse(key.expiresAt) - Date.parse(key.issuedAt)).to.equal(24 * 3600_000);
    const noted = audit.stdout.split('\n').filter((line) => line.includes('"key issued"'));
    expect(noted.map((line) => JSON.parse(line).who)).to.deep.equal(['service']);
  });
});
