import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { watchStandstills } from '../../../test/servers/standstill.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { Load, payersInTurn, percentile, type Sample, slowestUsableMs } from '../traffic/load.ts';
import { doubled, firstSuccess, lost, recordedDecisions, retryAll } from '../traffic/records.ts';

const KILLS = 50;
const QUICK_KILLS = 5;
const CONNECTIONS = 8;
const CLIENTS_A_ROUND = 20;
/** Long enough for an answer that is under way; later there is none. */
const TIMEOUT_MS = 3_000;
const LOAD_MS = 300;
const AFTERWARDS_MS = 100;
const RECOVERY_LIMIT_MS = 10_000;

/** What is killed in each round, and under which load. */
interface KillPlan {
  readonly service: ServiceNode;
  /** Killed at once and started again on the same port: the service itself, or its store. */
  readonly victim: { kill(): Promise<void>; restart(): Promise<void> };
  /** Null: callers that never pause. */
  readonly ratePerSecond: number | null;
  readonly samplesMax?: number;
  /** How many of a round's refused verdicts are asked for again; all when absent. */
  readonly retriedMax?: number;
  /** Every n-th kill has a longer load before it; the others have about 300 ms. */
  readonly longLoad?: { readonly everyNth: number; readonly ms: number };
}

/** One kill under load, and what was kept of the verdicts around it. */
interface KillRound {
  readonly samples: readonly Sample[];
  readonly acknowledged: readonly Sample[];
  /** Those not answered 200 that were asked for again. */
  readonly refused: readonly Sample[];
  /** Of these, steps that had been taken: only the answer was lost. */
  readonly refusedButTaken: readonly Sample[];
  /** Acknowledged before the kill, and not found afterwards. */
  readonly lost: readonly Sample[];
  /** The same of the retries, after which nobody was killed. */
  readonly lostOnRetry: readonly Sample[];
  /** Orders with more than one step, also after the retries. */
  readonly doubled: readonly string[];
  readonly killedAtMs: number;
  /** From the moment when the victim is back to the first verdict, ms. */
  readonly recoveryMs: number;
}

/** Kills, restarts and checks 50 times or, in a quick run, 5 times. */
async function killAgainAndAgain(
  plan: KillPlan,
  { quick, report }: ScenarioRun,
): Promise<readonly KillRound[]> {
  const rounds: KillRound[] = [];
  for (let round = 0; round < (quick ? QUICK_KILLS : KILLS); round++) {
    const done = await killRound(plan, round);
    report(`kill ${round + 1}: ${done.samples.length} verdicts asked for`);
    rounds.push(done);
  }
  return rounds;
}

async function killRound(plan: KillPlan, round: number): Promise<KillRound> {
  const { service, victim, longLoad } = plan;
  const load = new Load({
    ...plan,
    target: service,
    connections: CONNECTIONS,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    ask: payersInTurn(CLIENTS_A_ROUND, `round-${round}-`),
  });
  const isLong = longLoad !== undefined && round % longLoad.everyNth === 0;
  await delay(isLong ? longLoad.ms : LOAD_MS * (0.5 + Math.random()));
  const killedAtMs = performance.now();
  await victim.kill();
  await delay(AFTERWARDS_MS);
  const samples = await load.stop();
  await victim.restart();
  const backAtMs = performance.now();
  const recoveryMs = (await firstSuccess(service, `after-${round}`, RECOVERY_LIMIT_MS)) - backAtMs;
  return { samples, killedAtMs, recoveryMs, ...(await account(plan, samples)) };
}

/** Reads back what was acknowledged, then asks again for what was not, as a careful caller does. */
async function account(
  { service, retriedMax = Number.POSITIVE_INFINITY }: KillPlan,
  samples: readonly Sample[],
): Promise<Omit<KillRound, 'samples' | 'killedAtMs' | 'recoveryMs'>> {
  const acknowledged = samples.filter(({ status }) => status === 200);
  // Only the first ones were under way at the kill; later ones found the victim gone.
  const refused = samples.filter(({ status }) => status !== 200).slice(0, retriedMax);
  const before = await recordedDecisions(service, ordersOf([...acknowledged, ...refused]));
  const retried = await retryAll(service, refused);
  const after = await recordedDecisions(service, ordersOf(refused));
  return {
    acknowledged,
    refused,
    refusedButTaken: refused.filter(({ orderRef }) => before.get(orderRef)?.length),
    lost: lost(acknowledged, before),
    lostOnRetry: lost(retried, after),
    doubled: [...doubled(before), ...doubled(after)],
  };
}

function ordersOf(samples: readonly Sample[]): readonly string[] {
  return samples.map(({ orderRef }) => orderRef);
}

const SAMPLES_A_ROUND_MAX = 2_000;

