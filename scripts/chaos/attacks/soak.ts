import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { computeLatencyPercentile, computePercentile, LoadGenerator, selectFailed } from '../traffic/load.ts';

const SOAK_SECONDS = { full: 600, quick: 60 };
/** The load is run in this many parts, so that the load generator itself needs little memory. */
const LOOKS = 60;
const CAPACITY_MS = 4000;
const CONNECTIONS = 16;
const CLIENTS = 5000;
/** This first share of the run is not compared, because caches fill and code is compiled then. */
const WARM_UP_SHARE = 0.2;
const HEAP_GROWTH_MIB_MAX = 10;
const HANDLES_MORE_MAX = 5;
const MIB = 1024 * 1024;

/** The service's own gauges at one time. */
interface GaugeReadings {
  readonly heapMib: number;
  readonly handles: number;
}

export const soak: Scenario = {
  name: 'soak',
  does: 'Runs for ten minutes at half of the load that the service can bear. Heap and handles must stay flat.',
  limitSeconds: 800,
  run: async (run) => soakAtHalfLoad(await startServiceNode(), run),
};

async function soakAtHalfLoad(
  service: ServiceNode,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const atFull = startLoad(service, null, 0);
  await delay(CAPACITY_MS);
  const full = await atFull.stop();
  const perSecond = Math.max(1, Math.floor(full.length / (CAPACITY_MS / 1000) / 2));
  const seconds = SOAK_SECONDS[quick ? 'quick' : 'full'];
  report(`runs ${seconds} s at ${perSecond} verdicts a second, which is half of what this machine can do`);
  const looks: GaugeReadings[] = [];
  const latenciesMs: number[] = [];
  let asked = full.length;
  let failures = 0;
  for (let look = 1; look <= LOOKS; look++) {
    const load = startLoad(service, perSecond, asked);
    await delay((seconds / LOOKS) * 1000);
    const answer = await fetch(`${service.platformUrl}/metrics`, { headers: { Connection: 'close' } });
    looks.push(parseHeapAndHandles(await answer.text()));
    const samples = await load.stop();
    asked += samples.length + load.skipped;
    failures += selectFailed(samples).length;
    latenciesMs.push(computeLatencyPercentile(samples, 99));
    if (look % 10 === 0) report(`look ${look} of ${LOOKS}: ${JSON.stringify(looks.at(-1))}`);
  }
  return [
    reported('half load', `${perSecond}/s for ${seconds} s on SQLite`),
    ...computeSoakFigures(looks),
    never('requests without a 200', failures),
    reported('median of the p99s of all looks', `${computePercentile(latenciesMs, 50).toFixed(1)} ms`),
  ];
}

/**
 * Compares late readings with early ones: the lowest heap, which is the heap after a garbage collection, and the
 * median number of handles.
 */
export function computeSoakFigures(looks: readonly GaugeReadings[]): readonly Figure[] {
  const warm = looks.slice(Math.floor(looks.length * WARM_UP_SHARE));
  const third = Math.floor(warm.length / 3);
  const [early, late] = [warm.slice(0, third), warm.slice(-third)];
  const floor = (some: readonly GaugeReadings[]) => Math.min(...some.map(({ heapMib }) => heapMib));
  const handles = (some: readonly GaugeReadings[]) => {
    const counts = some.map((look) => look.handles);
    return computePercentile(counts, 50);
  };
  const compared = 'growth from the first to the last third';
  return [
    atMost(`heap floor: ${compared}`, floor(late) - floor(early), HEAP_GROWTH_MIB_MAX, 'MiB'),
    atMost(`handles: ${compared}`, handles(late) - handles(early), HANDLES_MORE_MAX),
    reported(
      'heap floor in the first and the last third',
      `${floor(early).toFixed(1)} and ${floor(late).toFixed(1)} MiB`,
    ),
  ];
}

function startLoad(target: ServiceNode, ratePerSecond: number | null, from: number): LoadGenerator {
  return new LoadGenerator({
    target,
    connections: CONNECTIONS,
    ratePerSecond,
    ask: (n) => ({ clientIdKey: `payer-${(from + n) % CLIENTS}`, orderRef: `soak-${from + n}` }),
  });
}

/** Reads Node's default gauges from the text of the metrics. A missing gauge is NaN. */
export function parseHeapAndHandles(metrics: string): GaugeReadings {
  const gauge = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
  return {
    heapMib: gauge('nodejs_heap_size_used_bytes') / MIB,
    handles: gauge('nodejs_active_handles_total'),
  };
}
