import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Archive } from '#history/archive/archive.ts';
import { type RedisServers, startStandalone } from '../../../test/servers/redis.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { computeMedian, computeMedianRatio, createFigureMaker, type Figure } from '../figure.ts';
import { runLoad } from '../load.ts';
import { type MeasuredProcess, startMeasuredProcess } from '../measured-process.ts';
import type { BenchPlan } from '../plan.ts';

const figure = createFigureMaker('shipping');

/** Entries are shipped every ten seconds, so each round has at least one shipment. */
const ROUND_SECONDS = 12;
const CONNECTIONS = 16;
/** The load, as a share of the service's throughput at full load. */
const LOAD_SHARE = 0.5;

/** A service with its own store. */
interface Side {
  readonly server: MeasuredProcess;
  readonly accessKey: string;
  readonly archiveDir: string | null;
  readonly redis: RedisServers | null;
}

/** Measures the service's p99 while decisions are shipped, and that of a service without an archive, in turn. */
export async function measureShipping(plan: BenchPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const store of ['SQLite', 'Redis'] as const) figures.push(...(await measureOn(plan, store)));
  return figures;
}

async function measureOn(plan: BenchPlan, store: 'SQLite' | 'Redis'): Promise<readonly Figure[]> {
  const { shippingRounds, onProgress } = plan;
  const sides: Side[] = [];
  try {
    const without = await startSide(store, false);
    sides.push(without);
    const shipping = await startSide(store, true);
    sides.push(shipping);
    for (const side of sides) await runLoad(loadOn(side, 2, null));
    const rate = LOAD_SHARE * (await runLoad(loadOn(without, 2, null))).perSecond;
    const p99Ms = { without: [] as number[], shipping: [] as number[] };
    let failures = 0;
    for (let round = 1; round <= shippingRounds; round++) {
      onProgress(
        `shipping on ${store}: round ${round} of ${shippingRounds}, ${Math.round(rate)} verdicts a second`,
      );
      // The rest of the last load is shipped before the other service's turn.
      await sleep(ROUND_SECONDS * 1000);
      const calm = await runLoad(loadOn(without, ROUND_SECONDS, rate));
      const busy = await runLoad(loadOn(shipping, ROUND_SECONDS, rate));
      p99Ms.without.push(calm.p99Ms);
      p99Ms.shipping.push(busy.p99Ms);
      failures += calm.failures + busy.failures;
    }
    const rows = archivedDecisions(shipping);
    const ratio = computeMedianRatio(p99Ms.shipping, p99Ms.without);
    return [
      figure(`${store}: p99 while shipping / without`, ratio, 'x', { atMost: 1.2 }),
      figure(`${store}: p99 while shipping`, computeMedian(p99Ms.shipping), 'ms'),
      figure(`${store}: p99 without`, computeMedian(p99Ms.without), 'ms'),
      figure(`${store}: verdicts a second`, rate, '/s'),
      figure(`${store}: decisions shipped`, rows, '', { atLeast: 1 }),
      figure(`${store}: requests that failed`, failures, '', { atMost: 0 }),
    ];
  } finally {
    for (const { server, redis } of sides) {
      await server.stop();
      await redis?.stop();
    }
  }
}

async function startSide(store: 'SQLite' | 'Redis', ships: boolean): Promise<Side> {
  const dataDir = join(temporaryDirectory(), 'data');
  mkdirSync(dataDir);
  const redis = store === 'Redis' ? await startStandalone() : null;
  const accessKey = await issueKey(redis === null ? { dataDir } : { dataDir, redisUrl: redis.url });
  const archiveDir = ships ? join(dataDir, 'archive') : null;
  const server = await startMeasuredProcess('src/main.ts', {
    DATA_DIR: dataDir,
    REDIS_URL: redis?.url ?? '',
    ARCHIVE_DIR: archiveDir ?? 'off',
  });
  return { server, accessKey, archiveDir, redis };
}

function loadOn({ server, accessKey }: Side, seconds: number, rate: number | null) {
  return { url: server.url, accessKey, connections: CONNECTIONS, seconds, rate };
}

function archivedDecisions({ archiveDir }: Side): number {
  if (archiveDir === null) return 0;
  const archive = new Archive(archiveDir);
  const segments = archive.listSegments(archive.read(), { table: 'decisions' });
  return segments.reduce((sum, { rows }) => sum + rows, 0);
}
