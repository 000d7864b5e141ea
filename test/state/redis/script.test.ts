import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { connectRedis, type RedisConnection } from '../../../src/state/redis/connection/connection.ts';
import { parseRedisUrl } from '../../../src/state/redis/connection/url.ts';
import { keyCountOf, RedisScript } from '../../../src/state/redis/script.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';

const SCRIPTS = new URL('../../../src/state/redis/scripts/', import.meta.url);

describe('the Lua scripts', () => {
  const files = readdirSync(SCRIPTS);
  for (const file of files) {
    it(`${file} uses as many keys as its name says`, () => {
      const source = readFileSync(new URL(file, SCRIPTS), 'utf8');
      const numbers = [...source.matchAll(/KEYS\[(\d+)\]/g)].map(([, number]) => Number(number));
      const used = numbers.length === 0 ? null : Math.max(...numbers);
      expect(keyCountOf(file)).to.equal(used);
    });
  }
});

describeWithServer('redis-server', 'a Lua script', () => {
  let servers: RedisServers;
  let connection: RedisConnection;
  before(async () => {
    servers = await startStandalone();
    connection = await connectRedis(parseRedisUrl(servers.url), () => {});
  });
  after(async () => {
    await connection.close();
    await servers.stop();
  });

  it('is refused with another number of keys than its name says', async () => {
    const script = new RedisScript('load-2.lua');
    const failure = await script.run(connection.commands, ['a'], []).catch((error: unknown) => error);
    expect(failure)
      .to.be.instanceOf(Error)
      .with.property('message', 'load-2.lua takes 2 keys and was given 1');
  });

  it('runs on a server that does not know it yet', async () => {
    const script = new RedisScript('load-2.lua');
    const reply = await script.run(connection.commands, ['a', 'b'], ['', '', '']);
    expect(reply).to.be.an('array').with.length(3);
  });
});
