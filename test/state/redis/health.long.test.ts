import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { readExactClock } from '#base/clock.ts';
import { connectRedis, type RedisConnection } from '#state/redis/connection/connection.ts';
import { RoundTrips, ServerCalls } from '#state/redis/connection/server-calls.ts';
import { parseRedisUrl } from '#state/redis/connection/url.ts';
import { RedisHealth } from '#state/redis/health.ts';
import { ServerClocks } from '#state/redis/server-clocks.ts';
import { openRedisStore } from '#state/redis/store.ts';
import type { Store } from '#state/store.ts';
import { type RunCall, StoreUnavailable } from '#state/store-errors.ts';
import { isFitToServe, listHealthProblems } from '#workbench/upkeep/store-watch.ts';
import { makeEvict } from '../../servers/evicting-redis.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { NO_FAILOVER_MS, type RedisServers, startCluster, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { APPEND_ONLY } from '../../servers/redis-process.ts';
import { startUnrulyProxy } from '../../servers/unruly-proxy.ts';
import { until } from '../../servers/until.ts';
import { AS_PROMISED, openPatiently } from '../../stores/temporary-store.ts';

const IGNORED = () => {};

describeWithServer('redis-server', 'the health of Redis', () => {
  let servers: RedisServers;
  let store: Store;
  const port = () => servers.nodes[0]?.port ?? 0;
  const set = (name: string, value: string) => command(port(), ['CONFIG', 'SET', name, value]);
  const texts = async () => listHealthProblems(await store.check());
  const checkedAnew = async (url = servers.url) => {
    const another = await openPatiently(url);
    return another.check().finally(() => another.close());
  };

  beforeEach(async () => {
    servers = await startStandalone(APPEND_ONLY);
    store = await openPatiently(servers.url, AS_PROMISED);
  });
  afterEach(async () => {
    for (const node of servers.nodes) node.resume();
    await store.close();
    await servers.stop();
  });

  it('is good when writes work and every promise is kept', async () => {
    expect(await texts()).to.deep.equal([]);
    expect(isFitToServe(await store.check())).to.equal(true);
  });

  for (const [title, setting, told] of [
    ['too few replicas take part', 'min-replicas-to-write', 'NOREPLICAS Not enough good replicas to write'],
    ['there is no memory left', 'maxmemory', "OOM command not allowed when used memory > 'maxmemory'"],
  ] as const)
    it(`says that ${title}`, async () => {
      await set(setting, '1');
      expect(isFitToServe(await store.check())).to.equal(false);
      expect((await texts())[0]).to.equal(`The clients on ${store.name} get 503: ${told}.`);
      await set(setting, '0');
      expect(await texts()).to.deep.equal([]);
    });

  it('says that a replica takes no writes', async () => {
    const other = await startStandalone();
    try {
      await command(port(), ['REPLICAOF', '127.0.0.1', String(other.nodes[0]?.port)]);
      const health = await store.check();
      expect(isFitToServe(health)).to.equal(false);
      // The next check may come during the reconnect.
      expect(listHealthProblems(health)[0]).to.match(
        /get 503: (READONLY You can't write against a read only replica|MASTERDOWN|LOADING)/,
      );
    } finally {
      await other.stop();
    }
  });

  it('says that Redis hangs', async () => {
    servers.nodes[0]?.suspend();
    expect(await texts()).to.deep.equal([
      `The clients on ${store.name} get 503: ${store.name} did not answer within 200 ms.`,
    ]);
  });

  it('warns of settings with which the promises cannot be kept', async () => {
    await set('maxmemory-policy', 'allkeys-lru');
    await set('appendonly', 'no');
    const health = await checkedAnew();
    expect(isFitToServe(health)).to.equal(true);
    expect(listHealthProblems(health)).to.deep.equal([
      `${store.name} has maxmemory-policy allkeys-lru: when memory runs out it evicts payers, who then look new; set noeviction.`,
      `${store.name} has no append-only file, so a restart loses acknowledged verdicts; set appendonly yes.`,
    ]);
  });

  it('says how much of its memory is used, and warns before it is full', async () => {
    const [bounded] = await store.check();
    expect(bounded).not.to.have.property('memoryUsedShare');
    const used = Number(/used_memory:(\d+)/.exec(String(await command(port(), ['INFO', 'memory'])))?.[1]);
    await set('maxmemory', String(Math.round(used * 1.1)));
    const health = await checkedAnew();
    expect(health[0]?.memoryUsedShare).to.be.within(0.86, 1.1);
    expect(listHealthProblems(health)).to.include(
      `${store.name} has used more than 85 % of its maxmemory: when it is full, every verdict gets 503; give it more memory.`,
    );
  });

  it('says in one sentence what a server that forgets keys will do, does and did', async () => {
    const used = Number(/used_memory:(\d+)/.exec(String(await command(port(), ['INFO', 'memory'])))?.[1]);
    await set('maxmemory-policy', 'volatile-ttl');
    await set('maxmemory', String(Math.round(used * 1.1)));
    expect(listHealthProblems(await checkedAnew())).to.deep.equal([
      `${store.name} has maxmemory-policy volatile-ttl and has used more than 85 % of its maxmemory: soon it evicts payers, who then look new; give it more memory, then set noeviction.`,
    ]);
    await set('maxmemory', '0');
    await makeEvict(port());
    const [evicting] = await checkedAnew();
    expect(evicting?.evictedKeys).to.be.above(0);
    const lost = 'payers among them look new, and callers whose access key is among them get 503';
    expect(listHealthProblems(evicting === undefined ? [] : [evicting])).to.deep.equal([
      `${store.name} has maxmemory-policy volatile-ttl and has evicted keys: ${lost}; give it more memory, then set noeviction.`,
    ]);
    await set('maxmemory', '0');
    await set('maxmemory-policy', 'noeviction');
    expect(listHealthProblems(await checkedAnew())).to.deep.equal([
      `${store.name} has evicted keys since it started, because its maxmemory was reached: ${lost}; restore a backup if they matter, and end this warning with "redis-cli CONFIG RESETSTAT".`,
    ]);
    await command(port(), ['CONFIG', 'RESETSTAT']);
    expect(listHealthProblems(await checkedAnew())).to.deep.equal([]);
  });

  it('checks the settings where CONFIG is forbidden, and says what it cannot check where INFO is, too', async () => {
    const user = ['ACL', 'SETUSER', 'managed', 'on', '>secret', '~*', '+@all', '-config'];
    await command(port(), user);
    const url = servers.url.replace('//', '//managed:secret@');
    expect(listHealthProblems(await checkedAnew(url))).to.deep.equal([]);
    await command(port(), [...user, '-info']);
    expect(listHealthProblems(await checkedAnew(url))).to.deep.equal([
      `${store.name} does not report its version, maxmemory-policy, appendonly, so it could not be checked whether it may lose data; allow INFO, or check it yourself.`,
    ]);
  });

  for (const [ahead, side] of [
    [15_000, 'ahead of'],
    [-600_000, 'behind'],
  ] as const) {
    it(`warns that the clock of this node is ${Math.abs(ahead) / 1000} s ${side} the store's, and corrects it`, async () => {
      const skewed = await openPatiently(servers.url, { clock: () => readExactClock() + ahead });
      expect(skewed.clockOffsetMs()).to.be.within(-ahead - 1000, -ahead + 1);
      const [warning] = listHealthProblems(await skewed.check());
      const seconds = (Math.abs(ahead) / 1000).toFixed(1);
      expect(warning).to.equal(
        `The clock of this node is ${seconds} s ${side} that of ${store.name}; the store's clock decides. Set both by NTP.`,
      );
      await skewed.close();
    });
  }
});

describeWithServer(
  'redis-server',
  'the health of a Redis Cluster of which one node reaches two masters',
  () => {
    let servers: RedisServers;
    const nodes: CutOff[] = [];
    before(async () => {
      servers = await startCluster(NO_FAILOVER_MS);
    });
    beforeEach(async () => {
      nodes.push(await CutOff.open(servers.url), await CutOff.open(servers.url));
    });
    afterEach(async () => {
      for (const node of nodes.splice(0)) await node.close();
    });
    after(() => servers.stop());

    it('is bad there once another node has reached all of them later, and good again when it reaches them', async () => {
      const [cut, well] = both();
      const master = cut.cutOff(0);
      expect(isFitToServe(await cut.health.check())).to.equal(true);
      await well.health.check();
      expect(isFitToServe(await cut.health.check())).to.equal(true);
      await until('the other one has looked later', async () => {
        await well.health.check();
        return !isFitToServe(await cut.health.check());
      });
      expect(listHealthProblems(await cut.health.check()).slice(0, 2)).to.deep.equal([
        `The clients on ${master} get 503: it is cut off.`,
        `Another node reaches ${master}: see to the network of this one.`,
      ]);
      expect(isFitToServe(await well.health.check())).to.equal(true);
      cut.cutOff(null);
      expect(isFitToServe(await cut.health.check())).to.equal(true);
    });

    it('is good on all nodes where none reaches all masters, because somebody has to serve', async () => {
      const [one, other] = both();
      one.cutOff(0);
      other.cutOff(1);
      const seen: boolean[] = [];
      for (let look = 0; look < 8; look++) {
        for (const { health } of nodes) seen.push(isFitToServe(await health.check()));
        await sleep(500);
      }
      expect(new Set(seen)).to.deep.equal(new Set([true]));
    });

    function both(): readonly [CutOff, CutOff] {
      const [one, other] = nodes;
      if (one === undefined || other === undefined) throw new Error('two nodes are started');
      return [one, other];
    }
  },
);

/** A node whose connection to one of the servers can be cut. */
class CutOff {
  readonly health: RedisHealth;
  readonly #connection: RedisConnection;
  #cut: string | null = null;

  static async open(url: string): Promise<CutOff> {
    return new CutOff(await connectRedis(parseRedisUrl(url), IGNORED));
  }

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    const calls = new ServerCalls(connection, new RoundTrips(), () => 5000);
    const onServer = (node: string): RunCall => (node === this.#cut ? cutOff : calls.onServer(node));
    const on = (key: string) => onServer(connection.serverOf(key));
    this.health = new RedisHealth(
      connection,
      { on, onServer },
      new ServerClocks(connection, readExactClock),
      {
        strangerOn: async () => null,
        refusal: () => null,
        recheck: async () => {},
      },
    );
  }

  /** Cuts the connection to one server, by its number; gives its name. */
  cutOff(number: number | null): string {
    this.#cut = number === null ? null : (this.#connection.servers()[number] ?? null);
    return `Redis at ${this.#cut}`;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

const cutOff: RunCall = () => Promise.reject(new StoreUnavailable('it is cut off'));

describeWithServer('redis-server', 'a Redis that is too old', () => {
  it('is refused, with what to do', async () => {
    const servers = await startStandalone();
    const proxy = await startUnrulyProxy(servers.nodes[0]?.port ?? 0);
    proxy.meddle((piece) => {
      const text = piece.toString('latin1').replace(/redis_version:\d/, 'redis_version:6');
      return Buffer.from(text, 'latin1');
    });
    const failure = await openRedisStore(`redis://127.0.0.1:${proxy.port}`, IGNORED).catch(String);
    await proxy.stop();
    await servers.stop();
    expect(failure).to.match(
      /^StoreUnavailable: Redis at 127\.0\.0\.1:\d+ is version 6\.0\.\d+, and 7\.0 or newer is needed; upgrade it, or set REDIS_URL to another$/,
    );
  });
});
