import { setTimeout as delay } from 'node:timers/promises';
import { parseDecisionId } from '../../../src/client/client-key.ts';
import { type RedisServers, startCluster, startSentinel } from '../../../test/servers/redis.ts';
import { watchStandstills } from '../../../test/servers/standstill.ts';
import { atLeast, atMost, countsText, type Figure, of, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, Load, payersInTurn, type Sample, slowestUsableMs } from '../traffic/load.ts';
import { lost, type Recorded, recordedDecisions } from '../traffic/records.ts';

const LOAD = { ratePerSecond: 300, connections: 60, ask: payersInTurn(300) };
const WARM_UP_MS = 3_000;
const ANSWER_LIMIT_MS = 300;

/** The master dies; its replica takes over. */
export const failover: Scenario = {
  name: 'failover',
  does: 'the master of a Redis Cluster and of a Sentinel group is killed under load: when verdicts are given again, and which steps are lost',
  needs: ['redis-server'],
  limitSeconds: 180,
  run,
};

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  watchStandstills();
  const watchMs = quick ? 10_000 : 20_000;
  const figures: Figure[] = [];
  report('a cluster of three masters, each with a replica');
  figures.push(...of('cluster', await failOver(await startCluster(), watchMs, report)));
  report('a master and a replica, watched by three sentinels');
  figures.push(...of('sentinel', await failOver(await startSentinel(), watchMs, report)));
  return figures;
}

async function failOver(
  redis: RedisServers,
  watchMs: number,
  report: (line: string) => void,
): Promise<readonly Figure[]> {
  const service = await startServiceNode({ redisUrl: redis.url });
  const load = new Load({ target: service, ...LOAD });
  await delay(WARM_UP_MS);
  await redis.nodes[0]?.kill();
  const killedAtMs = performance.now();
  await delay(watchMs);
  const samples = await load.stop();
  report(`seconds since the kill, and refusals in each: ${refusalsBySecond(samples, killedAtMs)}`);
  const orders = samples.filter(({ status }) => status === 200).map(({ orderRef }) => orderRef);
  const recorded = await recordedDecisions(service, orders);
  await service.kill();
  await redis.stop();
  return figuresOf(samples, recorded, killedAtMs);
}

function figuresOf(samples: readonly Sample[], recorded: Recorded, killedAtMs: number): readonly Figure[] {
  const { affected, firstSuccessMs, allBackMs } = outage(samples, killedAtMs);
  const acknowledged = samples.filter(({ status }) => status === 200);
  const after = samples.filter(({ sentAtMs }) => sentAtMs >= killedAtMs);
  const steps = lostSteps(acknowledged, recorded);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return [
    atLeast(`verdicts acknowledged`, acknowledged.length, 1),
    atLeast(`payers that the failover touched`, affected, 1),
    reported(`first verdict for one of them`, seconds(firstSuccessMs)),
    atMost(`verdict for every one of them`, allBackMs / 1000, 15, 's'),
    reported(`steps lost, found by a number given twice`, String(steps.lost)),
    reported(`acknowledged verdicts no longer recorded`, String(steps.neverFound)),
    atMost(`slowest answer`, slowestUsableMs(after, ANSWER_LIMIT_MS), ANSWER_LIMIT_MS, 'ms'),
    atMost(`requests without an answer`, after.filter(({ status }) => status === null).length, 0),
  ];
}

function refusalsBySecond(samples: readonly Sample[], killedAtMs: number): string {
  return countsText(
    failed(samples).map(({ answeredAtMs }) => Math.floor((answeredAtMs - killedAtMs) / 1000)),
  );
}

/** After the kill: who was refused, and when the first and the last of them got a verdict again. */
export function outage(samples: readonly Sample[], killedAtMs: number) {
  const backAtMs = new Map<string, number>();
  const byAnswer = samples
    .filter(({ answeredAtMs }) => answeredAtMs >= killedAtMs)
    .toSorted((a, b) => a.answeredAtMs - b.answeredAtMs);
  for (const { clientIdKey, status, answeredAtMs } of byAnswer) {
    const known = backAtMs.get(clientIdKey);
    // Refused once more after a verdict: it was not back yet.
    if (status !== 200) backAtMs.set(clientIdKey, Number.POSITIVE_INFINITY);
    else if (known === Number.POSITIVE_INFINITY) backAtMs.set(clientIdKey, answeredAtMs - killedAtMs);
  }
  const times = [...backAtMs.values()];
  return {
    affected: times.length,
    firstSuccessMs: Math.min(...times),
    allBackMs: Math.max(...times),
  };
}

/**
 * A replica that had not heard of a step yet gives its number again. Each number is therefore given to
 * one acknowledged verdict; one more is a step that was lost.
 */
export function lostSteps(acknowledged: readonly Sample[], recorded: Recorded) {
  const numbers = new Set(acknowledged.map(numberOf));
  return { lost: acknowledged.length - numbers.size, neverFound: lost(acknowledged, recorded).length };
}

/** The client and the number of a decision: its id also tells when it was made, so that no two have the same. */
function numberOf({ decisionId }: Sample): string | null {
  const place = parseDecisionId(decisionId ?? '');
  return place === null ? decisionId : `${place.clientHash}.${place.seq}`;
}
