import { expect } from 'chai';
import { stateKey } from '../../../src/state/keys.ts';
import type { Store } from '../../../src/state/store.ts';
import { StoreUnavailable } from '../../../src/state/store-errors.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { NO_FAILOVER_MS, type RedisServers, startCluster } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import type { RedisProcess } from '../../servers/redis-process.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { newClient, verdict } from '../clients.ts';

describeWithServer('redis-server', 'a slot of a Redis Cluster that moves to another master', () => {
  let servers: RedisServers;
  let store: Store;
  before(async () => {
    servers = await startCluster(NO_FAILOVER_MS);
    // No master is to be replaced because of a busy machine.
    for (const { port } of servers.nodes)
      await command(port, ['CONFIG', 'SET', 'cluster-node-timeout', '60000']);
    store = await openPatiently(servers.url);
  });
  after(async () => {
    await store.close();
    await servers.stop();
  });

  const idOf = async ({ port }: RedisProcess) => String(await command(port, ['CLUSTER', 'MYID']));

  /** The keys of a slot that a master holds. */
  const keysOf = async ({ port }: RedisProcess, slot: string) => {
    const keys = await command(port, ['CLUSTER', 'GETKEYSINSLOT', slot, '100']);
    return Array.isArray(keys) ? keys.map(String) : [];
  };

  const failureOf = (call: Promise<unknown>) =>
    call.then(
      () => null,
      (error: unknown) => error,
    );

  it('refuses its clients and changes nothing of them until it has arrived', async () => {
    const masters = servers.nodes.slice(0, 3);
    const client = newClient();
    await verdict(store, client, 'order-1');
    const slot = String(await command(masters[0]?.port ?? 0, ['CLUSTER', 'KEYSLOT', stateKey(client.hash)]));
    const held = await Promise.all(masters.map(async (master) => (await keysOf(master, slot)).length > 0));
    const from = masters[held.indexOf(true)];
    const to = masters[held.indexOf(false)];
    if (from === undefined || to === undefined) throw new Error('no master holds the client');
    await command(to.port, ['CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from)]);
    await command(from.port, ['CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to)]);
    const move = ['MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS'];
    for (const key of await keysOf(from, slot)) {
      expect(await failureOf(verdict(store, client, 'order-2'))).to.be.instanceOf(StoreUnavailable);
      await command(from.port, [...move, key]);
    }
    expect(await failureOf(verdict(store, client, 'order-2'))).to.be.instanceOf(StoreUnavailable);
    for (const { port } of [to, from, ...masters.filter((master) => master !== to && master !== from)])
      await command(port, ['CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to)]);
    expect((await store.load(client)).state.seq).to.equal(1);
    expect((await verdict(store, client, 'order-2')).seq).to.equal(2);
  });
});
