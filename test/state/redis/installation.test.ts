import { expect } from 'chai';
import { DOCUMENTS_TAG, getPartitionTag, installationKey, PARTITION_TAGS, registerKey } from '#state/keys.ts';
import { openRedisStore } from '#state/redis/store.ts';
import type { Store } from '#state/store.ts';
import { isFitToServe, listHealthProblems } from '#workbench/upkeep/store-watch.ts';
import { makeEvict } from '../../servers/evicting-redis.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { NO_FAILOVER_MS, type RedisServers, startCluster, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { APPEND_ONLY } from '../../servers/redis-process.ts';
import { startUnrulyProxy, type UnrulyProxy } from '../../servers/unruly-proxy.ts';
import { until } from '../../servers/until.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { newClient, verdict } from '../clients.ts';

const REMEDY = 'restore the known store, or accept this one: "state accept-empty --reason TEXT"';

describeWithServer('redis-server', 'the installation that masters belong to', () => {
  let servers: RedisServers;
  const port = () => servers.nodes[0]?.port ?? 0;
  const ids = async () => {
    const members = PARTITION_TAGS.map((one) => command(port(), ['SMEMBERS', installationKey(one)]));
    return new Set((await Promise.all(members)).flat());
  };
  const giveToCopy = async (partition: string) => {
    await command(port(), ['DEL', installationKey(partition)]);
    await command(port(), ['SADD', installationKey(partition), 'a-copy']);
  };
  const giveBack = async (partition: string, id: string) => {
    await command(port(), ['DEL', installationKey(partition)]);
    await command(port(), ['SADD', installationKey(partition), id]);
  };
  beforeEach(async () => {
    servers = await startStandalone(APPEND_ONLY);
  });
  afterEach(() => servers.stop());

  it('is made once and used by every node', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => openPatiently(servers.url)));
    for (const store of stores) await verdict(store, newClient(), 'order');
    expect((await ids()).size).to.equal(1);
    for (const store of stores) await store.close();
  });

  it('refuses a change once the master belongs to another one, applies nothing, and names both', async () => {
    const store = await openPatiently(servers.url);
    const client = newClient();
    const ours = await command(port(), ['GET', registerKey('installation')]);
    for (const one of PARTITION_TAGS) await giveToCopy(one);
    expect(await verdict(store, client, 'order').catch(String)).to.equal(
      'StoreUnavailable: the server of this client does not hold this installation',
    );
    const health = await store.check();
    expect([isFitToServe(health), listHealthProblems(health)]).to.deep.equal([
      false,
      [
        `The clients on ${store.name} get 503: it belongs to installation a-copy, and this node to ${ours}; ${REMEDY}.`,
      ],
    ]);
    for (const one of PARTITION_TAGS) await giveBack(one, String(ours));
    await store.check();
    expect((await store.load(client)).state.seq).to.equal(0);
    await store.close();
  });

  it('is on every partition before the first change', async () => {
    const store = await openPatiently(servers.url);
    const ours = await command(port(), ['GET', registerKey('installation')]);
    for (const one of PARTITION_TAGS)
      expect(await command(port(), ['SMEMBERS', installationKey(one)])).to.deep.equal([ours]);
    await store.close();
  });

  it('refuses every change from the moment at which the server is emptied, and then every call', async () => {
    const store = await openPatiently(servers.url);
    const ours = await command(port(), ['GET', registerKey('installation')]);
    await command(port(), ['FLUSHALL']);
    expect(await verdict(store, newClient(), 'order').catch(String)).to.equal(
      'StoreUnavailable: the server of this client does not hold this installation',
    );
    const refusal = `${store.name} is another store: it holds nothing of installation ${ours}; ${REMEDY}`;
    await until('it is said why', async () => store.refusal() !== null);
    expect(store.refusal()).to.equal(refusal);
    for (const call of [
      () => store.load(newClient()),
      () => store.registers.read('rollout'),
      () => store.registers.version('rollout'),
      () => store.documents.get('access-keys', 'any'),
      () => store.listLog.read(0, 10),
    ])
      expect(await call().catch(String)).to.equal(`StoreUnavailable: ${refusal}`);
    const health = await store.check();
    expect([isFitToServe(health), listHealthProblems(health), health[0]?.isAnotherStore]).to.deep.equal([
      false,
      [`The clients on ${store.name} get 503: it holds nothing of installation ${ours}; ${REMEDY}.`],
      true,
    ]);
    await store.close();
  });

  it('is noticed by those who follow changes, without a change of a payer', async () => {
    const store = await openPatiently(servers.url);
    await command(port(), ['FLUSHALL']);
    await until('the node has looked', () =>
      store.registers.version('rollout').then(
        () => false,
        () => true,
      ),
    );
    expect(store.refusal()).to.include('it holds nothing of installation');
    await store.close();
  });

  it('ends the refusal once the known store is back', async () => {
    const store = await openPatiently(servers.url);
    const client = newClient();
    await verdict(store, client, 'order-1');
    await command(port(), [
      'EVAL',
      'for _, k in ipairs(redis.call("KEYS", "*")) do redis.call("COPY", k, k, "DB", 1) end',
      '0',
    ]);
    await command(port(), ['FLUSHDB']);
    await store.check();
    expect(store.refusal()).to.not.equal(null);
    await command(port(), ['SWAPDB', '0', '1']);
    await until('verdicts are given again', () =>
      store.registers.version('rollout').then(
        () => true,
        () => false,
      ),
    );
    await verdict(store, client, 'order-2');
    expect([store.refusal(), (await store.load(client)).state.seq]).to.deep.equal([null, 2]);
    await store.close();
  });

  it('is put back on a partition that a server forgot for want of memory, and on no other', async () => {
    const store = await openPatiently(servers.url);
    const [forgotten = ''] = PARTITION_TAGS;
    const client = newClientOf(forgotten);
    await command(port(), ['DEL', installationKey(forgotten)]);
    const refused = await verdict(store, client, 'order').catch(String);
    expect(refused).to.include('does not hold this installation');
    const [health] = await store.check();
    expect(health?.failure).to.match(
      /^1 of its 64 partitions hold nothing of installation \S+; restore the known store/,
    );
    await makeEvict(port());
    await command(port(), ['CONFIG', 'SET', 'maxmemory', '0']);
    expect((await store.check())[0]?.failure).to.equal(null);
    await verdict(store, client, 'order');
    await store.close();
  });

  it('must be the same for all partitions, or a node does not start', async () => {
    const store = await openPatiently(servers.url);
    await store.close();
    const ours = await command(port(), ['GET', registerKey('installation')]);
    await giveToCopy(PARTITION_TAGS[7] ?? '');
    expect(await openRedisStore(servers.url, () => {}).catch(String)).to.equal(
      `StoreUnavailable: the masters belong to several installations: 127.0.0.1:${port()} to ${ours}, 127.0.0.1:${port()} to a-copy; remove the restored copies from this cluster`,
    );
  });
});

