import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from '../../../src/metrics/metrics.ts';
import { hmacPseudonym } from '../../../src/pseudonym.ts';
import { fixedRules } from '../../../src/rollout/rule-source.ts';
import { ScoringService } from '../../../src/service/scoring.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import type { Store } from '../../../src/state/store.ts';
import { StoreUnavailable } from '../../../src/state/store-errors.ts';
import { clientKey } from '../../../test/client/client-keys.ts';
import { type RedisServers, startStandalone } from '../../../test/servers/redis.ts';
import { command } from '../../../test/servers/redis-command.ts';
import { currentRules } from '../../../test/service/current-rules.ts';
import { type Figure, figuresOf, median, medianRatio } from '../figure.ts';
import { PLATFORM, sampleVerdict } from '../sample.ts';

const figure = figuresOf('growth');

interface GrowthPlan {
  /** How many clients the large store holds. */
  readonly clients: number;
  readonly rounds: number;
  /** Verdicts of the client that is asked for again and again. */
  readonly hotVerdicts: number;
  /** Clients on one fingerprint. */
  readonly sharing: number;
  readonly onProgress: (text: string) => void;
}

const SMALL_STORE = 1000;
const WEIGHED_CLIENTS = 300;
const AT_ONCE = 32;
/** On a machine that is too busy a call is given up after 200 ms, and made again. */
const TRIES = 50;
const VERDICTS_A_ROUND = 200;
const MINUTE_MS = 60_000;

/** A service within this process on a Redis of its own, with a clock that the bench moves. */
class Bench {
  readonly store: Store;
  readonly service: ScoringService;
  nowMs = Date.UTC(2026, 0, 1);

  constructor(store: Store, metrics: Metrics) {
    this.store = store;
    this.service = new ScoringService({
      store,
      ruleSource: fixedRules(currentRules()),
      clock: () => this.nowMs,
      pseudonym: hmacPseudonym('a secret of the bench'),
      metrics,
    });
  }

  async verdict(clientIdKey: string, orderRef = clientIdKey): Promise<void> {
    const body = { sellPointKey: 'shop-1', clientIdKey, method: 'card', amountRequested: '25.00', orderRef };
    await this.service.verdict(PLATFORM, body, { requestId: clientIdKey, idempotencyKey: null });
  }

  async score(clientIdKey: string, fingerprint: string, ip: string): Promise<void> {
    const payment = {
      sellPointKey: 'shop-1',
      clientIdKey,
      amountRequested: '25.00',
      selectedMethodKey: 'card',
    };
    await this.service.score(PLATFORM, { ...payment, fingerprint, ip, userAgent: 'Mozilla/5.0' });
  }

  /** Median us of a verdict for each of these clients in turn, one at a time. */
  async latency(clientIdKeys: readonly string[]): Promise<number> {
    const micros: number[] = [];
    for (const clientIdKey of clientIdKeys) {
      this.nowMs += MINUTE_MS;
      const start = performance.now();
      await insist(() => this.verdict(clientIdKey));
      micros.push((performance.now() - start) * 1000);
    }
    return median(micros);
  }
}

