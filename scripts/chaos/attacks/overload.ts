import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, atMost, type Figure, prefixFigures, reported } from '../figure.ts';
import { runSameOnEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { computeLatencyPercentile, createLoadRequestFactory, LoadGenerator } from '../traffic/load.ts';

const TIMES = [2, 5, 10] as const;
/**
 * The number of callers at which the service gives the most verdicts. It is just enough for the service to have work
 * at any time.
 */
const CALLERS_AT_PEAK = 32;
const CLIENTS = 5_000;
const WARM_UP_MS = 4_000;
/** The length, in ms, of the first part of a load, which the figures leave out. */
const SETTLE_MS = 1_000;
const NORMAL_WITHIN_MS = 5_000;
const LOAD_MS = { full: 8_000, quick: 3_000 };

/** Runs more callers than the service can serve. Each caller asks again as soon as it has an answer. */
export const overload: Scenario = {
  name: 'overload',
  does: 'Lets callers ask without a pause: 2, 5 and 10 times as many as give the highest throughput, on SQLite and on Redis. Goodput, latency and memory must hold, and all must be normal again after 5 s.',
  limitSeconds: 540,
  run: (run) =>
    runSameOnEachStore(run, async (store, place) => runOverload(store, await startServiceNode(place), run)),
};

/** The result of a load after it had settled. */
interface Measured {
  readonly verdictsASecond: number;
  /** The p99 of the verdicts that were given. */
  readonly p99Ms: number;
  readonly memoryMib: number;
}

/**
 * The results of a load of too many callers, of the normal load after it, and of the peak loads before and after
 * these two.
 */
interface Overload {
  readonly over: Measured;
  readonly normal: Measured;
  readonly peaks: readonly [Measured, Measured];
}

async function runOverload(
  store: string,
  service: ServiceNode,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const loadMs = LOAD_MS[quick ? 'quick' : 'full'];
  const load = (name: string, times: number, ms = loadMs) => {
    report(`${store}: ${name}`);
    return measure(service, times * CALLERS_AT_PEAK, ms, `${name}-`);
  };
  await load('warm-up', 1, WARM_UP_MS);
  // Heap and archive take a while to reach the size that they keep. So memory is compared with that after a peak load
  // of the same length.
  const { memoryMib } = await load('peak-as-long', 1, TIMES.length * loadMs);
  const figures = [reported('memory at the peak load', `${memoryMib.toFixed(0)} MiB`)];
  let before = await load('peak', 1);
  for (const times of TIMES) {
    const over = await load(`callers-${times}-times`, times);
    const normal = await load(`normal-after-${times}-times`, 1, NORMAL_WITHIN_MS);
    const after = await load(`peak-after-${times}-times`, 1);
    const above = atMost('memory above the peak load', over.memoryMib - memoryMib, 50, 'MiB');
    figures.push(
      ...prefixFigures(`${times} x callers`, [
        ...toOverloadFigures({ over, normal, peaks: [before, after] }),
        above,
      ]),
    );
    before = after;
  }
  return figures;
}

async function measure(
  service: ServiceNode,
  connections: number,
  loadMs: number,
  prefix: string,
): Promise<Measured> {
  const ask = createLoadRequestFactory(CLIENTS, prefix);
  const load = new LoadGenerator({ target: service, connections, ratePerSecond: null, ask });
  await delay(SETTLE_MS);
  const fromMs = performance.now();
  await delay(loadMs);
  const untilMs = performance.now();
  const memoryMib = service.memoryMib();
  const given = (await load.stop()).filter(
    ({ status, answeredAtMs }) => status === 200 && answeredAtMs >= fromMs && answeredAtMs < untilMs,
  );
  const verdictsASecond = (1000 * given.length) / (untilMs - fromMs);
  return { verdictsASecond, p99Ms: computeLatencyPercentile(given, 99), memoryMib };
}

/**
 * Returns the figures of an overload. They are shares of the mean of the peak loads right before and after it,
 * because the machine may have other work.
 */
export function toOverloadFigures({ over, normal, peaks }: Overload): readonly Figure[] {
  const percentOfPeak = (measured: Measured, what: keyof Measured) =>
    Math.round((200 * measured[what]) / (peaks[0][what] + peaks[1][what]));
  const inTurn = [peaks[0], over, peaks[1]];
  return [
    reported(
      'verdicts a second: peak load before, overload, peak load after',
      inTurn.map(({ verdictsASecond }) => verdictsASecond.toFixed(0)).join(', '),
    ),
    reported(
      'p99: peak load before, overload, peak load after',
      `${inTurn.map(({ p99Ms }) => p99Ms.toFixed(1)).join(', ')} ms`,
    ),
    atLeast('goodput against the peak load', percentOfPeak(over, 'verdictsASecond'), 90, '%'),
    atMost('p99 of accepted requests against the peak load', percentOfPeak(over, 'p99Ms'), 300, '%'),
    atLeast(
      'goodput against the peak load, within 5 s after',
      percentOfPeak(normal, 'verdictsASecond'),
      90,
      '%',
    ),
    atMost('p99 against the peak load, within 5 s after', percentOfPeak(normal, 'p99Ms'), 150, '%'),
  ];
}
