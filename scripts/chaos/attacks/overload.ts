import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, atMost, type Figure, of, reported } from '../figure.ts';
import { sameOnEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { Load, latencyPercentile, payersInTurn, type Sample } from '../traffic/load.ts';
import type { Ask } from '../traffic/requests.ts';

const TIMES = [2, 5, 10] as const;
/** How many times as many callers ask for the mix of scores and verdicts: more than are taken as a burst. */
const MIX_TIMES = 10;
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
  limitSeconds: 540,
  run: (run) =>
    sameOnEachStore(run, async (store, place) => overloadOn(store, await startServiceNode(place), run)),
};

type Operation = 'score' | 'verdict';

/** The requests of this many payers. */
type Asks = (payers: number, prefix: string) => (n: number) => Ask;

/** The result of a load after it had settled. */
export interface Measured {
  /** Answered while it was measured. */
  readonly answered: readonly Sample[];
  readonly seconds: number;
  readonly memoryMib: number;
  /** Of one core: what the service used, and what the load generator did. */
  readonly cpuPercent: { readonly service: number; readonly generator: number };
}

/** A load of too many callers, with what came after it and the loads at peak around both. */
export interface Overload {
  readonly times: number;
  readonly over: Measured;
  readonly normal: Measured;
  readonly peaks: readonly [Measured, Measured];
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
  // Heap and archive take a while to reach the size that they keep: memory is compared with that after as long a time at peak.
  const { memoryMib: usualMib } = await load('peak-as-long', 1, TIMES.length * loadMs);
  const overloads: Overload[] = [];
  let before = await load('peak', 1);
  for (const times of TIMES) {
    const over = await load(`callers-${times}-times`, times);
    const normal = await load(`normal-after-${times}-times`, 1, NORMAL_WITHIN_MS);
    const after = await load(`peak-after-${times}-times`, 1);
    overloads.push({ times, over, normal, peaks: [before, after] });
    before = after;
  }
  const mixBefore = await load('mix-before', 1, loadMs, scoresAndVerdicts);
  const mix = await load(`mix-${MIX_TIMES}-times`, MIX_TIMES, loadMs, scoresAndVerdicts);
  const mixAfter = await load('mix-after', 1, loadMs, scoresAndVerdicts);
  return [
    reported('peak: memory', `${usualMib.toFixed(0)} MiB`),
    ...overloads.flatMap((one) =>
      of(`${one.times} x callers`, [
        ...overFigures(one),
        atMost('memory above that at peak', one.over.memoryMib - usualMib, 50, 'MiB'),
      ]),
    ),
    ...of(`${MIX_TIMES} x mix`, mixFigures(mix, [mixBefore, mixAfter])),
  ];
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
  const generatorFrom = process.cpuUsage();
  const serviceFromSeconds = service.cpuSeconds();
  await delay(loadMs);
  const untilMs = performance.now();
  const seconds = (untilMs - fromMs) / 1000;
  const { user, system } = process.cpuUsage(generatorFrom);
  const cpuPercent = {
    service: percentOf(service.cpuSeconds() - serviceFromSeconds, seconds),
    generator: percentOf((user + system) / 1e6, seconds),
  };
  const memoryMib = service.memoryMib();
  const samples = await load.stop();
  return {
    answered: samples.filter(({ answeredAtMs }) => answeredAtMs >= fromMs && answeredAtMs < untilMs),
    seconds,
    memoryMib,
    cpuPercent,
  };
}

/**
 * The result of an overload as a share of the mean of the peak loads right before and after it, because the machine
 * may have other work.
 */
export function overFigures({ over, normal, peaks }: Omit<Overload, 'times'>): readonly Figure[] {
  const peakGiven = mean(peaks.map((peak) => given(peak)));
  const peakP99Ms = mean(peaks.map(acceptedP99Ms));
  const refusedASecond = over.answered.length / over.seconds - given(over);
  return [
    reported(
      `verdicts a second at peak before, over, and at peak after`,
      [peaks[0], over, peaks[1]].map(perSecond).join(', '),
    ),
    reported(`refused a second`, refusedASecond.toFixed(0)),
    reported(
      `CPU of service and load generator, of a core, at peak and over`,
      [peaks[0], over].map(cpuText).join(', then '),
    ),
    atLeast(`goodput of peak`, percentOf(given(over), peakGiven), 90, '%'),
    reported(
      `p99 at peak before, over, and at peak after`,
      `${[peaks[0], over, peaks[1]].map((load) => acceptedP99Ms(load).toFixed(1)).join(', ')} ms`,
    ),
    atMost(`accepted p99 of peak`, percentOf(acceptedP99Ms(over), peakP99Ms), 300, '%'),
    reported(
      `longest time without an answer to anybody, over and within 5 s after`,
      `${[over, normal].map((load) => longestSilenceMs(load).toFixed(0)).join(' and ')} ms`,
    ),
    atLeast(`goodput of peak within 5 s after`, percentOf(given(normal), peakGiven), 90, '%'),
    atMost(`p99 of peak within 5 s after`, percentOf(acceptedP99Ms(normal), peakP99Ms), 150, '%'),
  ];
}

/** Under a mix of both, it is scores that are refused first: what was left of each, of what there was at peak on average. */
export function mixFigures(mix: Measured, peaks: readonly [Measured, Measured]): readonly Figure[] {
  const ofPeak = (operation: Operation) =>
    percentOf(given(mix, operation), mean(peaks.map((peak) => given(peak, operation))));
  const scores = ofPeak('score');
  const verdicts = ofPeak('verdict');
  const scoresRefused = refusedPercent(mix, 'score');
  const verdictsRefused = refusedPercent(mix, 'verdict');
  return [
    reported(
      `verdicts a second at peak before, in the mix, and at peak after`,
      [peaks[0], mix, peaks[1]].map(perSecond).join(', '),
    ),
    reported(`scores a second, of the mix at peak`, `${scores} %`),
    atLeast(`verdicts a second, of the mix at peak`, verdicts, 90, '%'),
    reported(`refused of scores and of verdicts`, `${scoresRefused} % and ${verdictsRefused} %`),
    atLeast(`scores refused beyond verdicts`, scoresRefused - verdictsRefused, 1, '%'),
  ];
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

/** The longest time between two answers of 200, which shows whether a low goodput was slow throughout or stalled. */
function longestSilenceMs({ answered }: Measured): number {
  const momentsMs = answered.filter(({ status }) => status === 200).map(({ answeredAtMs }) => answeredAtMs);
  return momentsMs
    .toSorted((a, b) => a - b)
    .reduce((longest, moment, n, moments) => Math.max(longest, moment - (moments[n - 1] ?? moment)), 0);
}

function cpuText({ cpuPercent: { service, generator } }: Measured): string {
  return `${service} % and ${generator} %`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function perSecond(measured: Measured): string {
  return String(Math.round(given(measured)));
}

function percentOf(value: number, whole: number): number {
  return Math.round((100 * value) / whole);
}
