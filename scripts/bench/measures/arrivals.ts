import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startStandalone } from '../../../test/servers/redis.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { computePercentile } from '../../chaos/traffic/load.ts';
import { createFigureMaker, type Figure } from '../figure.ts';
import { startMeasuredProcess } from '../measured-process.ts';
import { planArrivals, runOpenLoop } from '../open-loop.ts';
import type { BenchPlan } from '../plan.ts';

const figure = createFigureMaker('arrivals');

const RATE_PER_SECOND = 200;
const WARM_UP_SECONDS = 5;

const SERVERS = ['skeleton', 'Redis', 'SQLite'] as const;

/** A measured server. The service is named by its store. */
type Server = (typeof SERVERS)[number];

/**
 * Measures the latency that callers see at a moderate rate, and the CPU time of a verdict in comparison with the
 * skeleton server.
 */
export async function* measureArrivals(plan: BenchPlan): AsyncGenerator<Figure> {
  const redis = await startStandalone();
  try {
    const cpu = new Map<Server, number>();
    for (const server of SERVERS) {
      const { cpuMicros, figures } = await measureOn(plan, server, server === 'SQLite' ? '' : redis.url);
      cpu.set(server, cpuMicros);
      yield* figures;
    }
    const skeletonMicros = cpu.get('skeleton') ?? Number.NaN;
    for (const store of ['SQLite', 'Redis'] as const) {
      const ratio = (cpu.get(store) ?? Number.NaN) / skeletonMicros;
      yield figure(`${store} CPU / skeleton CPU at ${RATE_PER_SECOND} requests a second`, ratio, 'x');
    }
  } finally {
    await redis.stop();
  }
}

async function measureOn(
  { arrivalSeconds, dataDir: folder, onProgress }: BenchPlan,
  server: Server,
  redisUrl: string,
): Promise<{ readonly cpuMicros: number; readonly figures: readonly Figure[] }> {
  const dataDir = join(folder, `arrivals-on-${server}`);
  mkdirSync(dataDir);
  const key = await issueKey({ dataDir, redisUrl: redisUrl === '' ? undefined : redisUrl });
  const script = server === 'skeleton' ? 'scripts/bench/servers/skeleton.ts' : 'src/main.ts';
  const service = await startMeasuredProcess(script, { DATA_DIR: dataDir, REDIS_URL: redisUrl });
  try {
    const target = { callerUrl: service.url, platformUrl: '', key };
    const run = (seconds: number, prefix: string) =>
      runOpenLoop(target, planArrivals(RATE_PER_SECOND, seconds), prefix);
    onProgress(`arrivals: ${RATE_PER_SECOND} requests a second on ${server} for ${arrivalSeconds} s`);
    await run(WARM_UP_SECONDS, 'warm-up');
    const [cpu, written] = [await service.cpuMicros(), await service.writtenBytes()];
    const { latenciesMs, latenessMs, failures } = await run(arrivalSeconds, 'counted');
    const each = (used: number) => used / latenciesMs.length;
    const cpuMicros = each((await service.cpuMicros()) - cpu);
    const writtenKb = each((await service.writtenBytes()) - written) / 1000;
    const name = `${server} at ${RATE_PER_SECOND} requests a second`;
    const figures = [
      ...[50, 99, 99.9].map((percent) =>
        figure(`${name}: p${percent}`, computePercentile(latenciesMs, percent), 'ms'),
      ),
      figure(`${name}: slowest`, computePercentile(latenciesMs, 100), 'ms'),
      figure(`${name}: p99 of how late the load sends`, computePercentile(latenessMs, 99), 'ms'),
      figure(`${name}: CPU a verdict`, cpuMicros, 'us'),
      ...(server === 'SQLite'
        ? [figure(`${name}: kB written a verdict`, writtenKb, 'kB', { atMost: 8 })]
        : []),
      figure(`${name}: requests that failed`, failures, '', { atMost: 0 }),
    ];
    return { cpuMicros, figures };
  } finally {
    await service.stop();
  }
}
