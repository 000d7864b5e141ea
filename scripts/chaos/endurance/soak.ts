import { setTimeout as delay } from 'node:timers/promises';
import { atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, Load, latencyPercentile, percentile } from '../traffic/load.ts';

const SOAK_SECONDS = 600;
const QUICK_SOAK_SECONDS = 60;
const LOOKS = 60;
/** Several loads in a row, so that the generator itself needs little memory. */
const CAPACITY_MS = 4000;
const CONNECTIONS = 16;
const CLIENTS = 5000;
/** Caches fill and code is compiled during the first part, which is not compared. */
const WARM_UP_SHARE = 0.2;
const HEAP_GROWTH_MIB_MAX = 10;
const HANDLES_MORE_MAX = 5;
const MIB = 1024 * 1024;

/** The service's own metrics at one time. */
export interface Look {
  readonly heapMib: number;
  readonly residentMib: number;
  readonly handles: number;
}

export const soak: Scenario = {
  name: 'soak',
  does: 'ten minutes at half of the load that the service can bear: heap and handles stay flat',
  limitSeconds: 800,
  run: async (run) => {
    const service = await startServiceNode();
    return await soakAtHalfLoad(service, run);
  },
};

async function soakAtHalfLoad(
  service: ServiceNode,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const atFull = startLoad(service, null, 0);
  await delay(CAPACITY_MS);
  const full = await atFull.stop();
  const perSecond = Math.max(1, Math.floor(full.length / (CAPACITY_MS / 1000) / 2));
  const seconds = quick ? QUICK_SOAK_SECONDS : soakSeconds();
  report(`${seconds} s at ${perSecond} verdicts a second, half of what this machine reached`);
  const looks: Look[] = [];
  const latenciesMs: number[] = [];
  let asked = full.length;
  let failures = 0;
  for (let look = 1; look <= LOOKS; look++) {
    const load = startLoad(service, perSecond, asked);
    await delay((seconds / LOOKS) * 1000);
    looks.push(await lookAt(service));
    const samples = await load.stop();
    asked += samples.length + load.skipped;
    failures += failed(samples).length;
    latenciesMs.push(latencyPercentile(samples, 99));
    if (look % 10 === 0) report(`look ${look} of ${LOOKS}: ${describe(looks.at(-1))}`);
  }
  return [
    reported('half load', `${perSecond}/s for ${seconds} s on SQLite`),
    ...flatness(looks),
    never('requests not answered 200', failures),
    reported('median of the p99s between two looks', `${percentile(latenciesMs, 50).toFixed(1)} ms`),
  ];
}

/** Compares late with early looks: the lowest heap, which is that after a collection, and the handles. */
export function flatness(looks: readonly Look[]): readonly Figure[] {
  const warm = looks.slice(Math.floor(looks.length * WARM_UP_SHARE));
  const third = Math.floor(warm.length / 3);
  const early = warm.slice(0, third);
  const late = warm.slice(-third);
  const floor = (some: readonly Look[]) => Math.min(...some.map(({ heapMib }) => heapMib));
  const handles = (some: readonly Look[]) =>
    percentile(
      some.map((look) => look.handles),
      50,
    );
  const resident = (some: readonly Look[]) =>
    percentile(
      some.map(({ residentMib }) => residentMib),
      50,
    );
  return [
    atMost(
      'heap floor, last third against first after warm-up',
      floor(late) - floor(early),
      HEAP_GROWTH_MIB_MAX,
      'MiB',
    ),
    atMost(
      'handles, last third against first after warm-up',
      handles(late) - handles(early),
      HANDLES_MORE_MAX,
    ),
    reported('heap floor first and last', `${floor(early).toFixed(1)} and ${floor(late).toFixed(1)} MiB`),
    reported(
      'resident memory first and last, medians',
      `${resident(early).toFixed(0)} and ${resident(late).toFixed(0)} MiB`,
    ),
  ];
}

function startLoad(target: ServiceNode, ratePerSecond: number | null, from: number): Load {
  return new Load({
    target,
    connections: CONNECTIONS,
    ratePerSecond,
    ask: (n) => ({ clientIdKey: `payer-${(from + n) % CLIENTS}`, orderRef: `soak-${from + n}` }),
  });
}

/** SOAK_SECONDS in the environment makes it shorter or longer than the ten minutes. */
function soakSeconds(): number {
  const given = Number(process.env['SOAK_SECONDS'] ?? SOAK_SECONDS);
  if (given >= QUICK_SOAK_SECONDS) return given;
  throw new Error(`SOAK_SECONDS must be a number from ${QUICK_SOAK_SECONDS} on, not "${given}"`);
}

async function lookAt({ platformUrl }: ServiceNode): Promise<Look> {
  const answer = await fetch(`${platformUrl}/metrics`, { headers: { Connection: 'close' } });
  return lookOf(await answer.text());
}

/** Reads the default gauges of Node; NaN for a missing one. */
export function lookOf(metrics: string): Look {
  const gauge = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
  return {
    heapMib: gauge('nodejs_heap_size_used_bytes') / MIB,
    residentMib: gauge('process_resident_memory_bytes') / MIB,
    handles: gauge('nodejs_active_handles_total'),
  };
}

function describe(look: Look | undefined): string {
  if (look === undefined) return 'nothing seen';
  return `heap ${look.heapMib.toFixed(0)} MiB, resident ${look.residentMib.toFixed(0)} MiB, ${look.handles} handles`;
}
