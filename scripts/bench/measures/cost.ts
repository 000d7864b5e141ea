import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../../test/service/issued-key.ts';
import { computeMedian, computeMedianRatio, createFigureMaker, type Figure } from '../figure.ts';
import { readRedisInfo } from '../filled-redis.ts';
import { type LoadKind, runLoad } from '../load.ts';
import { type MeasuredProcess, startMeasuredProcess } from '../measured-process.ts';
import type { BenchPlan } from '../plan.ts';

const figure = createFigureMaker('cost');

/** The Redis and the folder that the measured servers use, and the access key that they accept. */
export interface MeasuredServerSettings {
  readonly redisUrl: string;
  readonly redisPort: number;
  readonly dataDir: string;
  readonly accessKey: string;
}

const CONNECTIONS = 32;

const PEERS = ['floor', 'skeleton', 'naive peer', 'Redis', 'SQLite'] as const;

/** A measured server. The service is named by its store. */
type Peer = (typeof PEERS)[number];

const SCRIPTS: Readonly<Record<Peer, string>> = {
  floor: 'scripts/bench/servers/floor.ts',
  skeleton: 'scripts/bench/servers/skeleton.ts',
  'naive peer': 'scripts/bench/servers/naive-peer.ts',
  Redis: 'src/main.ts',
  SQLite: 'src/main.ts',
};

const STORES = ['Redis', 'SQLite'] as const;

/**
 * A server and the requests with which it is measured. Each server gives plain verdicts, and the service also gives
 * pairs of a score and a verdict as for a real payment.
 */
interface Subject {
  readonly peer: Peer;
  readonly asks: LoadKind;
}

const SUBJECTS: readonly Subject[] = [
  ...PEERS.map((peer): Subject => ({ peer, asks: 'verdict' })),
  ...STORES.map((peer): Subject => ({ peer, asks: 'pair' })),
];

/** The figures of one server in one round. */
interface Round {
  readonly cpuMicros: number;
  readonly redisCpuMicros: number;
  readonly writtenBytes: number;
  readonly perSecond: number;
  readonly halfP99Ms: number;
  readonly failures: number;
}

/**
 * Measures the CPU time per request, in turns, of the service on each store and of the servers that it is compared
 * with.
 */
