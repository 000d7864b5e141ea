import { expect } from 'chai';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { Hints } from '#decision/payer/hints.ts';
import { NO_SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import {
  claimKey,
  decisionKey,
  deviceKey,
  getPartitionTag,
  hashName,
  hashOrderRef,
  notesKey,
  ordersKey,
  rateKey,
  stateKey,
} from '#state/keys.ts';
import { COMMITS_PER_TIDYING } from '#state/redis/clients.ts';
import { openRedisStore } from '#state/redis/store.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { freePort } from '../../servers/free-port.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { until } from '../../servers/until.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import {
  askFor,
  MINUTE_MS,
  newClient,
  newPlatform,
  paymentOf,
  T0,
  verdict,
  verdictOn,
  withAnswer,
} from '../clients.ts';
import { everythingOver } from '../sighting-conformance.ts';
import { describeRedis, failureOf } from './redis-servers.ts';

const HOUR_MS = 60 * MINUTE_MS;

describeRedis('Redis', startStandalone);

describeWithServer('redis-server', 'the Redis store', () => {
  let servers: RedisServers;
  let store: Store;
  let port: number;
  before(async () => {
    servers = await startStandalone();
    port = servers.nodes[0]?.port ?? expect.fail('no server');
  });
  beforeEach(async () => {
    await command(port, ['FLUSHALL']);
    store = await openPatiently(servers.url);
  });
  afterEach(() => store.close());
  after(() => servers?.stop());

  it('erases a client whose state is no text at all', async () => {
    const client = newClient();
    await verdict(store, client, 'order');
    const spoil = "redis.call('SET', KEYS[1], string.char(255, 254, 0, 200))";
    await command(port, ['EVAL', spoil, '1', stateKey(client.hash)]);
    expect(await failureOf(store.load(client))).to.be.instanceOf(StoreUnavailable);
    await store.erase(client);
    expect((await store.load(client)).state.seq).to.equal(0);
  });

  /** Redis's answer for a key that has expired since it was listed. */
  const GONE = -2;

  it('gives every key a time to live or a limit', async () => {
    for (let count = 0; count < 5; count += 1) await useEverything(store);
    for (const key of await keysOf(port)) {
      const endsInMs = Number(await command(port, ['PTTL', key]));
      const bounded = /^(journal:|installation:|\{documents\}|register:)/.test(key);
      if (endsInMs === GONE) continue;
      expect(endsInMs > 0 || bounded, `${key} ends in ${endsInMs}`).to.equal(true);
      expect(endsInMs).to.be.at.most(RETENTION.stateMs);
    }
  });

  const everyMark = { paying: true, unpaid: true, blocked: true, unpaidOrders: 31 };
  const everything = everythingOver([7 * 24 * HOUR_MS, 24 * HOUR_MS, HOUR_MS]);
  const seeOnDevice = (client: ClientKey, at: number, marks = NO_SIGHTING_MARKS) =>
    store.sightings(askFor(client, { at, fingerprint: 'd', sharing: everything, marks, record: true }));

  it('counts all that is asked of a device in few commands', async () => {
    const platform = newPlatform();
    const commandsOf = async (client: ClientKey, at: number) => {
      const before = await scriptedCallsOf(port);
      await seeOnDevice(client, at);
      return (await scriptedCallsOf(port)) - before;
    };
    const alone = newClient(platform);
    await seeOnDevice(alone, T0);
    // Three to note the client, one for when that ends, one to look who else is there, and three for its verdicts.
    expect(await commandsOf(alone, T0 + 1), 'alone').to.equal(8);
    for (let number = 0; number < 5; number++) await seeOnDevice(newClient(platform), T0 + 2);
    expect(await commandsOf(alone, T0 + 3), 'among others without marks').to.equal(8 + 10);
    for (let number = 0; number < 5; number++) await seeOnDevice(newClient(platform), T0 + 4, everyMark);
    expect(await commandsOf(alone, T0 + 5), 'among others with every mark').to.equal(8 + 10);
    const later = T0 + 2 * HOUR_MS;
    for (let number = 0; number < 5; number++) await seeOnDevice(newClient(platform), later, everyMark);
    expect(await commandsOf(alone, later + 1), 'among others in each window').to.equal(8 + 10 + 8);
  });

  it('keeps the verdicts of a day on a device in less than 130 bytes', async () => {
    const client = newClient();
    const key = deviceKey('fingerprint', client.platform, 'd');
    const bytes = async () => Number(await command(port, ['MEMORY', 'USAGE', key, 'SAMPLES', '0']));
    const sharing = askFor(client, {}).sharing;
    await store.sightings(askFor(client, { at: T0, fingerprint: 'd', sharing, record: true }));
    const before = await bytes();
    for (let step = 1; step <= 25 * 6; step++) await seeOnDevice(client, T0 + step * 10 * MINUTE_MS);
    expect((await bytes()) - before).to.be.within(80, 130);
  });

  it('distinguishes orders that share a key, and forgets the decisions of each by time', async () => {
    const client = newClient();
    const { platform } = client;
    const byKey = Map.groupBy(
      Array.from({ length: 4000 }, (_, index) => `order-${index}`),
      (orderRef) => ordersKey('', hashOrderRef(platform, orderRef)),
    );
    const [first = '', second = ''] = [...byKey.values()].find(({ length }) => length > 1) ?? [];
    await verdict(store, client, first, T0);
    await verdict(store, client, second, T0 + 1);
    for (const orderRef of [first, second]) {
      const found = await store.decisionsOfOrder(platform, orderRef);
      expect(found.map((decision) => decision.orderRef)).to.deep.equal([orderRef]);
    }
    const key = ordersKey(getPartitionTag(client.hash), hashOrderRef(platform, first));
    const lateMs = T0 + 2 + RETENTION.decisionMs;
    for (let late = 0; late < COMMITS_PER_TIDYING; late++) await verdict(store, client, second, lateMs);
    expect(await command(port, ['ZCARD', key])).to.equal(COMMITS_PER_TIDYING);
  });

  it("forgets an answer and a displaced order by time, and a client's notes with the last of them", async () => {
    const client = newClient();
    const notes = notesKey(client.hash);
    await store.commit(paymentOf(client, await store.load(client), 'order-1'));
    const [order = ''] = Object(await command(port, ['HKEYS', notes]));
    const hourOfStore = Math.floor(Number(Object(await command(port, ['TIME']))[0]) / 3600);
    await command(port, ['HSET', notes, order, `${hourOfStore}:paid`]);
    expect((await store.load(client, { orderRef: 'order-1' })).order, 'ended').to.equal(null);
    await store.commit(withAnswer(verdictOn(client, await store.load(client), 'order-2'), 'key'));
    expect(await command(port, ['HLEN', notes])).to.equal(1);
    const endsInMs = Number(await command(port, ['PTTL', notes]));
    expect(endsInMs).to.be.within(RETENTION.idempotencyMs, 2 * RETENTION.idempotencyMs);
  });

  it('keeps the owner of an Idempotency-Key for longer than its answer, however late that is given', async () => {
    const platform = newPlatform();
    const claim = claimKey(platform, hashName('key'));
    await store.claimIdempotencyKey(platform, 'key', 'first');
    await command(port, ['PEXPIRE', claim, '60000']);
    await store.claimIdempotencyKey(platform, 'key', 'second');
    expect(Number(await command(port, ['PTTL', claim]))).to.be.at.most(60_000);
    await store.claimIdempotencyKey(platform, 'key', 'first');
    expect(Number(await command(port, ['PTTL', claim]))).to.be.above(RETENTION.idempotencyMs);
  });

  it('does not turn callers away because its clock was set back', async () => {
    const settings = { ratePerSecond: 20, burst: 20, delayMsMax: 2000 };
    const inAnHour = String(Date.now() + 3_600_000);
    await command(port, ['SET', rateKey('10.0.0.1'), inAnHour, 'PX', '3600000']);
    expect(await store.rateBuckets.take('10.0.0.1', settings)).to.deep.equal({ admitted: true, delayMs: 0 });
  });

  it('asks Redis less often than a busy address asks, and lets through no more of its requests', async () => {
    const settings = { ratePerSecond: 0.001, burst: 20, delayMsMax: 1333.3 };
    await store.rateBuckets.take('10.0.0.2', settings);
    expect(await keysOf(port), 'the bucket of all nodes').to.include(rateKey('10.0.0.2'));
    const before = await callsOf(port);
    let admitted = 1;
    for (let one = 1; one < 40; one++)
      if ((await store.rateBuckets.take('10.0.0.2', settings)).admitted) admitted++;
    expect((await callsOf(port)) - before).to.be.below(39);
    expect(admitted).to.be.at.most(20);
  });

  it('keeps a decision, and finds it by its order, for 90 days until it is shipped, then while it is hot', async () => {
    const client = newClient();
    const hotMs = 2 * 24 * 3_600_000;
    await verdict(store, client, 'order', T0);
    await verdict(store, client, 'order', T0 + hotMs);
    const orders = ordersKey(getPartitionTag(client.hash), hashOrderRef(client.platform, 'order'));
    const daysLeft = async (key: string) => Number(await command(port, ['PTTL', key])) / (24 * 3_600_000);
    const { cursor } = await store.readJournal(null, 10);
    await store.trimJournal(cursor ?? '', { journalEntries: 64, decisionsHotMs: hotMs });
    for (const key of [decisionKey(client.hash, 2), orders])
      expect(await daysLeft(key), `${key}, still looked back over`).to.be.within(89, 90);
    await store.trimJournal(cursor ?? '', { journalEntries: 0, decisionsHotMs: hotMs });
    for (const key of [decisionKey(client.hash, 2), orders])
      expect(await daysLeft(key), key).to.be.within(1, 2);
    expect(await command(port, ['ZCARD', orders]), 'the first is not hot').to.equal(1);
    await verdict(store, client, 'order', T0 + 2 * hotMs);
    expect(await daysLeft(orders)).to.be.within(89, 90);
    const found = await store.decisionsOfOrder(client.platform, 'order');
    expect(found.map(({ seq }) => seq)).to.deep.equal([3, 2]);
  });

  it('loads by plain commands, so that a verdict needs one script', async () => {
    const client = newClient();
    await verdict(store, client, 'warm the scripts');
    const before = await callsOf(port);
    await verdict(store, client, 'order');
    expect((await callsOf(port)) - before).to.equal(1);
  });

  // State, and the worst share of the sharing counters: nobody else on its fingerprint and IP.
  it('keeps a client with three attempts and a payment in 700 bytes', async () => {
    await useEverything(store, newClient(newPlatform('demo')));
    const size = async (key: string) => Number(await command(port, ['MEMORY', 'USAGE', key, 'SAMPLES', '0']));
    const keys = (await keysOf(port)).filter((key) => /^[sif]:/.test(key));
    expect(keys).to.have.length(3);
    const sizes = await Promise.all(keys.map(size));
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).to.be.at.most(700);
  });

  it('forgets the names of documents that expired long ago', async () => {
    await store.documents.set('nodes', 'gone', { id: 1 }, 20);
    await store.documents.set('nodes', 'here', { id: 2 }, 60_000);
    await until('it is gone', async () => (await store.documents.get('nodes', 'gone')) === undefined);
    const key = '{documents}:names:nodes';
    await command(port, ['ZADD', key, String(Date.now() - 120_000), 'gone']);
    expect(await store.documents.list('nodes')).to.deep.equal([{ id: 2 }]);
    expect(await command(port, ['ZRANGE', key, '0', '-1'])).to.deep.equal(['here']);
  });

  it('refuses everything once it is closed, and does not connect again', async () => {
    await store.close();
    expect(await failureOf(store.load(newClient()))).to.be.instanceOf(StoreUnavailable);
    expect(await failureOf(store.documents.get('keys', 'a'))).to.be.instanceOf(StoreUnavailable);
    const clients = String(await command(port, ['CLIENT', 'LIST']));
    expect(clients.trim().split('\n')).to.have.length(1);
  });

  it('refuses a cursor that it did not write', async () => {
    for (const cursor of ['', '0', '1', 'nonsense', `1${'.x-!'.repeat(64)}`]) {
      const failure = await failureOf(store.readJournal(cursor, 10));
      expect(failure?.message, cursor).to.equal('not a cursor of this journal');
    }
  });
});

