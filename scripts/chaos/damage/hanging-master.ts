import { setTimeout as delay } from 'node:timers/promises';
import clusterKeySlot from 'cluster-key-slot';
import { platformName } from '../../../src/client/client-key.ts';
import { stateKey } from '../../../src/state/keys.ts';
import { clientKey } from '../../../test/client/client-keys.ts';
import { startCluster } from '../../../test/servers/redis.ts';
import { command } from '../../../test/servers/redis-command.ts';
import { call } from '../../../test/service/http-call.ts';
import { atLeast, atMost, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario } from '../scenario.ts';
import { failed, latencyPercentile, loadDuring, type Sample } from '../traffic/load.ts';

const HANGING_MS = 8_000;
const QUICK_HANGING_MS = 4_000;
const WARM_UP_MS = 2_000;
const LOOK_MS = 100;
/** The second of three masters, which keeps no documents, and its replica; its slots begin and end here. */
const HANGING = [1, 4] as const;
const SLOTS_FROM = Math.floor(16_384 / 3);
const SLOTS_TO = Math.floor((2 * 16_384) / 3);
const ANSWER_LIMIT_MS = 300;

/** One master of three hangs, and nobody can take its place. */
export const hangingMaster: Scenario = {
  name: 'hanging-master',
  does: 'one master of three and its replica stopped (SIGSTOP): the node stays ready, payers of the other two notice nothing, and its own get 503 in time',
  needs: ['redis-server'],
  limitSeconds: 120,
  run: async (run) => {
    const cluster = await startCluster();
    // Otherwise a cluster that misses some slots refuses all of them.
    const partly = ['CONFIG', 'SET', 'cluster-require-full-coverage', 'no'];
    await Promise.all(cluster.nodes.map(({ port }) => command(port, partly)));
    const service = await startServiceNode({ redisUrl: cluster.url });
    await loadDuring(service, () => delay(WARM_UP_MS));
    const stopped = HANGING.map((index) => cluster.nodes[index]);
    const { samples, result: looks } = await loadDuring(service, async () => {
      for (const node of stopped) node?.suspend();
      run.report('a master and its replica stand still');
      const seen = await readiness(service, run.quick ? QUICK_HANGING_MS : HANGING_MS);
      for (const node of stopped) node?.resume();
      return seen;
    });
    const hopeless = samples.filter(isHopeless);
    const healthy = samples.filter((sample) => !isHopeless(sample));
    return [
      atLeast('verdicts asked for on the healthy masters', healthy.length, 1),
      never('of these, not answered 200', failed(healthy).length),
      atLeast('verdicts refused that the hanging master keeps', failed(hopeless).length, 1),
      never('of all refusals, other than 503', failed(samples).filter(({ status }) => status !== 503).length),
      atMost('slowest refusal', latencyPercentile(failed(samples), 100), ANSWER_LIMIT_MS, 'ms'),
      never(
        `looks at readyz that were not 200, of ${looks.length}`,
        looks.filter((look) => !look.ready).length,
      ),
      reported('what readyz says meanwhile', looks.at(-1)?.text ?? 'nothing'),
    ];
  },
};

interface Look {
  readonly ready: boolean;
  readonly text: string;
}

async function readiness({ platformUrl }: ServiceNode, forMs: number): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (const startedMs = performance.now(); performance.now() - startedMs < forMs; await delay(LOOK_MS)) {
    const { status, body } = await call<{ readonly why?: string }>('GET', `${platformUrl}/readyz`, {});
    looks.push({ ready: status === 200, text: body.why ?? 'nothing' });
  }
  return looks;
}

function isHopeless({ clientIdKey }: Sample): boolean {
  const slot = clusterKeySlot(stateKey(clientKey(platformName('shop'), clientIdKey).hash));
  return slot >= SLOTS_FROM && slot < SLOTS_TO;
}
