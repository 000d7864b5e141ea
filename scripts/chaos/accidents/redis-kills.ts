import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { watchStandstills } from '../../../test/servers/standstill.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { percentile } from '../traffic/load.ts';
import { slowestUsableMs } from '../traffic/usable-latency.ts';
import { type KillRound, killAgainAndAgain } from './kill-rounds.ts';

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
  run,
};

async function run(run: ScenarioRun): Promise<readonly Figure[]> {
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