describe('opening a Redis store', () => {
  it('fails with the address and without the password when nobody listens', async () => {
    const port = await freePort();
    const failure = await failureOf(openRedisStore(`redis://user:secret@127.0.0.1:${port}/0`, () => {}));
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(failure?.message).to.equal(
      `Redis at 127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}; check that it runs, and the host, port, password and TLS (rediss://) in REDIS_URL`,
    );
  });

  for (const form of ['redis://:secret@A,redis://:secret@B', 'redis-sentinel://:secret@A,B/scoring']) {
    it(`fails with the addresses when nobody listens at ${form}`, async () => {
      const [a, b] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
      const failure = await failureOf(openRedisStore(form.replace('A', a).replace('B', b), () => {}));
      expect(failure).to.be.instanceOf(StoreUnavailable);
      expect(failure?.message).to.include(`${a}, ${b} cannot be reached`).and.not.include('secret');
    });
  }
});

/** A client's life: three attempts on one device with answers, and one outcome. */
async function useEverything(store: Store, client = newClient()): Promise<void> {
  const [fingerprint, ip, at] = [client.hash.toLowerCase(), client.hash.toUpperCase(), T0];
  const hints: Hints = {
    scoredAt: at,
    shown: [
      { hint: { kind: 'fingerprint', id: fingerprint }, lastAt: at },
      { hint: { kind: 'ip', id: ip }, lastAt: at },
      { hint: { kind: 'userAgent', id: '' }, lastAt: at },
    ],
    asked: [{ request: 'abcdef', at, changes: 0, knownHints: [] }],
  };
  for (const orderRef of ['order-1', 'order-2', 'order-3']) {
    await store.sightings(askFor(client, { at, fingerprint, ip, record: true }));
    const change = withAnswer(verdictOn(client, await store.load(client), orderRef), `key-${orderRef}`);
    const token = 'abcdef';
    const event = {
      at,
      early: false,
      granted: true,
      waited: false,
      blocked: false,
      settled: false,
      method: token,
      amount: token,
      order: token,
      sellPoint: token,
      fingerprint: token,
      ip: token,
    };
    const state = { ...change.state, events: [...change.state.events, event], hints };
    await store.commit({ ...change, state });
  }
  await store.commit(paymentOf(client, await store.load(client), 'order-1'));
  await store.claimIdempotencyKey(client.platform, 'key', 'hash');
  await store.rateBuckets.take('10.0.0.1', { ratePerSecond: 20, burst: 20, delayMsMax: 2000 });
  await store.documents.set('keys', 'a', { id: 'a' });
}

async function keysOf(port: number): Promise<readonly string[]> {
  const keys = await command(port, ['KEYS', '*']);
  return Array.isArray(keys) ? keys.map(String) : [];
}

/** Commands that scripts call on keys of clients and devices. */
async function scriptedCallsOf(port: number): Promise<number> {
  const stats = String(await command(port, ['INFO', 'commandstats']));
  const calls = [...stats.matchAll(/cmdstat_(?:z\w+|pexpire):calls=(\d+)/g)];
  return calls.reduce((sum, [, n]) => sum + Number(n), 0);
}

/** Commands of clients, without calls inside scripts and pings. */
async function callsOf(port: number): Promise<number> {
  const stats = String(await command(port, ['INFO', 'commandstats']));
  const calls = [...stats.matchAll(/cmdstat_(?:evalsha|eval):calls=(\d+)/g)];
  return calls.reduce((sum, [, n]) => sum + Number(n), 0);
}
