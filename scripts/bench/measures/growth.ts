import { clientKey } from '../../../test/decision/payer/client-keys.ts';
import { command } from '../../../test/servers/redis-command.ts';
import { MEMORY_ONLY } from '../../../test/servers/redis-process.ts';
import { computeMedian, computeMedianRatio, createFigureMaker, type Figure } from '../figure.ts';
import { FilledRedis, type Payer } from '../filled-redis.ts';
import type { BenchPlan } from '../plan.ts';
import { BENCH_PLATFORM, decideSampleVerdict } from '../sample.ts';

const figure = createFigureMaker('growth');

const SMALL_STORE = 1000;
const WEIGHED_CLIENTS = 300;
const VERDICTS_A_ROUND = 200;
const MINUTE_MS = 60_000;
/** The number of the shared device. It is above the numbers of payers with their own devices. */
const SHARED = 10_000_000;

/** Measures the cost of more clients, of busier clients, and of devices that many clients share. */
export async function measureCostOfMoreClients(plan: BenchPlan): Promise<readonly Figure[]> {
  const [small, large] = [await FilledRedis.start(MEMORY_ONLY), await FilledRedis.start(MEMORY_ONLY)];
  small.nowMs = large.nowMs = Date.UTC(2026, 0, 1);
  try {
    plan.onProgress('growth: measuring the bytes of a client');
    const weight = await weigh(small);
    const sizes = await compareSizes(plan, small, large);
    const heat = await compareHeat(plan, small);
    const crowd = await compareCrowd(plan, small);
    return [...sizes, ...heat, ...crowd, weight];
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

/** Measures the bytes per client with a score, three attempts and one outcome. */
async function weigh(redis: FilledRedis): Promise<Figure> {
  await redis.forEachPayer(payers('weighed', WEIGHED_CLIENTS), async (payer) => {
    await redis.score(payer);
    await redis.verdict(payer, `${payer.name}-1`, null);
    await redis.outcome(payer, `${payer.name}-1`);
    for (const order of [2, 3]) await redis.verdict(payer, `${payer.name}-${order}`, null);
  });
  const bytes = Number(await command(redis.port, ['EVAL', KEPT_BYTES, '0']));
  await command(redis.port, ['EVAL', FORGET_PAYERS, '0']);
  const name = 'bytes a client: state and sharing counters';
  return figure(name, bytes / WEIGHED_CLIENTS, 'B', { atMost: 700 });
}

/** Sums the memory of states, fingerprints and addresses, whose keys begin with s:, f: and i:. */
const KEPT_BYTES = `
  local bytes = 0
  for _, key in ipairs(redis.call('KEYS', '[sfi]:*')) do
    bytes = bytes + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)
  end
  return bytes`;

/** Deletes all keys except those that identify the installation, because without these the store refuses every call. */
const FORGET_PAYERS = `
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if not (key:find('^installation:') or key:find('^register:') or key:find('^{documents}')) then
      redis.call('DEL', key)
    end
  end`;

async function compareSizes(plan: BenchPlan, small: FilledRedis, large: FilledRedis) {
  const { clients, rounds, onProgress } = plan;
  onProgress(`growth: filling a store with ${clients} clients`);
  await fill(small, SMALL_STORE);
  await fill(large, clients);
  const name = `p50 with ${clients.toLocaleString('en')} clients`;
  const ofLarge = (round: number) => latency(large, spread(round, clients));
  const ofSmall = (round: number) => latency(small, spread(round, SMALL_STORE));
  return inTurns(rounds, [name, ofLarge], ['with 1,000', ofSmall], { atMost: 1.2 });
}

async function compareHeat({ hotVerdicts, rounds, onProgress }: BenchPlan, redis: FilledRedis) {
  onProgress(`growth: ${hotVerdicts} verdicts of one client`);
  for (let index = 0; index < hotVerdicts; index++) {
    redis.nowMs += MINUTE_MS;
    await redis.verdict({ name: 'hot' }, `hot-${index}`, null);
  }
  const name = `p50 of a client with ${hotVerdicts.toLocaleString('en')} verdicts`;
  const ofHot = () => latency(redis, Array<string>(VERDICTS_A_ROUND).fill('hot'));
  const ofCold = (round: number) => latency(redis, spread(round, SMALL_STORE));
  return inTurns(rounds, [name, ofHot], ['of a cold one', ofCold]);
}

async function compareCrowd({ sharing, rounds, onProgress }: BenchPlan, redis: FilledRedis) {
  onProgress(`growth: ${sharing} clients on one fingerprint`);
  const shared = (payer: Payer) => ({ ...payer, number: SHARED });
  const crowded = payers('crowded', VERDICTS_A_ROUND).map(shared);
  const alone = payers('alone', VERDICTS_A_ROUND);
  await redis.forEachPayer([...payers('crowd', sharing).map(shared), ...crowded, ...alone], (payer) =>
    redis.score(payer),
  );
  const { nowMs } = redis;
  const soonAfter = (of: readonly Payer[]) => (round: number) => {
    // The verdict follows soon after the score, because a client's device is forgotten after a while.
    redis.nowMs = nowMs + round * MINUTE_MS;
    const names = of.map((payer) => payer.name);
    return latency(redis, names);
  };
  const name = `p50 on a fingerprint of ${sharing.toLocaleString('en')} clients`;
  return inTurns(rounds, [name, soonAfter(crowded)], ['on an own one', soonAfter(alone)]);
}

/** Asks for a verdict for each of these clients, one at a time. Returns the median duration in us. */
async function latency(redis: FilledRedis, names: readonly string[]): Promise<number> {
  const micros: number[] = [];
  for (const name of names) {
    redis.nowMs += MINUTE_MS;
    const start = performance.now();
    await redis.verdict({ name }, name, null);
    micros.push((performance.now() - start) * 1000);
  }
  return computeMedian(micros);
}

type Measured = readonly [name: string, micros: (round: number) => Promise<number>];

/** Takes two measurements in turn. The first round warms the store up for both measurements and is not counted. */
async function inTurns(
  rounds: number,
  [name, measure]: Measured,
  [otherName, measureOther]: Measured,
  target: Figure['target'] = null,
): Promise<readonly Figure[]> {
  const [values, others]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    values.push(await measure(round));
    others.push(await measureOther(round));
  }
  values.shift();
  others.shift();
  return [
    figure(`${name} / ${otherName}`, computeMedianRatio(values, others), 'x', target),
    figure(name, computeMedian(values), 'us'),
    figure(`${name.replace(/ (with|of|on) .*/, '')} ${otherName}`, computeMedian(others), 'us'),
  ];
}

/** Adds clients with the state after one verdict, without the record of the decision. */
async function fill(redis: FilledRedis, clients: number): Promise<void> {
  const { nextState: state } = decideSampleVerdict();
  const lifted = { kind: 'binding', at: state.lastAt, platform: BENCH_PLATFORM, binding: null } as const;
  await redis.forEachPayer(payers('filled', clients), async ({ name }) => {
    const client = clientKey(BENCH_PLATFORM, name);
    const { stamp } = await redis.store.load(client);
    await redis.store.commit({ client, stamp, state, entry: { ...lifted, clientIdKey: name } });
  });
}

/** Returns some of the added clients, with other ones in each round. */
function spread(round: number, clients: number): readonly string[] {
  return Array.from({ length: VERDICTS_A_ROUND }, (_, index) => {
    const place = (round * VERDICTS_A_ROUND + index) * 7919;
    return `filled-${place % clients}`;
  });
}

function payers(prefix: string, count: number): readonly Payer[] {
  return Array.from({ length: count }, (_, number) => ({ name: `${prefix}-${number}`, number }));
}
