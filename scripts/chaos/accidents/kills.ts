import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { watchStandstills } from '../../../test/servers/standstill.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import {
  computePercentile,
  computeSlowestWithoutStallsMs,
  createLoadRequestFactory,
  LoadGenerator,
  type Sample,
} from '../traffic/load.ts';
import {
  listDoubledOrders,
  readDecisionsByOrder,
  retryUntilAnswered,
  selectLostVerdicts,
  waitForFirstVerdict,
} from '../traffic/records.ts';

const KILLS = { full: 50, quick: 5 };
const CONNECTIONS = 8;
const CLIENTS_A_ROUND = 20;
/** How long, in ms, a request waits. An answer that is under way comes within this time. */
const TIMEOUT_MS = 3_000;
const LOAD_MS = 300;
const AFTERWARDS_MS = 100;
const RECOVERY_LIMIT_MS = 10_000;

/** What is killed in each round, and under which load. */
interface KillPlan {
  readonly service: ServiceNode;
  /** The service itself or its store. The victim is killed at once and started again on the same port. */
  readonly victim: { kill(): Promise<void>; restart(): Promise<void> };
  /** The rate of the load. Null means callers that never pause. */
  readonly ratePerSecond: number | null;
  readonly samplesMax?: number;
  /** The number of a round's refused verdicts that are asked for again. Absent means all. */
  readonly retriedMax?: number;
  /** Every n-th kill has a longer load before it. The others have about 300 ms. */
  readonly longLoad?: { readonly everyNth: number; readonly ms: number };
}

/** One kill under load, and what was kept of the verdicts around it. */
interface KillRound {
  readonly samples: readonly Sample[];
  readonly acknowledged: readonly Sample[];
  /** The verdicts without an answer of 200 that were asked for again. */
  readonly refused: readonly Sample[];
  /** The refused verdicts that had been decided and recorded, so that only the answer was lost. */
  readonly refusedButTaken: readonly Sample[];
  /** Verdicts that were acknowledged before the kill and not found afterwards. */
  readonly lost: readonly Sample[];
  /** Verdicts that were acknowledged on a retry and not found, although nothing was killed after it. */
  readonly lostOnRetry: readonly Sample[];
  /** The orders with more than one decision, before or after the retries. */
  readonly doubled: readonly string[];
  readonly killedAtMs: number;
  /** The time from when the victim is back to the first verdict, in ms. */
  readonly recoveryMs: number;
}

/**
 * Kills, restarts and checks the victim again and again. Returns the rounds, and the figures that are the same for
 * every victim.
 */
export async function killRepeatedly(plan: KillPlan, { quick, report }: ScenarioRun) {
  const rounds: KillRound[] = [];
  while (rounds.length < KILLS[quick ? 'quick' : 'full']) {
    const done = await killRound(plan, rounds.length);
    rounds.push(done);
    report(`kill ${rounds.length}: ${done.samples.length} verdicts were asked for`);
  }
  const count = (what: 'acknowledged' | 'refused' | 'refusedButTaken' | 'lostOnRetry' | 'doubled') =>
    rounds.reduce((sum, { [what]: some }) => sum + some.length, 0);
  const figures: readonly Figure[] = [
    reported('kills', String(rounds.length)),
    atLeast('verdicts acknowledged before a kill', count('acknowledged'), rounds.length),
    reported('verdicts without a 200, asked for again', String(count('refused'))),
    reported('of these, decided before the kill', String(count('refusedButTaken'))),
    never('verdicts lost that a retry was given', count('lostOnRetry')),
    never('orders decided twice, retries included', count('doubled')),
  ];
  return { rounds, figures };
}

/** Creates the figure of the acknowledged verdicts that were lost, for victims that must lose none. */
export function createNoneLostFigure(rounds: readonly Pick<KillRound, 'lost'>[]): Figure {
  return never('acknowledged verdicts lost', rounds.flatMap((round) => round.lost).length);
}

async function killRound(plan: KillPlan, round: number): Promise<KillRound> {
  const { service, victim, longLoad } = plan;
  const load = new LoadGenerator({
    ...plan,
    target: service,
    connections: CONNECTIONS,
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    ask: createLoadRequestFactory(CLIENTS_A_ROUND, `round-${round}-`),
  });
  const isLong = longLoad !== undefined && round % longLoad.everyNth === 0;
  await delay(isLong ? longLoad.ms : LOAD_MS * (0.5 + Math.random()));
  const killedAtMs = performance.now();
  await victim.kill();
  await delay(AFTERWARDS_MS);
  const samples = await load.stop();
  await victim.restart();
  const backAtMs = performance.now();
  const recoveryMs = (await waitForFirstVerdict(service, `after-${round}`, RECOVERY_LIMIT_MS)) - backAtMs;
  return { samples, killedAtMs, recoveryMs, ...(await checkRecords(plan, samples)) };
}

