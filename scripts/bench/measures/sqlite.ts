import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../../test/service/issued-key.ts';
import { computeMedian, computeMedianRatio, createFigureMaker, type Figure } from '../figure.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { startMeasuredProcess } from '../measured-process.ts';
import type { BenchPlan } from '../plan.ts';

const figure = createFigureMaker('sqlite');

/**
 * As many connections as in the measurement on Redis. They are so few that the overload control
 * (`src/checkout/http/server/overload.ts`) never refuses a request.
 */
const CONNECTIONS = 32;

/** Measures the verdicts a second of one process on SQLite over HTTP, and whether its heap stays the same. */
export async function measureSqlite(plan: BenchPlan): Promise<readonly Figure[]> {
  const dataDir = join(plan.dataDir, 'sqlite');
  mkdirSync(dataDir);
  const accessKey = await issueKey({ dataDir });
  const service = await startMeasuredProcess('src/main.ts', { DATA_DIR: dataDir });
  try {
    const load = { url: service.url, accessKey, connections: CONNECTIONS, seconds: plan.seconds, rate: null };
    plan.onProgress('sqlite: warming up');
    await runLoad(load);
    const heapBefore = await service.heapBytes();
    const cpuBefore = await service.cpuMicros();
    const results = [];
    for (let round = 1; round <= plan.rounds; round++) {
      plan.onProgress(`sqlite: round ${round} of ${plan.rounds}`);
      results.push(await runLoad(load));
    }
    const cpu = (await service.cpuMicros()) - cpuBefore;
    return sqliteFigures(results, cpu, (await service.heapBytes()) / heapBefore);
  } finally {
    await service.stop();
  }
}

/**
 * Returns the figures. `cpuMicros` is for all loads together. `heapRatio` is the heap after the loads divided by the
 * heap before them.
 */
function sqliteFigures(
  results: readonly LoadResult[],
  cpuMicros: number,
  heapRatio: number,
): readonly Figure[] {
  const all = (what: keyof LoadResult) => results.map((result) => result[what]);
  const sum = (what: keyof LoadResult) => all(what).reduce((total, value) => total + value, 0);
  return [
    figure('heap after / before the load', heapRatio, 'x', { atMost: 1.1 }),
    figure('p99 / p50', computeMedianRatio(all('p99Ms'), all('p50Ms')), 'x', { atMost: 5 }),
    figure('verdicts a second in one process', computeMedian(all('perSecond')), '/s', { atLeast: 6000 }),
    figure('requests that failed', sum('failures'), '', { atMost: 0 }),
    figure('CPU a verdict', cpuMicros / sum('requests'), 'us'),
    figure('p50', computeMedian(all('p50Ms')), 'ms'),
    figure('p99', computeMedian(all('p99Ms')), 'ms'),
  ];
}