/** A client of a partition. */
function newClientOf(partition: string) {
  for (;;) {
    const client = newClient();
    if (getPartitionTag(client.hash) === partition) return client;
  }
}

describeWithServer('redis-server', 'a Redis Cluster of which a master comes back empty', () => {
  let servers: RedisServers;
  let store: Store;
  beforeEach(async () => {
    servers = await startCluster(NO_FAILOVER_MS, { replicas: false });
    store = await openPatiently(servers.url);
  });
  afterEach(async () => {
    await store.close();
    await servers.stop();
  });

  /** Where a key lies: every other master says MOVED. */
  const portOf = async (key: string) => {
    for (const { port } of servers.nodes) {
      const isThere = await command(port, ['EXISTS', key]).then(
        () => true,
        () => false,
      );
      if (isThere) return port;
    }
    throw new Error(`no master answers for ${key}`);
  };

  it('refuses its clients alone, names it, and goes on with all others', async () => {
    const home = await portOf(DOCUMENTS_TAG);
    const lost = PARTITION_TAGS.filter((_, place) => place % 8 === 0);
    const away = await Promise.all(lost.map((one) => portOf(installationKey(one))));
    const place = away.findIndex((port) => port !== home);
    const [partition = '', port = 0] = [lost[place], away[place]];
    await command(port, ['FLUSHALL']);
    expect(await verdict(store, newClientOf(partition), 'order').catch(String)).to.include(
      'does not hold this installation',
    );
    const near = PARTITION_TAGS[await nearTo(home)] ?? '';
    await verdict(store, newClientOf(near), 'order');
    const health = await store.check();
    expect(isFitToServe(health)).to.equal(true);
    expect(listHealthProblems(health.filter(({ failure }) => failure !== null))).to.deep.equal([
      `The clients on Redis at 127.0.0.1:${port} get 503: it holds nothing of installation ${store.installation.id}; ${REMEDY}.`,
    ]);
    expect(store.refusal()).to.equal(null);
  });

  it('refuses all when it is the one with the access keys', async () => {
    const home = await portOf(DOCUMENTS_TAG);
    await command(home, ['FLUSHALL']);
    await store.check();
    expect(store.refusal()).to.include('it holds nothing of installation');
    expect(isFitToServe(await store.check())).to.equal(false);
  });

  /** The number of a partition on a master. */
  async function nearTo(home: number): Promise<number> {
    for (const [number, one] of PARTITION_TAGS.entries())
      if ((await portOf(installationKey(one))) === home) return number;
    throw new Error('a master without a partition');
  }
});

describeWithServer('redis-server', 'the installation of a Redis Cluster', () => {
  it('is the same on all of its masters', async () => {
    const servers = await startCluster();
    const stores = await Promise.all([1, 2].map(() => openPatiently(servers.url)));
    for (const store of stores) {
      for (let n = 0; n < 20; n++) await verdict(store, newClient(), 'order');
      expect(listHealthProblems(await store.check()).join()).not.to.include('installation');
    }
    for (const store of stores) await store.close();
    await servers.stop();
  });
});

describeWithServer('redis-server', 'a Redis whose address leads to another master after a failover', () => {
  let servers: readonly RedisServers[];
  /** Leads new connections to the current master; open ones stay where they are. */
  let address: UnrulyProxy;
  let master: number;
  let store: Store;
  const portOf = (index: number) => servers[index]?.nodes[0]?.port ?? 0;

  before(async () => {
    servers = [await startStandalone(), await startStandalone()];
    master = portOf(0);
    address = await startUnrulyProxy(() => master);
    store = await openPatiently(`redis://127.0.0.1:${address.port}`);
  });

  after(async () => {
    await store.close();
    await address.stop();
    for (const one of servers) await one.stop();
  });

  it('is found again although a connection still leads to the former one', async () => {
    const client = newClient();
    await verdict(store, client, 'order-1');
    const [former, next] = [portOf(0), portOf(1)];
    await command(next, ['REPLICAOF', '127.0.0.1', String(former)]);
    await until('the replica has everything', async () =>
      String(await command(next, ['INFO', 'replication'])).includes('master_link_status:up'),
    );
    await command(next, ['REPLICAOF', 'NO', 'ONE']);
    await command(former, ['REPLICAOF', '127.0.0.1', String(next)]);
    master = next;
    await until('verdicts are given', async () =>
      verdict(store, client, 'order-2').then(
        () => true,
        () => false,
      ),
    );
    expect((await store.load(client)).state.seq).to.be.at.least(2);
  });
});