/** The service dies at once, again and again, and starts on the same SQLite file. */
export const serviceKills: Scenario = {
  name: 'service-kills',
  does: 'kill -9 of the service under load on SQLite, 50 times: no acknowledged verdict is lost or doubled',
  limitSeconds: 600,
  run: killService,
};

async function killService(run: ScenarioRun): Promise<readonly Figure[]> {
  const service = await startServiceNode();
  const plan = { service, victim: service, ratePerSecond: null, samplesMax: SAMPLES_A_ROUND_MAX };
  const rounds = await killAgainAndAgain(plan, run);
  return killFigures(rounds);
}

/** The figures of killing what answers: no acknowledged verdict is lost, and none is doubled. */
function killFigures(rounds: readonly KillRound[]): readonly Figure[] {
  const acknowledged = rounds.flatMap((round) => round.acknowledged);
  const unanswered = rounds.flatMap((round) => round.refused);
  const butTaken = rounds.flatMap((round) => round.refusedButTaken);
  const lost = rounds.flatMap((round) => [...round.lost, ...round.lostOnRetry]);
  const doubled = rounds.flatMap((round) => round.doubled);
  return [
    reported('kills', String(rounds.length)),
    atLeast('verdicts acknowledged before a kill', acknowledged.length, rounds.length),
    reported('requests that a kill left without an answer', String(unanswered.length)),
    reported('of these, steps that had been taken', String(butTaken.length)),
    never('acknowledged verdicts lost', lost.length),
    never('verdicts doubled, every unanswered one retried under its key', doubled.length),
  ];
}

const RATE_PER_SECOND = 1_500;
/** Longer than what everysec may lose, so that the bound is tried. */
const LONG_LOAD = { everyNth: 5, ms: 3_000 };
/** Redis writes every second, and puts a write off for at most one more while the disk is busy. */
const EVERYSEC_BOUND_MS = 2_000;
const ANSWER_LIMIT_MS = 300;
/** Left for the retries; counted apart they would only repeat the same figure. */
const RETRIED_A_ROUND_MAX = 60;

/** Redis dies at once, again and again, and comes back with what its append-only file holds. */
export const redisKills: Scenario = {
  name: 'redis-kills',
  does: 'kill -9 of Redis (AOF, everysec) under load, 50 times: acknowledged verdicts are lost only within what everysec allows, none is doubled',
  needs: ['redis-server'],
  limitSeconds: 600,
  run: killRedis,
};

async function killRedis(run: ScenarioRun): Promise<readonly Figure[]> {
  watchStandstills();
  const redis = await startRedis(temporaryDirectory(), await freePort(), APPEND_ONLY);
  const service = await startServiceNode({ redisUrl: redis.url });
  const rounds = await killAgainAndAgain(
    {
      service,
      victim: redis,
      ratePerSecond: RATE_PER_SECOND,
      retriedMax: RETRIED_A_ROUND_MAX,
      longLoad: LONG_LOAD,
    },
    run,
  );
  return figures(rounds);
}

function figures(rounds: readonly KillRound[]): readonly Figure[] {
  const samples = rounds.flatMap((round) => round.samples);
  const acknowledged = rounds.flatMap((round) => round.acknowledged);
  const refused = rounds.flatMap((round) => round.refused);
  const butTaken = rounds.flatMap((round) => round.refusedButTaken);
  const lost = rounds.flatMap((round) => round.lost);
  const doubled = rounds.flatMap((round) => round.doubled);
  const others = samples.filter(({ status }) => status !== 200 && status !== 503);
  const recoveriesMs = rounds.map(({ recoveryMs }) => recoveryMs);
  const lostAgesMs = rounds.flatMap((round) =>
    round.lost.map(({ answeredAtMs }) => round.killedAtMs - answeredAtMs),
  );
  const wholeMs = (percent: number) => Math.round(percentile(recoveriesMs, percent));
  return [
    reported('kills', String(rounds.length)),
    atLeast('verdicts acknowledged', acknowledged.length, rounds.length),
    reported('acknowledged verdicts lost', String(lost.length)),
    atMost('oldest of them, before the kill', Math.max(0, ...lostAgesMs), EVERYSEC_BOUND_MS, 'ms'),
    never('verdicts of retries lost', rounds.flatMap((round) => round.lostOnRetry).length),
    never('verdicts doubled, refused ones retried under their key', doubled.length),
    never('answers that were neither 200 nor 503', others.length),
    reported('answered 503, up to 60 a kill retried', String(refused.length)),
    reported('of these, steps that had been taken', String(butTaken.length)),
    atMost('slowest answer', slowestUsableMs(samples, ANSWER_LIMIT_MS), ANSWER_LIMIT_MS, 'ms'),
    reported(
      'first verdict after Redis answers again, median and slowest',
      `${wholeMs(50)} and ${wholeMs(100)} ms`,
    ),
  ];
}
