import { join, parse } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Archive } from '../../../src/archive/archive.ts';
import { namesIn } from '../../../src/archive/archive-log.ts';
import type { Verification } from '../../../src/evidence/verify/verify-segment.ts';
import { openStore } from '../../../src/state/open-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { scoring } from '../../../test/cli/scoring.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import { atLeast, countsOf, type Figure, never, reported } from '../figure.ts';
import { onEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import { ShipperProcess } from '../processes/shipper-process.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { archivedDecisions } from '../traffic/archived-decisions.ts';
import { Load, payersInTurn, type Sample } from '../traffic/load.ts';
import { firstSuccess, recordedDecisions } from '../traffic/records.ts';

/** On each of the two stores. */
const KILLS = 50;
const QUICK_KILLS = 6;
const CONNECTIONS = 8;
const RATE_PER_SECOND = 300;
const PAYERS_A_ROUND = 20;
const LOAD_MS = 1_000;
/** A shipper ships as soon as it is up, so that most kills within this time interrupt its work. */
const SHIPPER_LOAD_MS = 2_500;
const AFTERWARDS_MS = 100;
const TIMEOUT_MS = 3_000;
const RECOVERY_LIMIT_MS = 20_000;
const SHIPPED_LIMIT_MS = 120_000;
const LOOKED_UP = 300;

interface Victim {
  readonly name: 'shipper' | 'service' | 'redis';
  /** Done before the load begins. */
  readonly prepare?: () => Promise<void>;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** What takes part on one store. */
interface Place {
  readonly name: string;
  readonly service: ServiceNode;
  readonly shipper: ShipperProcess;
  readonly victims: readonly Victim[];
  readonly store: Store;
  readonly env: NodeJS.ProcessEnv;
  readonly archiveDir: string;
  /** Kills that left uncommitted segments. */
  interrupted: number;
}

/** Whatever dies while decisions are shipped, each of them is archived exactly once in the end. */
export const archiveKills: Scenario = {
  name: 'archive-kills',
  does: 'kill -9 of shipper, service and Redis under load, 50 times on each store: every acknowledged verdict is in the archive exactly once and comes out again',
  limitSeconds: 1_800,
  run: (run) =>
    onEachStore(
      run,
      async () => killOn(await sqlitePlace(), run),
      async () => killOn(await redisPlace(), run),
    ),
};

function sqlitePlace(): Promise<Place> {
  return placeOf('SQLite', temporaryDirectory(), null, []);
}

async function redisPlace(): Promise<Place> {
  // Every write is on the disk before it is answered, so that no acknowledged verdict may be lost.
  const always = [...APPEND_ONLY, '--appendfsync', 'always'];
  const redis = await startRedis(temporaryDirectory(), await freePort(), always);
  const victim: Victim = { name: 'redis', kill: redis.kill, restart: redis.restart };
  return placeOf('Redis', temporaryDirectory(), redis.url, [victim]);
}

async function placeOf(
  name: string,
  dataDir: string,
  redisUrl: string | null,
  victims: readonly Victim[],
): Promise<Place> {
  const archiveDir = join(dataDir, 'archive');
  const env = { DATA_DIR: dataDir, REDIS_URL: redisUrl ?? '', ARCHIVE_DIR: archiveDir, NO_COLOR: '1' };
  const service = await startServiceNode({ dataDir, ...(redisUrl === null ? {} : { redisUrl }) });
  const shipper = new ShipperProcess(env);
  const all: readonly Victim[] = [
    {
      name: 'shipper',
      prepare: async () => {
        await shipper.kill();
        shipper.ensure();
      },
      kill: () => shipper.kill(),
      restart: async () => shipper.ensure(),
    },
    { name: 'service', kill: () => service.kill(), restart: () => service.restart() },
    ...victims,
  ];
  const store = await openStore({ dataDir, redisUrl }, () => {});
  return { name, service, shipper, victims: all, store, env, archiveDir, interrupted: 0 };
}

async function killOn(place: Place, { quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const acknowledged: Sample[] = [];
  const kills = { shipper: 0, service: 0, redis: 0 };
  for (let round = 0; round < (quick ? QUICK_KILLS : KILLS); round++) {
    const victim = place.victims[round % place.victims.length];
    if (victim === undefined) break;
    kills[victim.name]++;
    const samples = await killRound(place, victim, round);
    acknowledged.push(...samples.filter(({ status }) => status === 200));
    report(`${place.name}, kill ${round + 1} (${victim.name}): ${acknowledged.length} verdicts acknowledged`);
  }
  const shippedEntries = await shipAll(place);
  const found = await accountFor(place, acknowledged);
  await place.service.kill('SIGTERM');
  await place.shipper.kill('SIGTERM');
  await place.store.close();
  const { checked, reproduced, unreadable } = await verify(place);
  return [
    reported(`kills of shipper, service and Redis`, Object.values(kills).join(', ')),
    reported(`kills that broke off the writing of a segment`, String(place.interrupted)),
    atLeast(`verdicts acknowledged`, acknowledged.length, 1),
    never(`of these not in the archive once all is shipped`, found.missing),
    never(`decisions that are in the archive twice`, found.doubled),
    never(`of ${found.lookedUp} looked up by order, not found exactly once`, found.notOnce),
    never(`entries lost in gaps`, found.gapEntries),
    reported(`commits of the archive`, String(shippedEntries)),
    atLeast(`archived decisions decided again`, checked, acknowledged.length),
    never(`of these not reproduced`, checked - reproduced + unreadable.length),
  ];
}

async function killRound(place: Place, victim: Victim, round: number): Promise<readonly Sample[]> {
  const load = new Load({
    target: place.service,
    connections: CONNECTIONS,
    ratePerSecond: RATE_PER_SECOND,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    ask: payersInTurn(PAYERS_A_ROUND, `round-${round}-`),
  });
  await victim.prepare?.();
  await freeLease(place.store);
  await delay((victim.name === 'shipper' ? SHIPPER_LOAD_MS : LOAD_MS) * (0.3 + Math.random()));
  await victim.kill();
  if (isInterrupted(place)) place.interrupted++;
  await delay(AFTERWARDS_MS);
  await victim.restart();
  // It ends by itself where it begins while Redis is away.
  place.shipper.ensure();
  await firstSuccess(place.service, `after-${round}`, RECOVERY_LIMIT_MS);
  return load.stop();
}

/** Whether there are segments that were written and not committed. */
function isInterrupted({ archiveDir }: Place): boolean {
  const archive = new Archive(archiveDir);
  const { segments } = archive.read();
  return namesIn(archive.staging()).some(
    (name) => /\.(ndjson|parquet)$/.test(name) && !segments.has(parse(name).name),
  );
}

/**
 * The lease of a shipper that was killed lasts for half a minute, and would spare the next ones the work. Without it
 * two may ship at once, which must do no harm.
 */
async function freeLease({ registers }: Store): Promise<void> {
  const held = await registers.read('archive-lease').catch(() => null);
  const nobody = JSON.stringify({ holder: null, renewals: 0 });
  if (held !== null) await registers.compareAndSet('archive-lease', held, nobody).catch(() => false);
}

/** Waits until the journal holds nothing that is not archived; gives how many commits it took. */
async function shipAll({ name, store, archiveDir, shipper }: Place): Promise<number> {
  const archive = new Archive(archiveDir);
  shipper.ensure();
  const isShipped = async () => {
    await freeLease(store);
    await delay(2 * LOAD_MS);
    return (await store.readJournal(archive.read().cursor, 1)).entries.length === 0;
  };
  await until(`all is shipped on ${name}`, isShipped, SHIPPED_LIMIT_MS);
  return archive.read().version;
}

async function accountFor({ service, archiveDir }: Place, acknowledged: readonly Sample[]) {
  const archived = countsOf((await archivedDecisions(archiveDir)).map(({ decisionId }) => decisionId));
  const step = Math.max(1, Math.floor(acknowledged.length / LOOKED_UP));
  const some = acknowledged.filter((_, index) => index % step === 0);
  const recorded = await recordedDecisions(
    service,
    some.map(({ orderRef }) => orderRef),
  );
  const isOnce = ({ orderRef, decisionId: id }: Sample) =>
    recorded.get(orderRef)?.filter((decision) => decision.decisionId === id).length === 1;
  const { gaps } = new Archive(archiveDir).read();
  return {
    missing: acknowledged.filter((sample) => !archived.has(sample.decisionId ?? '')).length,
    doubled: [...archived.values()].filter((count) => count > 1).length,
    lookedUp: some.length,
    notOnce: some.filter((sample) => !isOnce(sample)).length,
    gapEntries: gaps.reduce((sum, { entries }) => sum + entries, 0),
  };
}

async function verify({ env }: Place): Promise<Verification> {
  const { stdout, stderr } = await scoring(['archive', 'verify', '--json'], env);
  try {
    const verification: Verification = JSON.parse(stdout);
    return verification;
  } catch (cause) {
    throw new Error(`archive verify printed no result: ${stderr}`, { cause });
  }
}
