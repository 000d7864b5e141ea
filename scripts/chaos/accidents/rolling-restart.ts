import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '../../../test/servers/redis.ts';
import { until } from '../../../test/servers/until.ts';
import { countsText, type Figure, never, reported } from '../figure.ts';
import { startHaproxy } from '../processes/haproxy.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, Load, latencyPercentile, payersInTurn, type Sample } from '../traffic/load.ts';
import { doubled, firstSuccess, lost, recordedDecisions } from '../traffic/records.ts';

const RESTARTS = 10;
const QUICK_RESTARTS = 2;
const LOAD = { ratePerSecond: 100, connections: 16, ask: payersInTurn(500) };
/** The load goes on between two restarts, so that each meets warm connections. */
const PAUSE_MS = 1000;
const START_LIMIT_MS = 20_000;

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  does: 'restarts each of two nodes behind HAProxy in turn, ten times under load: no request may fail',
  needs: ['haproxy', 'redis-server'],
  limitSeconds: 240,
  run: async (run) => {
    const redis = await startStandalone();
    const one = await startServiceNode({ redisUrl: redis.url });
    const other = await startServiceNode({ redisUrl: redis.url, key: one.key });
    return restartInTurn([one, other], run);
  },
};

async function restartInTurn(nodes: readonly ServiceNode[], run: ScenarioRun): Promise<readonly Figure[]> {
  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  const { url: callerUrl } = await startHaproxy((port) => balancerConfig(port, nodes));
  const target = { ...first, callerUrl };
  await firstSuccess(target, 'begin', START_LIMIT_MS);
  const load = new Load({ target, ...LOAD });
  await delay(PAUSE_MS);
  const restarts = run.quick ? QUICK_RESTARTS : RESTARTS;
  for (let round = 1; round <= restarts; round++) {
    for (const node of nodes) {
      await node.kill('SIGTERM');
      await node.restart();
      await until('the node is ready', () => node.isReady());
      await delay(PAUSE_MS);
    }
    run.report(`round ${round} of ${restarts}: ${failed(load.samples).length} failed so far`);
  }
  const samples = await load.stop();
  const recorded = await recordedDecisions(
    first,
    samples.map(({ orderRef }) => orderRef),
  );
  return figures(samples, restarts * nodes.length, {
    lost: lost(samples, recorded).length,
    doubled: doubled(recorded).length,
  });
}

function figures(
  samples: readonly Sample[],
  restarts: number,
  steps: { readonly lost: number; readonly doubled: number },
): readonly Figure[] {
  const failures = failed(samples);
  return [
    never(`failed requests of ${samples.length} in ${restarts} restarts`, failures.length),
    never('acknowledged verdicts lost', steps.lost),
    never('verdicts that took two steps', steps.doubled),
    ...(failures.length === 0
      ? []
      : [
          reported(
            'what the failures were',
            countsText(failures.map(({ refusal, status }) => refusal ?? status ?? 'no answer')),
          ),
        ]),
    reported('p99 over the restarts', `${latencyPercentile(samples, 99).toFixed(1)} ms`),
    reported('slowest answer', `${latencyPercentile(samples, 100).toFixed(0)} ms`),
  ];
}

/** The configuration that operators are advised to use: nothing in it repeats a request that was sent. */
function balancerConfig(
  port: number,
  nodes: readonly Pick<ServiceNode, 'callerUrl' | 'platformUrl'>[],
): string {
  const servers = nodes.map(({ callerUrl, platformUrl }, index) => {
    const check = `check port ${new URL(platformUrl).port} inter 50ms fastinter 20ms rise 1 fall 1`;
    return `  server node-${index + 1} ${new URL(callerUrl).host} ${check} pool-max-conn 64`;
  });
  return [
    'defaults',
    '  mode http',
    '  timeout connect 1s',
    '  timeout client 30s',
    '  timeout server 10s',
    '  timeout check 1s',
    '  retries 3',
    '  option redispatch 1',
    '  retry-on conn-failure',
    `listen scoring`,
    `  bind 127.0.0.1:${port}`,
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    '  http-check expect status 200',
    ...servers,
    '',
  ].join('\n');
}
