import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '../../../test/servers/redis.ts';
import { atLeast, atMost, type Figure, reported } from '../figure.ts';
import { onEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { type Ask, Load, latencyPercentile, payersInTurn, type Sample } from '../traffic/load.ts';

const TIMES = [2, 5, 10] as const;
/** How many times as many callers ask for the mix of scores and verdicts. */
const MIX_TIMES = 5;
/** Enough for the service to have work at any time, and no more: where it gives most verdicts. */
const CALLERS_AT_PEAK = 32;
const CLIENTS = 5_000;
const WARM_UP_MS = 4_000;
/** What a load does before this is left out of its figures. */
const SETTLE_MS = 1_000;
const NORMAL_WITHIN_MS = 5_000;
const LOAD_MS = 8_000;
const QUICK_LOAD_MS = 3_000;

/** More callers than the service can serve, each asking again as soon as it is answered. */
export const overload: Scenario = {
  name: 'overload',
  does: 'callers that never pause, 2, 5 and 10 times as many as give the most verdicts, on SQLite and on Redis: goodput, latency and memory hold, verdicts go before scores, and all is normal within 5 s',
  limitSeconds: 420,
  run: (run) =>
    onEachStore(
      run,
      () => underSqlite(run),
      () => underRedis(run),
    ),
};

type Operation = 'score' | 'verdict';

/** What so many payers ask for. */
type Asks = (payers: number, prefix: string) => (n: number) => Ask;

/** What a load came to, after it had settled. */
export interface Measured {
  /** Answered while it was measured. */
  readonly answered: readonly Sample[];
  readonly seconds: number;
  readonly memoryMib: number;
}

async function underSqlite(run: ScenarioRun): Promise<readonly Figure[]> {
  const service = await startServiceNode();
  return await overloadOn('SQLite', service, run);
}

async function underRedis(run: ScenarioRun): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  const service = await startServiceNode({ redisUrl: redis.url });
  const figures = await overloadOn('Redis', service, run);
  return figures;
}

async function overloadOn(
  store: string,
  service: ServiceNode,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const loadMs = quick ? QUICK_LOAD_MS : LOAD_MS;
  const load = (name: string, times: number, ms = loadMs, asks: Asks = payersInTurn) => {
    report(`${store}: ${name}`);
    return measure(service, times * CALLERS_AT_PEAK, ms, asks(CLIENTS, `${name}-`));
  };
  await load('warm-up', 1, WARM_UP_MS);
  const before = await load('peak-before', 1);
  // Heap and archive take a while to reach the size that they keep: memory is compared with that after as long a time at peak.
  const { memoryMib: usualMib } = await load('peak-as-long', 1, TIMES.length * loadMs);
  const overloads = [];
  for (const times of TIMES) overloads.push({ times, over: await load(`callers-${times}-times`, times) });
  const normal = await load('normal-again', 1, NORMAL_WITHIN_MS);
  const after = await load('peak-after', 1);
  const mixBefore = await load('mix-before', 1, loadMs, scoresAndVerdicts);
  const mix = await load(`mix-${MIX_TIMES}-times`, MIX_TIMES, loadMs, scoresAndVerdicts);
  const mixAfter = await load('mix-after', 1, loadMs, scoresAndVerdicts);
  const peak = better(before, after);
  return [
    reported('verdicts a second at peak, before and after', `${perSecond(before)} and ${perSecond(after)}`),
    reported('peak: p99', `${acceptedP99Ms(peak).toFixed(1)} ms`),
    reported('peak: memory', `${usualMib.toFixed(0)} MiB`),
    ...overloads.flatMap(({ times, over }) => [
      ...overFigures(`${times} x callers`, over, peak),
      atMost(`${times} x callers: memory above that at peak`, over.memoryMib - usualMib, 50, 'MiB'),
    ]),
    atLeast('5 s after: goodput of peak', percentOf(given(normal), given(peak)), 90, '%'),
    atMost('5 s after: p99 of peak', percentOf(acceptedP99Ms(normal), acceptedP99Ms(peak)), 150, '%'),
    ...mixFigures(`${MIX_TIMES} x mix`, mix, better(mixBefore, mixAfter)),
  ].map((figure) => ({ ...figure, figure: `${store}: ${figure.figure}` }));
}

