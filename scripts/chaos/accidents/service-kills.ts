import { atLeast, type Figure, never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { type KillRound, killAgainAndAgain } from './kill-rounds.ts';

const SAMPLES_A_ROUND_MAX = 2_000;

/** The service dies at once, again and again, and starts on the same SQLite file. */
export const serviceKills: Scenario = {
  name: 'service-kills',
  does: 'kill -9 of the service under load on SQLite, 50 times: no acknowledged verdict is lost or doubled',
  limitSeconds: 600,
  run,
};

async function run(run: ScenarioRun): Promise<readonly Figure[]> {
  const service = await startServiceNode();
  const plan = { service, victim: service, ratePerSecond: null, samplesMax: SAMPLES_A_ROUND_MAX };
  const rounds = await killAgainAndAgain(plan, run);
  return killFigures(rounds);
}

/** What kills of who answers may do to verdicts: nothing that is acknowledged is lost, and nothing is doubled. */
export function killFigures(rounds: readonly KillRound[]): readonly Figure[] {
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
