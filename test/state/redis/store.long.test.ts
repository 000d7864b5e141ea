import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { decisionId } from '../../../src/client/client-key.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import type { Store } from '../../../src/state/store.ts';
import { StoreUnavailable } from '../../../src/state/store-errors.ts';
import { healthTexts, servesClients } from '../../../src/state/store-health.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import {
  NO_FAILOVER_MS,
  type RedisServers,
  startCluster,
  startSentinel,
  startStandalone,
} from '../../servers/redis.ts';
import { usableMsSince, watchStandstills } from '../../servers/standstill.ts';
import { until } from '../../servers/until.ts';
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
    servers = await startStandalone();
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
    expect(await store.decision(decisionId(client.hash, 2, T0 + 2))).to.equal(null);
  });

  it('works again after a long hang of Redis', async () => {
    master().suspend();
    await failureOf(store.load(newClient()));
    await delay(4500);
    expect(await failureOf(store.load(newClient()))).to.be.instanceOf(StoreUnavailable);
    master().resume();
    await until('the store works again', works, 3000);
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
    expect(servesClients(health)).to.equal(true);
    expect(healthTexts(health)[0]).to.equal(
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
