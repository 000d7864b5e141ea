import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '../../../test/servers/redis.ts';
import { until } from '../../../test/servers/until.ts';
import { type Figure, formatCounts, never, reported } from '../figure.ts';
import { getUrlPort, startHaproxy } from '../processes/haproxy.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import {
  computeLatencyPercentile,
  createLoadRequestFactory,
  LoadGenerator,
  selectFailed,
} from '../traffic/load.ts';
import {
  listDoubledOrders,
  readDecisionsByOrder,
  selectLostVerdicts,
  waitForFirstVerdict,
} from '../traffic/records.ts';

const RESTARTS = 10;
const QUICK_RESTARTS = 2;
const LOAD = { ratePerSecond: 100, connections: 16, ask: createLoadRequestFactory(500) };
/** The load goes on between two restarts, so that each restart meets warm connections. */
const PAUSE_MS = 1000;
const START_LIMIT_MS = 20_000;

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  does: 'Restarts each of two nodes behind HAProxy in turn, ten times under load. No request may fail.',
  needs: ['haproxy', 'redis-server'],
  limitSeconds: 360,
  run: async (run) => {
    const redis = await startStandalone();
    // The default DRAIN_GRACE is long enough for the proxy to see that the node leaves.
    const node = { redisUrl: redis.url, env: { DRAIN_GRACE: '5s', TRUSTED_PROXIES: '1' } };
    const one = await startServiceNode(node);
    const other = await startServiceNode({ ...node, key: one.key });
    return restartInTurn([one, other], run);
  },
};

async function restartInTurn(nodes: readonly ServiceNode[], run: ScenarioRun): Promise<readonly Figure[]> {
  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  const { url: callerUrl } = await startHaproxy(
    nodes.map(({ callerUrl, platformUrl }) => [getUrlPort(callerUrl), getUrlPort(platformUrl)]),
  );
  const target = { ...first, callerUrl };
  await waitForFirstVerdict(target, 'begin', START_LIMIT_MS);
  const load = new LoadGenerator({ target, ...LOAD });
  await delay(PAUSE_MS);
  const restarts = run.quick ? QUICK_RESTARTS : RESTARTS;
  for (let round = 1; round <= restarts; round++) {
    for (const node of nodes) {
      await node.kill('SIGTERM');
      await node.restart();
      await until('the node is ready', () => node.isReady());
      await delay(PAUSE_MS);
    }
    run.report(`round ${round} of ${restarts}: ${selectFailed(load.samples).length} requests failed so far`);
  }
  const samples = await load.stop();
  const recorded = await readDecisionsByOrder(
    first,
    samples.map(({ orderRef }) => orderRef),
  );
  const failures = selectFailed(samples).map(({ refusal, status }) => refusal ?? status ?? 'no answer');
  return [
    never(`failed requests, of ${samples.length} in ${restarts * nodes.length} restarts`, failures.length),
    never('acknowledged verdicts lost', selectLostVerdicts(samples, recorded).length),
    never('orders decided twice', listDoubledOrders(recorded).length),
    ...(failures.length === 0 ? [] : [reported('kinds of failures', formatCounts(failures))]),
    reported('p99 during the restarts', `${computeLatencyPercentile(samples, 99).toFixed(1)} ms`),
    reported('slowest answer', `${computeLatencyPercentile(samples, 100).toFixed(0)} ms`),
  ];
}
