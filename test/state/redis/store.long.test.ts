import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { formatDecisionId } from '#decision/payer/client-key.ts';
import { stateKey } from '#state/keys.ts';
import { openRedisStore } from '#state/redis/store.ts';
import type { Store } from '#state/store.ts';
import { StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import { isFitToServe, listHealthProblems } from '#workbench/upkeep/store-watch.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import {
  NO_FAILOVER_MS,
  type RedisServers,
  startCluster,
  startSentinel,
  startStandalone,
} from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { APPEND_ONLY, type RedisProcess } from '../../servers/redis-process.ts';
import { usableMsSince, watchStandstills } from '../../servers/standstill.ts';
import { until } from '../../servers/until.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { AS_PROMISED, openPatiently } from '../../stores/temporary-store.ts';
import { newClient, T0, verdict, verdictOn } from '../clients.ts';
import { describeRedis, dump, failureOf } from './redis-servers.ts';

describeRedis('Redis Cluster', () => startCluster(NO_FAILOVER_MS));
describeRedis('Redis behind Sentinel', () => startSentinel(NO_FAILOVER_MS));

describeWithServer('redis-server', 'a Redis store whose server hangs or dies', () => {
  let servers: RedisServers;
  let store: Store;
  const errors: Error[] = [];
  const master = () => {
    const [first] = servers.nodes;
    if (first === undefined) throw new Error('no server');
    return first;
  };
  const works = async () => {
    try {
      await verdict(store, newClient(), 'order');
      return true;
    } catch {
      return false;
    }
  };

  beforeEach(async () => {
    servers = await startStandalone(APPEND_ONLY);
    await (await openPatiently(servers.url)).close();
    store = await openRedisStore(servers.url, (error) => errors.push(error));
  });
  afterEach(async () => {
    master().resume();
    await store.close();
    await servers.stop();
  });

  it('gives up a change that a stopped Redis did not answer, and it is never applied', async () => {
    const client = newClient();
    await verdict(store, client, 'order-1');
    const change = verdictOn(client, await store.load(client), 'order-2');
    master().suspend();
    watchStandstills();
    const started = performance.now();
    expect(await failureOf(store.commit(change))).to.be.instanceOf(StoreUnavailable);
    expect(performance.now() - started).to.be.at.least(150);
    expect(usableMsSince(started)).to.be.at.most(1500);

    // Others are refused at once, so that nothing queues up.
    const failures = await Promise.all(Array.from({ length: 200 }, () => failureOf(store.load(newClient()))));
    expect(new Set(failures.map((failure) => failure?.message))).to.have.all.keys([
      `${store.name} does not answer`,
    ]);

    master().resume();
    await until('the store works again', works, 5000);
    expect((await store.load(client)).state.seq).to.equal(1);
    expect(await store.decision(formatDecisionId(client.hash, 2, T0 + 2))).to.equal(null);
  });

  it('works again after a long hang of Redis', async () => {
    master().suspend();
    await failureOf(store.load(newClient()));
    await delay(4500);
    expect(await failureOf(store.load(newClient()))).to.be.instanceOf(StoreUnavailable);
    master().resume();
    await until('the store works again', works, 3000);
  });

  it('is opened by a command that waits longer than a node for the first answer', async () => {
    const open = (options = {}) => openRedisStore(servers.url, () => {}, options);
    master().suspend();
    const asCommand = open({ commandTimeoutMs: 60_000 });
    expect(await failureOf(open())).to.be.instanceOf(StoreLate);
    master().resume();
    await (await asCommand).close();
  });

  it('works again after Redis was killed and started', async () => {
    await master().kill();
    expect(await failureOf(store.load(newClient()))).to.be.instanceOf(StoreUnavailable);
    await master().restart();
    await until('the store works again', works, 3000);
    expect(errors).not.to.deep.equal([]);
  });

  it('limits by the buckets of the node while Redis hangs', async () => {
    const settings = { ratePerSecond: 0.01, burst: 2, delayMsMax: 0 };
    master().suspend();
    const take = () => store.rateBuckets.take('10.0.0.1', settings);
    expect([await take(), await take(), await take()]).to.deep.equal([
      { admitted: true, delayMs: 0 },
      { admitted: true, delayMs: 0 },
      { admitted: false },
    ]);
  });
});

