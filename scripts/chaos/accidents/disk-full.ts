import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { removeDirectory, temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import { atMost, type Figure, never, reported } from '../figure.ts';
import { createSkippedFigure, runOnEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { computeLatencyPercentile, LoadGenerator, type Sample, selectFailed } from '../traffic/load.ts';
import { type DecisionsByOrder, readDecisionsByOrder, selectLostVerdicts } from '../traffic/records.ts';

const DISK_MIB = 16;
/** The bytes left free on the disk when the service runs. The disk is full after a few seconds of load. */
const FREE_BYTES = 1_000_000;
const RATE_PER_SECOND = 200;
const CONNECTIONS = 16;
const FULL_LIMIT_MS = 60_000;
const RECOVERY_LIMIT_MS = 20_000;
const FULL_FOR_MS = 5000;
const QUICK_FULL_FOR_MS = 1500;
const AFTERWARDS_MS = 2000;
/** Redis flushes its file every second, and retries a failed write at the same interval. */
const FLUSHED_AFTER_MS = 3000;

/** A disk of a few MiB in memory, mounted only for the scenario. */
interface SmallDisk {
  readonly folder: string;
  fill(): void;
  free(): void;
}

/** The samples of the load, and when the disk was full and free again, in ms of `performance.now()`. */
interface FullDisk {
  readonly samples: readonly Sample[];
  readonly fullAtMs: number;
  readonly freedAtMs: number;
  readonly crashed: boolean;
}

/** Counts of the answered verdicts, by whether the store holds them. */
export interface KeptVerdictCounts {
  readonly acknowledged: number;
  readonly lost: number;
  readonly refused: number;
  /** The number of verdicts that were answered 503 and decided nevertheless. */
  readonly refusedButTaken: number;
  readonly otherAnswers: number;
}

export const diskFull: Scenario = {
  name: 'disk-full',
  does: 'Fills the disk under SQLite, and under the append-only file of Redis. No verdict may be answered 200 and not saved, and verdicts must be given again within 5 s of free space.',
  limitSeconds: 300,
  run: async (run) => {
    const [one, other] = [mountSmallDisk(), mountSmallDisk()];
    if (one === null || other === null)
      return [createSkippedFigure('run as root on Linux, so that a small disk can be mounted', run.report)];
    return runOnEachStore(
      run,
      () => runUnderSqlite(one, run),
      () => runUnderRedis(other, run),
    );
  },
};

async function runUnderSqlite(disk: SmallDisk, run: ScenarioRun): Promise<readonly Figure[]> {
  const service = await startServiceNode({ dataDir: join(disk.folder, 'data') });
  const seen = await fillUnderLoad('SQLite', service, disk, run);
  // After the kill, only what was saved is left.
  await service.kill();
  await service.restart();
  return createFigures(service, seen);
}

async function runUnderRedis(disk: SmallDisk, run: ScenarioRun): Promise<readonly Figure[]> {
  const redis = await startRedis(disk.folder, await freePort(), APPEND_ONLY);
  const service = await startServiceNode({ redisUrl: redis.url });
  const seen = await fillUnderLoad('Redis', service, disk, run);
  await delay(FLUSHED_AFTER_MS);
  await redis.kill();
  await redis.restart();
  return createFigures(service, seen);
}

/** Keeps a load running until the disk is full, while it is full, and after there is space again. */
async function fillUnderLoad(
  store: string,
  service: ServiceNode,
  disk: SmallDisk,
  { quick, report }: ScenarioRun,
): Promise<FullDisk> {
  disk.fill();
  const load = new LoadGenerator({
    target: service,
    connections: CONNECTIONS,
    ratePerSecond: RATE_PER_SECOND,
    ask: (n) => ({ clientIdKey: `payer-${store}-${n}`, orderRef: `full-${store}-${n}` }),
  });
  const isFull = async () => selectFailed(load.samples).length > 0;
  await until(`the disk under ${store} is full`, isFull, FULL_LIMIT_MS);
  const fullAtMs = performance.now();
  report(`${store}: the disk is full after ${load.samples.length} verdicts`);
  await delay(quick ? QUICK_FULL_FOR_MS : FULL_FOR_MS);
  disk.free();
  const freedAtMs = performance.now();
  const isBack = async () => findFirstVerdictMs(load.samples, freedAtMs) !== null;
  await until(`${store} takes verdicts again`, isBack, RECOVERY_LIMIT_MS).catch((error: unknown) => {
    // The figure of the first verdict then misses its target.
    report(String(error));
  });
  await delay(AFTERWARDS_MS);
  return { samples: await load.stop(), fullAtMs, freedAtMs, crashed: !service.isRunning() };
}

async function createFigures(service: ServiceNode, seen: FullDisk): Promise<readonly Figure[]> {
  const { samples, fullAtMs, freedAtMs } = seen;
  const orderRefs = samples.map(({ orderRef }) => orderRef);
  const kept = countKeptVerdicts(samples, await readDecisionsByOrder(service, orderRefs));
  const whileFull = samples.filter((each) => each.sentAtMs > fullAtMs && each.answeredAtMs < freedAtMs);
  const recoveryMs = (findFirstVerdictMs(samples, freedAtMs) ?? Number.NaN) - freedAtMs;
  return [
    never(`verdicts answered 200 and not saved, of ${kept.acknowledged}`, kept.lost),
    never(`verdicts answered 503 and saved nevertheless, of ${kept.refused}`, kept.refusedButTaken),
    never(`answers other than 200 and 503`, kept.otherAnswers),
    never(`crashes of the service`, seen.crashed ? 1 : 0),
    atMost(`first verdict after space is free`, recoveryMs / 1000, 5, 's'),
    reported(
      `answers of 200 while the disk is full`,
      `${whileFull.filter(({ status }) => status === 200).length} of ${whileFull.length}`,
    ),
    reported(
      `slowest answer while the disk is full`,
      `${computeLatencyPercentile(whileFull, 100).toFixed(0)} ms`,
    ),
  ];
}

/** Compares the answers with what the store holds. */
export function countKeptVerdicts(samples: readonly Sample[], recorded: DecisionsByOrder): KeptVerdictCounts {
  const refused = samples.filter(({ status }) => status === 503);
  const acknowledged = samples.filter(({ status }) => status === 200).length;
  return {
    acknowledged,
    lost: selectLostVerdicts(samples, recorded).length,
    refused: refused.length,
    refusedButTaken: refused.filter(({ orderRef }) => (recorded.get(orderRef)?.length ?? 0) > 0).length,
    otherAnswers: samples.length - acknowledged - refused.length,
  };
}

/** Returns the time of the first verdict whose request was sent after a moment. Null when there was none. */
export function findFirstVerdictMs(samples: readonly Sample[], afterMs: number): number | null {
  const given = samples.filter(({ status, sentAtMs }) => status === 200 && sentAtMs >= afterMs);
  return given.length === 0 ? null : Math.min(...given.map(({ answeredAtMs }) => answeredAtMs));
}

/** Mounts the small disk. Returns null when this user may not mount one. */
function mountSmallDisk(): SmallDisk | null {
  const folder = temporaryDirectory();
  const size = `size=${DISK_MIB}m`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder]).status !== 0) {
    removeDirectory(folder);
    return null;
  }
  process.prependListener('exit', () => spawnSync('umount', ['--lazy', folder]));
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - FREE_BYTES)));
    },
    free: () => rmSync(ballast),
  };
}
