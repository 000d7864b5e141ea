import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import { atLeast, type Figure, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { killAgainAndAgain } from './kill-rounds.ts';
import { killFigures } from './service-kills.ts';

const WORKERS = 2;
const SAMPLES_A_ROUND_MAX = 2_000;

/** A worker that dies for the fifth time in a row within a minute ends its node, so the node starts again before. */
const KILLS_A_NODE = 4 * WORKERS;

/** One worker of a node after the other dies at once; the node replaces it, and the others go on. */
export const workerKills: Scenario = {
  name: 'worker-kills',
  does: 'kill -9 of one of two workers under load on Redis, 50 times: no acknowledged verdict is lost or doubled',
  needs: ['redis-server'],
  limitSeconds: 900,
  run,
};

async function run(run: ScenarioRun): Promise<readonly Figure[]> {
  const redis = await startRedis(temporaryDirectory(), await freePort(), APPEND_ONLY);
  const service = await startServiceNode({ redisUrl: redis.url, env: { WORKERS: String(WORKERS) } });
  const replacementsMs: number[] = [];
  let kills = 0;
  const victim = {
    kill: async () => {
      const [oldest = 0] = service.workerIds();
      process.kill(oldest, 'SIGKILL');
      await until('the worker is gone', async () => !service.workerIds().includes(oldest));
    },
    restart: async () => {
      const startedMs = performance.now();
      await until('another worker serves', async () => (await workersThatServe(service)) === WORKERS);
      replacementsMs.push(performance.now() - startedMs);
      if (++kills % KILLS_A_NODE !== 0) return;
      await service.kill('SIGTERM');
      await service.restart();
    },
  };
  const plan = { service, victim, ratePerSecond: null, samplesMax: SAMPLES_A_ROUND_MAX };
  const rounds = await killAgainAndAgain(plan, run);
  const answeredAfter = rounds.map(
    ({ acknowledged, killedAtMs }) => acknowledged.filter(({ sentAtMs }) => sentAtMs > killedAtMs).length,
  );
  return [
    ...killFigures(rounds),
    atLeast(
      'kills after which the other worker went on',
      answeredAfter.filter((count) => count > 0).length,
      rounds.length,
    ),
    reported('slowest replacement, after the load', `${Math.round(Math.max(...replacementsMs))} ms`),
  ];
}

async function workersThatServe({ platformUrl }: ServiceNode): Promise<number> {
  try {
    const answer = await fetch(`${platformUrl}/metrics`, { headers: { Connection: 'close' } });
    const [, workers] = /^scoring_workers (\d+)$/m.exec(await answer.text()) ?? [];
    return Number(workers);
  } catch {
    // The connection went to the worker that was killed.
    return 0;
  }
}