export async function measureCost(
  plan: BenchPlan,
  place: MeasuredServerSettings,
): Promise<readonly Figure[]> {
  const sqliteDir = join(plan.dataDir, 'cost-on-sqlite');
  mkdirSync(sqliteDir);
  const sqliteKey = await issueKey({ dataDir: sqliteDir });
  const onRedis = { DATA_DIR: place.dataDir, REDIS_URL: place.redisUrl };
  const envOf = (peer: Peer) => (peer === 'SQLite' ? { DATA_DIR: sqliteDir } : onRedis);
  const servers = new Map<Peer, MeasuredProcess>();
  const rounds = SUBJECTS.map((subject) => ({ ...subject, done: [] as Round[] }));
  try {
    for (const peer of PEERS) servers.set(peer, await startMeasuredProcess(SCRIPTS[peer], envOf(peer)));
    // Round 0 warms everything up and is not counted.
    for (let round = 0; round <= plan.rounds; round++) {
      for (const { peer, asks, done } of rounds) {
        plan.onProgress(`cost: round ${round} of ${plan.rounds}, ${peer}, ${asks}`);
        const server = servers.get(peer);
        if (server === undefined) throw new Error(`${peer} has no server`);
        const accessKey = peer === 'SQLite' ? sqliteKey : place.accessKey;
        const measured = await measureRound(plan.seconds, { ...place, accessKey }, server, asks);
        if (round > 0) done.push(measured);
      }
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
  return figures((peer, asks) => rounds.find((one) => one.peer === peer && one.asks === asks)?.done ?? []);
}

async function measureRound(
  seconds: number,
  { accessKey, redisPort }: MeasuredServerSettings,
  server: MeasuredProcess,
  asks: LoadKind,
): Promise<Round> {
  const load = { url: server.url, accessKey, connections: CONNECTIONS, seconds, asks };
  const writtenBefore = await server.writtenBytes();
  const cpuBefore = await server.cpuMicros();
  const redisBefore = (await readRedisInfo(redisPort, 'cpu')).cpuMicros;
  const full = await runLoad({ ...load, rate: null });
  const redisAfter = (await readRedisInfo(redisPort, 'cpu')).cpuMicros;
  const cpuAfter = await server.cpuMicros();
  const writtenAfter = await server.writtenBytes();
  const half = await runLoad({ ...load, rate: full.perSecond / 2 });
  return {
    cpuMicros: (cpuAfter - cpuBefore) / full.requests,
    redisCpuMicros: (redisAfter - redisBefore) / full.requests,
    writtenBytes: (writtenAfter - writtenBefore) / full.requests,
    perSecond: full.perSecond,
    halfP99Ms: half.p99Ms,
    failures: full.failures + half.failures,
  };
}

function figures(roundsOf: (peer: Peer, asks: LoadKind) => readonly Round[]): readonly Figure[] {
  const all = (peer: Peer, what: keyof Round, asks: LoadKind = 'verdict') =>
    roundsOf(peer, asks).map((round) => round[what]);
  const ratio = (peer: Peer, other: Peer, target: Figure['target'] = null): Figure =>
    figure(
      `${peer} CPU / ${other} CPU`,
      computeMedianRatio(all(peer, 'cpuMicros'), all(other, 'cpuMicros')),
      'x',
      target,
    );
  const column = (what: keyof Round, name: string, unit: string): readonly Figure[] =>
    PEERS.map((peer) => figure(`${peer}: ${name}`, computeMedian(all(peer, what)), unit));
  return [
    ratio('SQLite', 'skeleton', { atMost: 2.5 }),
    ratio('Redis', 'skeleton', { atMost: 2 }),
    ratio('naive peer', 'SQLite', { atLeast: 6 }),
    ratio('naive peer', 'Redis', { atLeast: 6 }),
    ratio('Redis', 'floor'),
    ...STORES.flatMap((store) => pairFigures(store, roundsOf)),
    ...column('cpuMicros', 'CPU a request', 'us'),
    ...PEERS.filter((peer) => peer !== 'floor' && peer !== 'SQLite').map((peer) =>
      figure(
        `${peer}: redis-server CPU a request`,
        computeMedian(all(peer, 'redisCpuMicros')),
        'us',
        peer === 'Redis' ? { atMost: 55 } : null,
      ),
    ),
    figure('SQLite: kB written a verdict', computeMedian(all('SQLite', 'writtenBytes')) / 1000, 'kB', {
      atMost: 8,
    }),
    ...column('perSecond', 'throughput at full load', '/s'),
    ...column('halfP99Ms', 'p99 at half load', 'ms'),
    ...SUBJECTS.map((subject) => failed(subject, all(subject.peer, 'failures', subject.asks))),
  ];
}

/**
 * Returns the figures of two requests as a checkout sends them: a score with a device, then a verdict under an
 * Idempotency-Key.
 */
function pairFigures(
  store: (typeof STORES)[number],
  roundsOf: (peer: Peer, asks: LoadKind) => readonly Round[],
): readonly Figure[] {
  const pair = (what: 'cpuMicros' | 'redisCpuMicros' | 'writtenBytes') =>
    roundsOf(store, 'pair').map((round) => 2 * round[what]);
  const bare = roundsOf(store, 'verdict').map(({ cpuMicros }) => cpuMicros);
  const name = `${store}: score with a device, then verdict under a key`;
  return [
    figure(`${name} / a bare verdict`, computeMedianRatio(pair('cpuMicros'), bare), 'x'),
    figure(`${name}: CPU`, computeMedian(pair('cpuMicros')), 'us'),
    store === 'Redis'
      ? figure(`${name}: CPU of redis-server`, computeMedian(pair('redisCpuMicros')), 'us')
      : figure(`${name}: kB written`, computeMedian(pair('writtenBytes')) / 1000, 'kB'),
  ];
}

/**
 * Returns the number of failed requests. On a machine that is too busy, some fail because the service gives up on
 * Redis after 200 ms and answers 503.
 */
function failed({ peer, asks }: Subject, failures: readonly number[]): Figure {
  const value = failures.reduce((sum, count) => sum + count, 0);
  const of = asks === 'pair' ? `${peer}, score and verdict` : peer;
  return figure(`${of}: requests that failed`, value, '', { atMost: 0 });
}
