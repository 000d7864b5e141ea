import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startStandalone } from '../../../test/servers/redis.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { percentile } from '../../chaos/traffic/load.ts';
import { type Figure, figuresOf } from '../figure.ts';
import { startMeasured } from '../measured-process.ts';
import { planArrivals, runOpenLoop } from '../open-loop.ts';
import type { Plan } from '../plan.ts';

const figure = figuresOf('arrivals');

const RATE_PER_SECOND = 200;
const WARM_UP_SECONDS = 5;

/** What callers wait at a moderate rate, from when a request was due. */
export async function* measureArrivals(plan: Plan): AsyncGenerator<Figure> {
  yield* await measureOn(plan, 'SQLite', {});
  const redis = await startStandalone();
  try {
    yield* await measureOn(plan, 'Redis', { redisUrl: redis.url });
  } finally {
    await redis.stop();
  }
}

async function measureOn(
  { arrivalSeconds, dataDir: folder, onProgress }: Plan,
  store: 'SQLite' | 'Redis',
  { redisUrl }: { readonly redisUrl?: string },
): Promise<readonly Figure[]> {
  const dataDir = join(folder, `arrivals-on-${store}`);
  mkdirSync(dataDir);
  const key = await issueKey({ dataDir, redisUrl });
  const service = await startMeasured('src/main.ts', { DATA_DIR: dataDir, REDIS_URL: redisUrl ?? '' });
  try {
    const target = { callerUrl: service.url, platformUrl: '', key };
    const run = (seconds: number, prefix: string) =>
      runOpenLoop(target, planArrivals(RATE_PER_SECOND, seconds), prefix);
    onProgress(`arrivals: ${RATE_PER_SECOND} requests a second on ${store} for ${arrivalSeconds} s`);
    await run(WARM_UP_SECONDS, 'warm-up');
    const [cpu, written] = [await service.cpuMicros(), await service.writtenBytes()];
    const { latenciesMs, latenessMs, failures } = await run(arrivalSeconds, 'counted');
    const each = (used: number) => used / latenciesMs.length;
    const cpuMicros = each((await service.cpuMicros()) - cpu);
    const writtenKb = each((await service.writtenBytes()) - written) / 1000;
    const name = `${store} at ${RATE_PER_SECOND} requests a second`;
    return [
      ...[50, 99, 99.9].map((percent) =>
        figure(`${name}: p${percent}`, percentile(latenciesMs, percent), 'ms'),
      ),
      figure(`${name}: slowest`, percentile(latenciesMs, 100), 'ms'),
      figure(`${name}: p99 of how late the load sends`, percentile(latenessMs, 99), 'ms'),
      figure(`${name}: CPU a verdict`, cpuMicros, 'us'),
      ...(store === 'SQLite'
        ? [figure(`${name}: kB written a verdict`, writtenKb, 'kB', { atMost: 8 })]
        : []),
      figure(`${name}: requests that failed`, failures, '', { atMost: 0 }),
    ];
  } finally {
    await service.stop();
  }
}