/** Each payer is scored first, as in a checkout. */
function scoresAndVerdicts(payers: number, prefix: string): (n: number) => Ask {
  const ask = payersInTurn(payers, prefix);
  return (n) => ({ ...ask(Math.floor(n / 2)), operation: n % 2 === 0 ? 'score' : 'verdict' });
}

async function measure(
  service: ServiceNode,
  connections: number,
  loadMs: number,
  ask: (n: number) => Ask,
): Promise<Measured> {
  const load = new Load({ target: service, connections, ratePerSecond: null, ask });
  await delay(SETTLE_MS);
  const fromMs = performance.now();
  await delay(loadMs);
  const untilMs = performance.now();
  const memoryMib = service.memoryMib();
  const samples = await load.stop();
  return {
    answered: samples.filter(({ answeredAtMs }) => answeredAtMs >= fromMs && answeredAtMs < untilMs),
    seconds: (untilMs - fromMs) / 1000,
    memoryMib,
  };
}

function overFigures(name: string, over: Measured, peak: Measured): readonly Figure[] {
  const offered = over.answered.length / over.seconds;
  return [
    reported(`${name}: offered, of peak`, `${percentOf(offered, given(peak))} %`),
    atLeast(`${name}: goodput of peak`, percentOf(given(over), given(peak)), 90, '%'),
    atMost(`${name}: accepted p99 of peak`, percentOf(acceptedP99Ms(over), acceptedP99Ms(peak)), 300, '%'),
  ];
}

/** Under a mix of both, it is scores that are refused first: what was left of each, of what there was at peak. */
export function mixFigures(name: string, mix: Measured, peak: Measured): readonly Figure[] {
  const scores = percentOf(given(mix, 'score'), given(peak, 'score'));
  const verdicts = percentOf(given(mix), given(peak));
  const scoresRefused = refusedPercent(mix, 'score');
  const verdictsRefused = refusedPercent(mix, 'verdict');
  return [
    reported(`${name}: scores a second, of the mix at peak`, `${scores} %`),
    atLeast(`${name}: verdicts a second, of the mix at peak`, verdicts, 90, '%'),
    reported(`${name}: refused of scores and of verdicts`, `${scoresRefused} % and ${verdictsRefused} %`),
    atLeast(`${name}: scores refused beyond verdicts`, scoresRefused - verdictsRefused, 1, '%'),
  ];
}

/** The one that gave more verdicts: a machine that was busier at first would flatter what comes later. */
export function better(one: Measured, other: Measured): Measured {
  return given(one) >= given(other) ? one : other;
}

/** Answered 200, a second. */
function given({ answered, seconds }: Measured, operation: Operation = 'verdict'): number {
  return answered.filter((sample) => isOf(sample, operation) && sample.status === 200).length / seconds;
}

function acceptedP99Ms({ answered }: Measured): number {
  return latencyPercentile(
    answered.filter(({ status }) => status === 200),
    99,
  );
}

/** NaN when none was answered. */
function refusedPercent({ answered }: Measured, operation: Operation): number {
  const asked = answered.filter((sample) => isOf(sample, operation));
  return percentOf(asked.filter(({ status }) => status === 503).length, asked.length);
}

function isOf({ operation = 'verdict' }: Ask, wanted: Operation): boolean {
  return operation === wanted;
}

function perSecond(measured: Measured): string {
  return String(Math.round(given(measured)));
}

function percentOf(value: number, whole: number): number {
  return Math.round((100 * value) / whole);
}
