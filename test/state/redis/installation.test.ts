import { expect } from 'chai';
import { installationKey, PARTITIONS, registerKey } from '../../../src/state/keys.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import type { Store } from '../../../src/state/store.ts';
import { healthTexts, servesClients } from '../../../src/state/store-health.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startCluster, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { APPEND_ONLY } from '../../servers/redis-process.ts';
import { startUnrulyProxy, type UnrulyProxy } from '../../servers/unruly-proxy.ts';
import { until } from '../../servers/until.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { newClient, verdict } from '../clients.ts';

describeWithServer('redis-server', 'the installation that masters belong to', () => {
  let servers: RedisServers;
  const port = () => servers.nodes[0]?.port ?? 0;
  const ids = async () => {
    const members = PARTITIONS.map((one) => command(port(), ['SMEMBERS', installationKey(one)]));
    return new Set((await Promise.all(members)).flat());
  };
  const giveToCopy = async (partition: string) => {
    await command(port(), ['DEL', installationKey(partition)]);
    await command(port(), ['SADD', installationKey(partition), 'a-copy']);
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
    for (const one of PARTITIONS) await giveToCopy(one);
    expect(await verdict(store, client, 'order').catch(String)).to.equal(
      'StoreUnavailable: the master of this client belongs to another installation',
    );
    expect((await store.load(client)).state.seq).to.equal(0);
    const health = await store.check();
    expect([servesClients(health), healthTexts(health)]).to.deep.equal([
      false,
      [`The clients on ${store.name} get 503: it belongs to installation a-copy, and this node to ${ours}.`],
    ]);
    await store.close();
  });

  it('must be the same for all partitions, or a node does not start', async () => {
    const store = await openPatiently(servers.url);
    await store.close();
    const ours = await command(port(), ['GET', registerKey('installation')]);
    await giveToCopy(PARTITIONS[7] ?? '');
    expect(await openRedisStore(servers.url, () => {}).catch(String)).to.equal(
      `StoreUnavailable: the masters belong to several installations: ${store.name} to ${ours}, 127.0.0.1:${port()} to a-copy; take the restored copies out of this cluster`,
    );
  });
});

describeWithServer('redis-server', 'the installation of a Redis Cluster', () => {
  it('is the same on all of its masters', async () => {
    const servers = await startCluster();
    const stores = await Promise.all([1, 2].map(() => openPatiently(servers.url)));
    for (const store of stores) {
      for (let n = 0; n < 20; n++) await verdict(store, newClient(), 'order');
      expect(healthTexts(await store.check()).join()).not.to.include('installation');
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