describeWithServer('redis-server', 'a Redis Cluster with a stopped server', () => {
  let servers: RedisServers;
  let store: Store;
  before(async () => {
    servers = await startCluster();
    store = await openPatiently(servers.url, AS_PROMISED);
  });
  after(async () => {
    for (const node of servers.nodes) node.resume();
    await store.close();
    await servers.stop();
  });

  it('names it, keeps serving the clients of the others and fails over for the rest', async () => {
    const failing = async () => (await store.check()).filter(({ failure }) => failure !== null);
    const clients = Array.from({ length: 60 }, () => newClient());
    const reach = async () => {
      const failures = await Promise.all(clients.map((client) => failureOf(store.load(client))));
      return failures.filter((failure) => failure === null).length;
    };
    expect(await store.check()).to.have.length(3);
    expect([await reach(), await failing()]).to.deep.equal([60, []]);
    const [hanging] = servers.nodes;
    hanging?.suspend();
    const server = `Redis at 127.0.0.1:${hanging?.port}`;
    const health = await store.check();
    expect(isFitToServe(health)).to.equal(true);
    expect(listHealthProblems(health)[0]).to.equal(
      `The clients on ${server} get 503: ${server} did not answer within 200 ms.`,
    );
    expect((await failing()).map((one) => one.server)).to.deep.equal([server]);
    expect(await reach()).to.be.within(1, 59);
    expect(await reach()).to.be.within(1, 59);
    await until('a replica took over', async () => (await reach()) === 60, 30_000);
    await until('it is well', async () => (await failing()).length === 0, 30_000);
  });
});

describeWithServer('redis-server', 'a Redis master behind Sentinel', () => {
  let servers: RedisServers;
  let store: Store;
  before(async () => {
    servers = await startSentinel();
    store = await openPatiently(servers.url, AS_PROMISED);
  });
  after(async () => {
    servers.nodes[0]?.resume();
    await store.close();
    await servers.stop();
  });

  it('that hangs is replaced, and changes sent to it are never applied', async () => {
    const health = await store.check();
    expect(health.map(({ server, failure }) => `${server}: ${failure}`)).to.deep.equal([
      'Redis at scoring: null',
    ]);
    const client = newClient();
    await verdict(store, client, 'order-1');
    await until('the replica has it', async () => (await dump(servers)).split(client.clientIdKey).length > 2);
    const change = verdictOn(client, await store.load(client), 'order-2');
    servers.nodes[0]?.suspend();
    expect(await failureOf(store.commit(change))).to.be.instanceOf(StoreUnavailable);
    await until('the replica took over', async () => (await failureOf(store.load(client))) === null, 30_000);
    expect((await store.load(client)).state.seq).to.equal(1);
    expect((await verdict(store, client, 'order-3')).seq).to.equal(2);
  });
});

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

const ACCESS_KEYS = 12;
const VERDICTS = 75;
/** Each key is used so rarely that its age alone would have it read again. */
const PAUSE_MS = 66;
const IDLE_MS = 3000;

/** A client's state is read by the script that loads it, and by the one that commits. */
const READS_OF_STATE = 2;

describeWithServer('redis-server', 'a verdict on Redis', () => {
  // One of its own, whose commands are counted.
  let servers: RedisServers;
  let store: Store;
  let service: RunningService;
  before(async () => {
    servers = await startStandalone();
    store = await openPatiently(servers.url);
    service = await startService({ store });
  });
  after(async () => {
    await service?.stop();
    await store?.close();
    await servers?.stop();
  });

  it('reads no document: twelve keys at fifteen verdicts a second are followed by their version', async () => {
    const tenants: Tenant[] = [];
    for (let number = 0; number < ACCESS_KEYS; number++) tenants.push(await service.tenant(`shop-${number}`));
    const tenantOf = (number: number): Tenant => {
      const tenant = tenants[number % ACCESS_KEYS];
      if (tenant === undefined) throw new Error('no such key');
      return tenant;
    };
    const ask = async (number: number) => {
      const { status } = await tenantOf(number).verdict({ clientIdKey: `payer-${number}` });
      expect(status).to.equal(200);
      await delay(PAUSE_MS);
    };
    for (let number = 0; number < ACCESS_KEYS; number++) await ask(number);
    const during = async (work: () => Promise<void>) => {
      const [before, startedMs] = [await getsOf(servers.url), performance.now()];
      await work();
      return { gets: (await getsOf(servers.url)) - before, tookMs: performance.now() - startedMs };
    };
    // What the node asks for by the clock costs no verdict, and the more of it the slower the machine.
    const idle = await during(() => delay(IDLE_MS));
    const busy = await during(async () => {
      for (let number = 0; number < VERDICTS; number++) await ask(ACCESS_KEYS + number);
    });
    const byTheClock = (idle.gets * busy.tookMs) / idle.tookMs;
    const documents = busy.gets - byTheClock - READS_OF_STATE * VERDICTS;
    expect(documents / VERDICTS).to.be.at.most(0.2);
  });
});

async function getsOf(url: string): Promise<number> {
  const stats = String(await command(url, ['INFO', 'commandstats']));
  return Number(/^cmdstat_get:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}
