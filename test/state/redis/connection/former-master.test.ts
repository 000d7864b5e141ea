import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import type { Store } from '../../../../src/state/store.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../../servers/redis.ts';
import { command } from '../../../servers/redis-command.ts';
import { until } from '../../../servers/until.ts';
import { openPatiently } from '../../../stores/temporary-store.ts';
import { newClient, verdict } from '../../clients.ts';

/** An address that leads new connections to the current master; open ones stay where they are. */
async function addressOf(master: () => number): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((near) => {
    const far = connect(master(), '127.0.0.1');
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { server, url: `redis://127.0.0.1:${port}` };
}

describeWithServer('redis-server', 'a Redis whose address leads to another master after a failover', () => {
  let servers: readonly RedisServers[];
  let address: Awaited<ReturnType<typeof addressOf>>;
  let master: number;
  let store: Store;
  const portOf = (index: number) => servers[index]?.nodes[0]?.port ?? 0;

  before(async () => {
    servers = [await startStandalone(), await startStandalone()];
    master = portOf(0);
    address = await addressOf(() => master);
    store = await openPatiently(address.url);
  });

  after(async () => {
    await store.close();
    address.server.close();
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
