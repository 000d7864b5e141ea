import { setTimeout as delay } from 'node:timers/promises';
import { type DurableRedis, startDurableRedis } from './durable-redis.ts';
import { Load, latencyMs, percentile, type Sample } from './load.ts';
import { doubled, firstSuccess, lost, recordedDecisions, retryAll } from './records.ts';
import {
  atLeast,
  atMost,
  type Figure,
  never,
  reported,
  type Scenario,
  type ScenarioRun,
} from './scenario.ts';
import { type ServiceProcess, startService } from './service-process.ts';

const CONNECTIONS = 8;
const CLIENTS_A_ROUND = 20;
const LOAD_MS = 300;
const AFTERWARDS_MS = 100;
const RECOVERY_LIMIT_MS = 10_000;
const TIMEOUT_MS = 3_000;
const RATE_PER_SECOND = 1_500;
/** Every so many kills the load before it is longer than what everysec may lose, so that the bound is tried. */
const EVERY_NTH_IS_LONG = 5;
const LONG_LOAD_MS = 3_000;
/** Redis writes every second, and puts a write off for at most one more while the disk is busy. */
const EVERYSEC_BOUND_MS = 2_000;
/** Left for the retries; counted apart they would only repeat the same figure. */
const MOST_RETRIED_A_ROUND = 60;

interface Kept {
  acknowledged: number;
  refused: number;
  /** Answered 503 although the step had been taken: the answer of Redis was lost with its connection. */
  refusedButTaken: number;
  otherAnswers: number;
  lost: number;
  doubled: number;
  /** How long before the kill the oldest lost verdict was acknowledged. */
  oldestLostMs: number;
  readonly latenciesMs: number[];
  readonly recoveriesMs: number[];
}

/** Redis dies at once, again and again, and comes back with what its append-only file holds. */
export const redisKills: Scenario = {
  name: 'redis-kills',
  does: 'kill -9 of Redis (AOF, everysec) under load, 50 times: acknowledged verdicts are lost only within what everysec allows, none is doubled',
  limitSeconds: 600,
  run,
};

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const rounds = quick ? 5 : 50;
  const kept: Kept = {
    acknowledged: 0,
    refused: 0,
    refusedButTaken: 0,
    otherAnswers: 0,
    lost: 0,
    doubled: 0,
    oldestLostMs: 0,
    latenciesMs: [],
    recoveriesMs: [],
  };
  const redis = await startDurableRedis();
  try {
    const service = await startService({ redisUrl: redis.url });
    for (let round = 0; round < rounds; round++) {
      const { samples, killedAtMs } = await killUnderLoad(service, redis, round, kept);
      await account(service, samples, killedAtMs, kept);
      report(`kill ${round + 1}: ${samples.length} verdicts asked for`);
    }
    await service.stop();
  } finally {
    await redis.stop();
  }
  return [
    reported('kills', String(rounds)),
    atLeast('verdicts acknowledged', kept.acknowledged, rounds),
    reported('acknowledged verdicts lost', String(kept.lost)),
    atMost('oldest of them, before the kill', kept.oldestLostMs, EVERYSEC_BOUND_MS, 'ms'),
    never('verdicts doubled, refused ones retried under their key', kept.doubled),
    never('answers that were neither 200 nor 503', kept.otherAnswers),
    reported('answered 503, up to 60 a kill retried', String(kept.refused)),
    reported('of these, steps that had been taken', String(kept.refusedButTaken)),
    atMost('slowest answer', percentile(kept.latenciesMs, 100), 300, 'ms'),
    reported(
      'first verdict after Redis answers again, median and slowest',
      `${Math.round(percentile(kept.recoveriesMs, 50))} and ${Math.round(percentile(kept.recoveriesMs, 100))} ms`,
    ),
  ];
}

async function killUnderLoad(
  service: ServiceProcess,
  redis: DurableRedis,
  round: number,
  kept: Kept,
): Promise<{ readonly samples: readonly Sample[]; readonly killedAtMs: number }> {
  const load = new Load({
    target: service,
    connections: CONNECTIONS,
    ratePerSecond: RATE_PER_SECOND,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    ask: (n) => ({
      clientIdKey: `round-${round}-payer-${n % CLIENTS_A_ROUND}`,
      orderRef: `round-${round}-order-${n}`,
    }),
  });
  await delay(round % EVERY_NTH_IS_LONG === 0 ? LONG_LOAD_MS : LOAD_MS * (0.5 + Math.random()));
  const killedAtMs = performance.now();
  await redis.kill();
  await delay(AFTERWARDS_MS);
  const samples = await load.stop();
  await redis.restart();
  const backAtMs = performance.now();
  kept.recoveriesMs.push((await firstSuccess(service, `after-${round}`, RECOVERY_LIMIT_MS)) - backAtMs);
  return { samples, killedAtMs };
}

async function account(
  service: ServiceProcess,
  samples: readonly Sample[],
  killedAtMs: number,
  kept: Kept,
): Promise<void> {
  const acknowledged = samples.filter(({ status }) => status === 200);
  // The first ones were under way when Redis died, which is where doubt can be; later ones found it gone.
  const refused = samples.filter(({ status }) => status !== 200).slice(0, MOST_RETRIED_A_ROUND);
  const orders = [...acknowledged, ...refused].map(({ orderRef }) => orderRef);
  const before = await recordedDecisions(service, orders);
  const retried = await retryAll(service, refused);
  const after = await recordedDecisions(
    service,
    refused.map(({ orderRef }) => orderRef),
  );
  kept.acknowledged += acknowledged.length;
  kept.refused += refused.length;
  kept.refusedButTaken += refused.filter(({ orderRef }) => before.get(orderRef)?.length).length;
  kept.otherAnswers += samples.filter(({ status }) => status !== 200 && status !== 503).length;
  const gone = lost(acknowledged, before);
  kept.lost += gone.length + lost(retried, after).length;
  for (const { answeredAtMs } of gone)
    kept.oldestLostMs = Math.max(kept.oldestLostMs, killedAtMs - answeredAtMs);
  kept.doubled += doubled(before).length + doubled(after).length;
  kept.latenciesMs.push(...samples.map(latencyMs));
}
