import { expect } from 'chai';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../../servers/redis.ts';
import { FLUSHED_AT_ONCE } from '../../../servers/redis-process.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { until } from '../../../servers/until.ts';
import { spawnService } from '../../../service/service-process.ts';
import { audit, note, shows } from './audit-process.ts';

describe('audit --follow over a restart', () => {
  it('continues with the entries of the next service on SQLite', async () => {
    const place = { dataDir: temporaryDirectory(), env: { ARCHIVE_DIR: 'off' } };
    const first = await spawnService(place.dataDir, place.env);
    const follower = audit(place, '--follow');
    await shows(follower, 'there was no key yet');
    first.signal('SIGKILL');
    await first.exited;
    const second = await spawnService(place.dataDir, place.env);
    await note(place, { reason: 'after the restart' });
    await shows(follower, '"after the restart"');
    follower.child.kill('SIGINT');
    expect([await follower.exited, follower.stderr()]).to.deep.equal([0, '']);
    expect(follower.stdout().match(/there was no key yet/g)).to.have.length(1);
    await second.stop();
  });

  describeWithServer('redis-server', 'on Redis', () => {
    let redis: RedisServers;
    before(async () => {
      redis = await startStandalone(FLUSHED_AT_ONCE);
    });
    after(() => redis.stop());

    it('says once that the store is away, and continues where it was', async () => {
      const place = { dataDir: temporaryDirectory(), env: { REDIS_URL: redis.url } };
      const [server] = redis.nodes;
      await note(place, { reason: 'before' });
      const follower = audit(place, '--follow');
      await shows(follower, '"before"');
      await server?.kill();
      await until('it says so', async () => follower.stderr().includes('The store does not answer'));
      await server?.restart();
      await note(place, { reason: 'after' });
      await shows(follower, '"after"');
      follower.child.kill('SIGINT');
      expect(await follower.exited).to.equal(0);
      expect(follower.stdout().match(/"before"|"after"/g)).to.deep.equal(['"before"', '"after"']);
      const said = follower.stderr().split('\n');
      expect(said.filter((line) => line.startsWith('The store answers again'))).to.deep.equal([
        'The store answers again; the command goes on where it stopped.',
      ]);
      expect(new Set(said).size, follower.stderr()).to.equal(said.length);
    });
  });
});