/** What more clients, busier clients and crowded devices cost. */
export async function measureGrowth(plan: GrowthPlan): Promise<readonly Figure[]> {
  const metrics = new Metrics();
  const servers: RedisServers[] = [];
  const stores: Store[] = [];
  const start = async () => {
    const server = await startStandalone();
    servers.push(server);
    const store = await openRedisStore(server.url, () => {});
    stores.push(store);
    return { bench: new Bench(store, metrics), port: server.nodes[0]?.port ?? 0 };
  };
  try {
    const small = await start();
    const large = await start();
    plan.onProgress('growth: weighing clients');
    const weights = await weigh(small.bench, small.port);
    const sizes = await compareSizes(plan, small.bench, large.bench);
    const heat = await compareHeat(plan, small.bench);
    const crowd = await compareCrowd(plan, small.bench);
    return [...sizes, ...heat, ...crowd, ...weights];
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Bytes of clients with a score, three attempts and one outcome. */
async function weigh(bench: Bench, port: number): Promise<readonly Figure[]> {
  // One after the other: a call that is made again on a busy machine would weigh twice.
  for (let index = 0; index < WEIGHED_CLIENTS; index++) {
    const name = `weighed-${index}`;
    await insist(() => bench.score(name, `fingerprint-${index}`, `10.0.${index >> 8}.${index & 255}`));
    await insist(() => bench.verdict(name, `${name}-order-1`));
    const paid = { clientIdKey: name, orderRef: `${name}-order-1`, outcome: 'PAID', cause: null } as const;
    await insist(() => bench.service.outcome(PLATFORM, { ...paid, occurredAt: null }));
    await insist(() => bench.verdict(name, `${name}-order-2`));
    await insist(() => bench.verdict(name, `${name}-order-3`));
  }
  const bytes = Number(await command(port, ['EVAL', KEPT_BYTES, '0']));
  await command(port, ['FLUSHALL']);
  const name = 'bytes a client: state and sharing counters';
  return [figure(name, bytes / WEIGHED_CLIENTS, 'B', { atMost: 700 })];
}

/** MEMORY USAGE of states, fingerprints and addresses, by the word before the first colon of their keys. */
const KEPT_BYTES = `
  local bytes = 0
  for _, key in ipairs(redis.call('KEYS', '[sfi]:*')) do
    bytes = bytes + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)
  end
  return bytes`;

async function compareSizes(plan: GrowthPlan, small: Bench, large: Bench): Promise<readonly Figure[]> {
  plan.onProgress(`growth: filling a store with ${plan.clients} clients`);
  await fill(small, SMALL_STORE);
  await fill(large, plan.clients);
  const times = { small: [] as number[], large: [] as number[] };
  for (let round = 0; round <= plan.rounds; round++) {
    plan.onProgress(`growth: sizes, round ${round} of ${plan.rounds}`);
    const ofSmall = await small.latency(spread(round, SMALL_STORE));
    const ofLarge = await large.latency(spread(round, plan.clients));
    if (round === 0) continue;
    times.small.push(ofSmall);
    times.large.push(ofLarge);
  }
  const many = `${plan.clients.toLocaleString('en')} clients`;
  return pair(`p50 with ${many}`, times.large, 'with 1,000', times.small, { atMost: 1.2 });
}

async function compareHeat(plan: GrowthPlan, bench: Bench): Promise<readonly Figure[]> {
  plan.onProgress(`growth: ${plan.hotVerdicts} verdicts of one client`);
  for (let index = 0; index < plan.hotVerdicts; index++) {
    bench.nowMs += MINUTE_MS;
    await insist(() => bench.verdict('hot', `hot-${index}`));
  }
  const hot: number[] = [];
  const cold: number[] = [];
  for (let round = 0; round <= plan.rounds; round++) {
    const ofHot = await bench.latency(Array.from({ length: VERDICTS_A_ROUND }, () => 'hot'));
    const ofCold = await bench.latency(spread(round, SMALL_STORE));
    if (round === 0) continue;
    hot.push(ofHot);
    cold.push(ofCold);
  }
  const many = plan.hotVerdicts.toLocaleString('en');
  return pair(`p50 of a client with ${many} verdicts`, hot, 'of a cold one', cold, null);
}

async function compareCrowd(plan: GrowthPlan, bench: Bench): Promise<readonly Figure[]> {
  plan.onProgress(`growth: ${plan.sharing} clients on one fingerprint`);
  const crowded = names('crowded');
  const alone = names('alone');
  for (const name of crowded) await insist(() => bench.score(name, 'shared', '10.1.0.1'));
  for (const [index, name] of alone.entries()) {
    await insist(() => bench.score(name, `own-${index}`, `10.2.0.${index}`));
  }
  const { nowMs } = bench;
  const fingerprint = hmacPseudonym('a secret of the bench')('fingerprint', 'shared');
  await inParallel(plan.sharing, (index) =>
    bench.store.sightings({
      client: clientKey(PLATFORM, `crowd-${index}`),
      at: nowMs,
      fingerprint,
      ip: null,
      windowsMs: { fingerprint: [], ip: [] },
      record: true,
    }),
  );
  const ofCrowd: number[] = [];
  const ofAlone: number[] = [];
  for (let round = 0; round <= plan.rounds; round++) {
    // A device is forgotten by a client whose score is long ago.
    bench.nowMs = nowMs + round * MINUTE_MS;
    const crowdMicros = await bench.latency(crowded);
    bench.nowMs = nowMs + round * MINUTE_MS;
    const aloneMicros = await bench.latency(alone);
    if (round === 0) continue;
    ofCrowd.push(crowdMicros);
    ofAlone.push(aloneMicros);
  }
  const many = plan.sharing.toLocaleString('en');
  return pair(`p50 on a fingerprint of ${many} clients`, ofCrowd, 'on an own one', ofAlone, null);
}

function pair(
  name: string,
  values: readonly number[],
  otherName: string,
  others: readonly number[],
  target: Figure['target'],
): readonly Figure[] {
  return [
    figure(`${name} / ${otherName}`, medianRatio(values, others), 'x', target),
    figure(name, median(values), 'us'),
    figure(`${name.replace(/ (with|of|on) .*/, '')} ${otherName}`, median(others), 'us'),
  ];
}

/** Clients with one verdict behind them, without its record. */
async function fill(bench: Bench, clients: number): Promise<void> {
  const { nextState } = sampleVerdict();
  await inParallel(clients, async (index) => {
    const client = clientKey(PLATFORM, `filled-${index}`);
    const { stamp } = await bench.store.load(client);
    const { clientIdKey } = client;
    const entry = {
      kind: 'binding',
      at: nextState.lastAt,
      platform: PLATFORM,
      clientIdKey,
      binding: null,
    } as const;
    await bench.store.commit({ client, stamp, state: nextState, entry });
  });
}

/** Some of the filled clients, others in each round. */
function spread(round: number, clients: number): readonly string[] {
  return Array.from({ length: VERDICTS_A_ROUND }, (_, index) => {
    const place = (round * VERDICTS_A_ROUND + index) * 7919;
    return `filled-${place % clients}`;
  });
}

function names(prefix: string): readonly string[] {
  return Array.from({ length: VERDICTS_A_ROUND }, (_, index) => `${prefix}-${index}`);
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await insist(() => work(index));
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, worker));
}

/** Does it again while the store says that it took too long. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; tries < TRIES; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await sleep(100);
    }
  }
  return work();
}
