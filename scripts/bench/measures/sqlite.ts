import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../../test/service/issued-key.ts';
import { type Figure, median, medianRatio } from '../figure.ts';
import { type LoadResult, type LoadTool, runLoad } from '../load.ts';
import { startMeasured } from '../measured-process.ts';
import { OPEN_SERVICE } from './cost.ts';

/** As on Redis; and fewer than the service takes at least, however busy it is (`src/http/server/work-limit.ts`). */
const CONNECTIONS = 32;

export interface SqlitePlan {
  readonly tool: LoadTool;
  readonly rounds: number;
  readonly seconds: number;
  readonly dataDir: string;
  readonly onProgress: (text: string) => void;
}

/** Verdicts a second of one process on SQLite over HTTP, and whether its heap stays as it is. */
export async function measureSqlite(plan: SqlitePlan): Promise<readonly Figure[]> {
  const dataDir = join(plan.dataDir, 'sqlite');
  mkdirSync(dataDir);
  const accessKey = await issueKey({ dataDir });
  const service = await startMeasured('src/main.ts', { ...OPEN_SERVICE, DATA_DIR: dataDir, REDIS_URL: '' });
  try {
    const load = { url: service.url, accessKey, connections: CONNECTIONS, seconds: plan.seconds, rate: null };
    plan.onProgress('sqlite: warming up');
    await runLoad(plan.tool, load);
    const heapBefore = await service.heapBytes();
    const cpuBefore = await service.cpuMicros();
    const results = [];
    for (let round = 1; round <= plan.rounds; round++) {
      plan.onProgress(`sqlite: round ${round} of ${plan.rounds}`);
      results.push(await runLoad(plan.tool, load));
    }
    const cpu = (await service.cpuMicros()) - cpuBefore;
    return figuresOf(results, cpu, (await service.heapBytes()) / heapBefore);
  } finally {
    await service.stop();
  }
}

/** `cpuMicros` of all loads together; `heapRatio` is the heap after them in terms of that before. */
function figuresOf(results: readonly LoadResult[], cpuMicros: number, heapRatio: number): readonly Figure[] {
  const failures = results.reduce((sum, each) => sum + each.failures, 0);
  const requests = results.reduce((sum, each) => sum + each.requests, 0);
  const part = 'sqlite';
  return [
    {
      part,
      name: 'heap after / before the load',
      value: heapRatio,
      unit: 'x',
      target: { atMost: 1.1 },
    },
    {
      part,
      name: 'p99 / p50',
      value: medianRatio(
        results.map(({ p99Ms }) => p99Ms),
        results.map(({ p50Ms }) => p50Ms),
      ),
      unit: 'x',
      target: { atMost: 5 },
    },
    {
      part,
      name: 'verdicts a second in one process',
      value: median(results.map(({ perSecond }) => perSecond)),
      unit: '/s',
      target: { atLeast: 6000 },
    },
    { part, name: 'requests that failed', value: failures, unit: '', target: { atMost: 0 } },
    { part, name: 'CPU a verdict', value: cpuMicros / requests, unit: 'us', target: null },
    { part, name: 'p50', value: median(results.map(({ p50Ms }) => p50Ms)), unit: 'ms', target: null },
    { part, name: 'p99', value: median(results.map(({ p99Ms }) => p99Ms)), unit: 'ms', target: null },
  ];
}
