import { setTimeout as delay } from 'node:timers/promises';
import { Load, latencyMs, percentile, type Sample } from './load.ts';
import { atLeast, atMost, type Figure, reported, type Scenario, type ScenarioRun } from './scenario.ts';
import { type ServiceProcess, startService } from './service-process.ts';

const TIMES = [2, 5, 10] as const;
/** Enough for the service to have work at any time, and no more: where it gives most verdicts. */
const CALLERS_AT_PEAK = 32;
const CLIENTS = 5_000;
const TIMEOUT_MS = 10_000;
const WARM_UP_MS = 4_000;
/** What a load does before this is left out of its figures. */
const SETTLE_MS = 1_000;
const NORMAL_WITHIN_MS = 5_000;

/** More callers than the service can serve, each asking again as soon as it is answered. */
export const overload: Scenario = {
  name: 'overload',
  does: 'callers that never pause, 2, 5 and 10 times as many as give the most verdicts: goodput, latency and memory hold, and all is normal within 5 s',
  limitSeconds: 240,
  run,
};

/** What a load came to, after it had settled. */
interface Measured {
  readonly goodputPerSecond: number;
  readonly acceptedP99Ms: number;
  readonly offeredPerSecond: number;
  readonly memoryMib: number;
}

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const loadMs = quick ? 3_000 : 8_000;
  const service = await startService();
  try {
    await measure(service, 'warm-up', CALLERS_AT_PEAK, WARM_UP_MS);
    const peak = await measure(service, 'peak', CALLERS_AT_PEAK, loadMs);
    const figures = [
      reported('peak: verdicts a second', String(Math.round(peak.goodputPerSecond))),
      reported('peak: p99', `${Math.round(peak.acceptedP99Ms * 10) / 10} ms`),
    ];
    for (const times of TIMES) {
      report(`${times} times as many callers`);
      const over = await measure(service, `over-${times}`, times * CALLERS_AT_PEAK, loadMs);
      figures.push(...figuresOf(times, over, peak));
    }
    const normal = await measure(service, 'normal', CALLERS_AT_PEAK, NORMAL_WITHIN_MS);
    figures.push(
      atLeast(
        '5 s after: goodput of peak',
        percentOf(normal.goodputPerSecond, peak.goodputPerSecond),
        90,
        '%',
      ),
      atMost('5 s after: p99 of peak', percentOf(normal.acceptedP99Ms, peak.acceptedP99Ms), 150, '%'),
    );
    return figures;
  } finally {
    await service.stop();
  }
}

function figuresOf(times: number, over: Measured, peak: Measured): readonly Figure[] {
  const name = `${times} x callers`;
  return [
    reported(`${name}: offered, of peak`, `${percentOf(over.offeredPerSecond, peak.goodputPerSecond)} %`),
    atLeast(`${name}: goodput of peak`, percentOf(over.goodputPerSecond, peak.goodputPerSecond), 90, '%'),
    atMost(`${name}: accepted p99 of peak`, percentOf(over.acceptedP99Ms, peak.acceptedP99Ms), 300, '%'),
    atMost(`${name}: memory above peak`, over.memoryMib - peak.memoryMib, 50, 'MiB'),
  ];
}

function percentOf(value: number, whole: number): number {
  return Math.round((100 * value) / whole);
}

async function measure(
  service: ServiceProcess,
  name: string,
  connections: number,
  loadMs: number,
): Promise<Measured> {
  const load = new Load({
    target: service,
    connections,
    ratePerSecond: null,
    idempotent: false,
    timeoutMs: TIMEOUT_MS,
    ask: (n) => ({ clientIdKey: `${name}-payer-${n % CLIENTS}`, orderRef: `${name}-order-${n}` }),
  });
  await delay(SETTLE_MS);
  const fromMs = performance.now();
  await delay(loadMs);
  const untilMs = performance.now();
  const memoryMib = service.memoryMib();
  const samples = await load.stop();
  return { ...rates(samples, fromMs, untilMs), memoryMib };
}

function rates(samples: readonly Sample[], fromMs: number, untilMs: number): Omit<Measured, 'memoryMib'> {
  const answered = samples.filter(({ answeredAtMs }) => answeredAtMs >= fromMs && answeredAtMs < untilMs);
  const accepted = answered.filter(({ status }) => status === 200);
  const seconds = (untilMs - fromMs) / 1000;
  return {
    goodputPerSecond: accepted.length / seconds,
    offeredPerSecond: answered.length / seconds,
    acceptedP99Ms: percentile(accepted.map(latencyMs), 99),
  };
}
