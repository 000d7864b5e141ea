import { type Figure, figuresOf, median, medianRatio } from '../figure.ts';
import { redisInfo } from '../filled-redis.ts';
import { type Asks, runLoad } from '../load.ts';
import { type MeasuredProcess, startMeasured } from '../measured-process.ts';
import type { Plan } from '../plan.ts';

const figure = figuresOf('cost');

/** The Redis and the folder that servers use, and the key that they accept. */
export interface OnRedis {
  readonly redisUrl: string;
  readonly redisPort: number;
  readonly dataDir: string;
  readonly accessKey: string;
}

const CONNECTIONS = 32;

const PEERS = ['floor', 'skeleton', 'naive peer', 'service'] as const;

type Peer = (typeof PEERS)[number];

const SCRIPTS: Readonly<Record<Peer, string>> = {
  floor: 'scripts/bench/servers/floor.ts',
  skeleton: 'scripts/bench/servers/skeleton.ts',
  'naive peer': 'scripts/bench/servers/naive-peer.ts',
  service: 'src/main.ts',
};

/**
 * What is measured: a plain verdict on each server, and on the service also a score and a verdict as for a real
 * payment.
 */
const SUBJECTS = [...PEERS, 'pair'] as const;

type Subject = (typeof SUBJECTS)[number];

/** One round of one server. */
interface Round {
  readonly cpuMicros: number;
  readonly redisCpuMicros: number;
  readonly perSecond: number;
  readonly halfP99Ms: number;
  readonly failures: number;
}

/** Measures the CPU time per request on Redis, of the service and of its peers in turn. */
export async function measureCost(plan: Plan, place: OnRedis): Promise<readonly Figure[]> {
  const env = { DATA_DIR: place.dataDir, REDIS_URL: place.redisUrl };
  const servers = new Map<Peer, MeasuredProcess>();
  const rounds = new Map<Subject, Round[]>(SUBJECTS.map((subject) => [subject, []]));
  try {
    for (const peer of PEERS) servers.set(peer, await startMeasured(SCRIPTS[peer], env));
    // Round 0 warms everything up and is not counted.
    for (let round = 0; round <= plan.rounds; round++) {
      for (const subject of SUBJECTS) {
        plan.onProgress(`cost: round ${round} of ${plan.rounds}, ${subject}`);
        const measured = await measureRound(plan.seconds, place, serverOf(servers, subject), asksOf(subject));
        if (round > 0) rounds.get(subject)?.push(measured);
      }
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
  return figures((subject) => rounds.get(subject) ?? []);
}

function serverOf(servers: ReadonlyMap<Peer, MeasuredProcess>, subject: Subject): MeasuredProcess {
  const server = servers.get(subject === 'pair' ? 'service' : subject);
  if (server === undefined) throw new Error(`${subject} has no server`);
  return server;
}

function asksOf(subject: Subject): Asks {
  return subject === 'pair' ? 'pair' : 'verdict';
}

async function measureRound(
  seconds: number,
  { accessKey, redisPort }: OnRedis,
  server: MeasuredProcess,
  asks: Asks,
): Promise<Round> {
  const load = { url: server.url, accessKey, connections: CONNECTIONS, seconds, asks };
  const cpuBefore = await server.cpuMicros();
  const redisBefore = (await redisInfo(redisPort, 'cpu')).cpuMicros;
  const full = await runLoad({ ...load, rate: null });
  const redisAfter = (await redisInfo(redisPort, 'cpu')).cpuMicros;
  const cpuAfter = await server.cpuMicros();
  const half = await runLoad({ ...load, rate: full.perSecond / 2 });
  return {
    cpuMicros: (cpuAfter - cpuBefore) / full.requests,
    redisCpuMicros: (redisAfter - redisBefore) / full.requests,
    perSecond: full.perSecond,
    halfP99Ms: half.p99Ms,
    failures: full.failures + half.failures,
  };
}

function figures(roundsOf: (subject: Subject) => readonly Round[]): readonly Figure[] {
  const all = (subject: Subject, what: keyof Round) => roundsOf(subject).map((round) => round[what]);
  const cpu = (peer: Peer) => all(peer, 'cpuMicros');
  const ratio = (peer: Peer, target: Figure['target']): Figure =>
    figure(`service CPU / ${peer} CPU`, medianRatio(cpu('service'), cpu(peer)), 'x', target);
  const column = (
    what: keyof Round,
    name: string,
    unit: string,
    ofService: Figure['target'] = null,
  ): readonly Figure[] =>
    PEERS.map((peer) =>
      figure(`${peer}: ${name}`, median(all(peer, what)), unit, peer === 'service' ? ofService : null),
    );
  const pair = (what: 'cpuMicros' | 'redisCpuMicros') => all('pair', what).map((each) => 2 * each);
  const headline = 'score with a device, then a verdict under a key';
  return [
    figure(`${headline}: CPU of the service`, median(pair('cpuMicros')), 'us'),
    figure(`${headline}: CPU of redis-server`, median(pair('redisCpuMicros')), 'us'),
    figure(`${headline} / a bare verdict`, medianRatio(pair('cpuMicros'), cpu('service')), 'x'),
    ratio('skeleton', { atMost: 2 }),
    ratio('naive peer', { atMost: 1 / 6 }),
    ratio('floor', null),
    ...column('cpuMicros', 'CPU a request', 'us'),
    ...column('redisCpuMicros', 'redis-server CPU a request', 'us', { atMost: 55 }).slice(1),
    ...column('perSecond', 'throughput at full load', '/s'),
    ...column('halfP99Ms', 'p99 at half load', 'ms'),
    ...SUBJECTS.map((subject) => failed(subject, all(subject, 'failures'))),
  ];
}

/** On a machine that is too busy, the service gives up on Redis after 200 ms and answers 503. */
function failed(subject: Subject, failures: readonly number[]): Figure {
  const value = failures.reduce((sum, count) => sum + count, 0);
  return figure(`${subject}: requests that failed`, value, '', { atMost: 0 });
}
