import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '../../../test/servers/redis.ts';
import { watchStandstills } from '../../../test/servers/standstill.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { KeepAliveConnection } from '../traffic/keep-alive.ts';
import {
  askOnce,
  failed,
  Load,
  latencyPercentile,
  payersInTurn,
  percentile,
  type Sample,
  slowestUsableMs,
} from '../traffic/load.ts';
import { firstSuccess, recordedDecisions } from '../traffic/records.ts';

const LOAD = { ratePerSecond: 500, connections: 100, ask: payersInTurn(500) };
const LONE_ROUNDS = 8;
const WARM_UP_MS = 3_000;
const SETTLE_MS = 1_000;
const ANSWER_LIMIT_MS = 300;
const RECOVERY_LIMIT_MS = 10_000;
const MEMORY_EVERY_MS = 100;

/** Redis hangs without closing its connections. */
export const redisStopped: Scenario = {
  name: 'redis-stopped',
  does: 'Redis stopped (SIGSTOP) for 10 s under load: 503 within 300 ms, nothing applied later, back within 1 s',
  needs: ['redis-server'],
  limitSeconds: 120,
  run,
};

interface Stop {
  /** Of single requests right after a stop, before anything had noticed it. */
  readonly lone: readonly Sample[];
  readonly samples: readonly Sample[];
  readonly fromMs: number;
  readonly untilMs: number;
  readonly firstSuccessMs: number;
  readonly memoryBeforeMib: number;
  readonly memoryPeakMib: number;
}

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const stoppedMs = quick ? 3_000 : 10_000;
  watchStandstills();
  const redis = await startStandalone();
  // The rate limit asks Redis, too, and waits for it before anything else does.
  const env = { RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '1000000' };
  const service = await startServiceNode({ redisUrl: redis.url, env });
  const [node] = redis.nodes;
  if (node === undefined) throw new Error('Redis has no node');
  const lone = await loneRequests(service, node);
  const load = new Load({ target: service, ...LOAD });
  const memory: { readonly atMs: number; readonly mib: number }[] = [];
  const watch = setInterval(
    () => memory.push({ atMs: performance.now(), mib: service.memoryMib() }),
    MEMORY_EVERY_MS,
  );
  await delay(WARM_UP_MS);
  report(`stopping Redis for ${stoppedMs / 1000} s`);
  node.suspend();
  const fromMs = performance.now();
  await delay(stoppedMs);
  node.resume();
  const untilMs = performance.now();
  const firstSuccessMs = await firstSuccess(service, 'after', RECOVERY_LIMIT_MS);
  await delay(SETTLE_MS);
  clearInterval(watch);
  const samples = await load.stop();
  const before = memory.filter(({ atMs }) => atMs > fromMs - SETTLE_MS && atMs < fromMs);
  const during = memory.filter(({ atMs }) => atMs >= fromMs);
  const figures = await figuresOf(service, {
    lone,
    samples,
    fromMs,
    untilMs,
    firstSuccessMs,
    memoryBeforeMib: percentile(
      before.map(({ mib }) => mib),
      50,
    ),
    memoryPeakMib: percentile(
      during.map(({ mib }) => mib),
      100,
    ),
  });
  return figures;
}

async function loneRequests(
  service: ServiceNode,
  node: { suspend(): void; resume(): void },
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < LONE_ROUNDS; round++) {
    await firstSuccess(service, `before-${round}`, RECOVERY_LIMIT_MS);
    node.suspend();
    const connection = new KeepAliveConnection(service.callerUrl);
    const ask = { clientIdKey: `alone-${round}`, orderRef: `alone-${round}` };
    samples.push(await askOnce(connection, service, ask, false, RECOVERY_LIMIT_MS));
    connection.close();
    node.resume();
  }
  return samples;
}

async function figuresOf(
  service: Parameters<typeof recordedDecisions>[0],
  { lone, samples, fromMs, untilMs, firstSuccessMs, memoryBeforeMib, memoryPeakMib }: Stop,
): Promise<readonly Figure[]> {
  const sentDuring = samples.filter(({ sentAtMs }) => sentAtMs >= fromMs && sentAtMs < untilMs);
  // One that was sent just before the end may be answered by a Redis that is back.
  const hopeless = sentDuring.filter(({ sentAtMs }) => sentAtMs < untilMs - ANSWER_LIMIT_MS);
  const refused = failed(samples);
  const recorded = await recordedDecisions(
    service,
    refused.map(({ orderRef }) => orderRef),
  );
  const appliedLater = refused.filter(({ orderRef }) => recorded.get(orderRef)?.length);
  return [
    atLeast('requests sent while Redis stood still', sentDuring.length, 1),
    never('answers other than 503', hopeless.filter(({ status }) => status !== 503).length),
    reported('median answer', `${Math.round(latencyPercentile(sentDuring, 50) * 10) / 10} ms`),
    atMost('slowest answer', slowestUsableMs(sentDuring, ANSWER_LIMIT_MS), ANSWER_LIMIT_MS, 'ms'),
    atMost(
      'slowest answer to a request alone',
      slowestUsableMs(lone, ANSWER_LIMIT_MS),
      ANSWER_LIMIT_MS,
      'ms',
    ),
    never('refused requests that were applied', appliedLater.length),
    atMost(
      'first verdict after Redis went on',
      slowestUsableMs([{ sentAtMs: untilMs, answeredAtMs: firstSuccessMs }], 1_000),
      1_000,
      'ms',
    ),
    atMost('memory growth', memoryPeakMib - memoryBeforeMib, 20, 'MiB'),
  ];
}