/** Reads the acknowledged verdicts back, then asks again for the refused ones, as a careful caller does. */
async function checkRecords(
  { service, retriedMax = Number.POSITIVE_INFINITY }: KillPlan,
  samples: readonly Sample[],
): Promise<Omit<KillRound, 'samples' | 'killedAtMs' | 'recoveryMs'>> {
  const acknowledged = samples.filter(({ status }) => status === 200);
  // Only the first refused requests were under way at the kill. Later requests found the victim gone.
  const refused = samples.filter(({ status }) => status !== 200).slice(0, retriedMax);
  const ordersOf = (some: readonly Sample[]) => some.map(({ orderRef }) => orderRef);
  const before = await readDecisionsByOrder(service, ordersOf([...acknowledged, ...refused]));
  const retried = await retryUntilAnswered(service, refused);
  const after = await readDecisionsByOrder(service, ordersOf(refused));
  return {
    acknowledged,
    refused,
    refusedButTaken: refused.filter(({ orderRef }) => before.get(orderRef)?.length),
    lost: selectLostVerdicts(acknowledged, before),
    lostOnRetry: selectLostVerdicts(retried, after),
    doubled: [...listDoubledOrders(before), ...listDoubledOrders(after)],
  };
}

export const SAMPLES_A_ROUND_MAX = 2_000;

/** Kills the service under load again and again. The service starts again on the same SQLite file. */
export const serviceKills: Scenario = {
  name: 'service-kills',
  does: 'Kills the service with SIGKILL under load on SQLite, 50 times. No acknowledged verdict may be lost or doubled.',
  limitSeconds: 600,
  run: async (run) => {
    const service = await startServiceNode();
    const plan = { service, victim: service, ratePerSecond: null, samplesMax: SAMPLES_A_ROUND_MAX };
    const { rounds, figures } = await killRepeatedly(plan, run);
    return [...figures, createNoneLostFigure(rounds)];
  },
};

const UNDER_REDIS = {
  ratePerSecond: 1_500,
  /** The number of refused verdicts that are asked for again. More would only repeat the same figure. */
  retriedMax: 60,
  /** The load is longer than the time whose writes may be lost under everysec, so that this bound is tested. */
  longLoad: { everyNth: 5, ms: 3_000 },
};
/** Redis writes every second, and delays a write by at most one more second while the disk is busy. */
const EVERYSEC_BOUND_MS = 2_000;
const ANSWER_LIMIT_MS = 300;

/** Kills Redis under load again and again. Redis comes back with what its append-only file holds. */
export const redisKills: Scenario = {
  name: 'redis-kills',
  does: 'Kills Redis (AOF, everysec) with SIGKILL under load, 50 times. Acknowledged verdicts may be lost only within the two seconds of everysec, and none may be doubled.',
  needs: ['redis-server'],
  limitSeconds: 600,
  run: killRedis,
};

async function killRedis(run: ScenarioRun): Promise<readonly Figure[]> {
  watchStandstills();
  const redis = await startRedis(temporaryDirectory(), await freePort(), APPEND_ONLY);
  const service = await startServiceNode({ redisUrl: redis.url });
  const { rounds, figures } = await killRepeatedly({ service, victim: redis, ...UNDER_REDIS }, run);
  const samples = rounds.flatMap((round) => round.samples);
  const others = samples.filter(({ status }) => status !== 200 && status !== 503);
  const lostAgesMs = rounds.flatMap((round) =>
    round.lost.map(({ answeredAtMs }) => round.killedAtMs - answeredAtMs),
  );
  const recoveriesMs = rounds.map(({ recoveryMs }) => recoveryMs);
  const wholeMs = (percent: number) => Math.round(computePercentile(recoveriesMs, percent));
  return [
    ...figures,
    reported('acknowledged verdicts lost', String(lostAgesMs.length)),
    atMost('age of the oldest lost one at the kill', Math.max(0, ...lostAgesMs), EVERYSEC_BOUND_MS, 'ms'),
    never('answers other than 200 and 503', others.length),
    atMost('slowest answer', computeSlowestWithoutStallsMs(samples, ANSWER_LIMIT_MS), ANSWER_LIMIT_MS, 'ms'),
    reported(
      'first verdict after Redis is back, median and slowest',
      `${wholeMs(50)} and ${wholeMs(100)} ms`,
    ),
  ];
}
