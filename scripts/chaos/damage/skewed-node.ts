import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '../../../test/servers/redis.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { call } from '../../../test/service/http-call.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { Tenant } from '../../../test/service/tenant.ts';
import { type Figure, never, of, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';

const PRELOAD = join(import.meta.dirname, '..', 'processes', 'skewed-clock.ts');
const DAY_SECONDS = 86_400;
const OFFSETS = [
  { name: '15 s ahead', seconds: 15 },
  { name: '10 min ahead', seconds: 600 },
  { name: '200 days ahead', seconds: 200 * DAY_SECONDS },
] as const;

const PAYERS = 20;
/** The skewed node has sent heartbeats and looked at those of the other by then. */
const HEARTBEATS_MS = 4_000;
/** The first wait of rules/p2.v10/ladder.yaml, and what a test may be late. */
const FIRST_WAIT_SECONDS = 30;
const SLACK_SECONDS = 2;

/** One of two nodes has a wrong clock: payers and keys must not notice. */
export const skewedNode: Scenario = {
  name: 'skewed-node',
  does: 'one of two nodes on a Redis runs 15 s, 10 minutes and 200 days ahead: no wait is skipped or grows, no key is lost, the fleet stays whole, and the node warns',
  needs: ['redis-server'],
  limitSeconds: 180,
  run: async (run) => {
    const figures: Figure[] = [];
    for (const { name, seconds } of OFFSETS) figures.push(...of(name, await besideNode(name, seconds, run)));
    return figures;
  },
};

async function besideNode(
  name: string,
  seconds: number,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  const dataDir = temporaryDirectory();
  const right = await startServiceNode({ redisUrl: redis.url, dataDir });
  const ownerKey = await issueKey({ dataDir, redisUrl: redis.url }, '*');
  const skewed = await startServiceNode({
    redisUrl: redis.url,
    key: right.key,
    env: { NODE_OPTIONS: `--import ${PRELOAD}`, CLOCK_OFFSET_MS: String(seconds * 1000), LOG_LEVEL: 'warn' },
  });
  await delay(HEARTBEATS_MS);
  report(`${name}: the clock of one node is off by ${await offsetSeconds(skewed)} s`);
  const waits = await waitsOf(right, skewed, quick ? PAYERS / 4 : PAYERS);
  const skewedNodes = await nodesSeen(skewed, ownerKey);
  const rightNodes = await nodesSeen(right, ownerKey);
  const keyWorks = await Promise.all([right, skewed].map(async ({ shop }) => (await shop.score()).status));
  const figures = [
    never(`clocks that are not off`, Math.abs(await offsetSeconds(skewed)) >= seconds / 2 ? 0 : 1),
    never(
      `waits skipped, of ${waits.length} asked for on the other node`,
      waits.filter((told) => told === null).length,
    ),
    never(
      `waits that are not about the first of the ladder`,
      waits.filter((told) => told !== null && told.early > FIRST_WAIT_SECONDS + SLACK_SECONDS).length,
    ),
    never(`nodes that do not see both`, [skewedNodes, rightNodes].filter((seen) => seen !== 2).length),
    never(`nodes that do not know the key`, keyWorks.filter((status) => status !== 200).length),
    never(`logs of the skewed node without a warning`, /clock/i.test(skewed.log()) ? 0 : 1),
    reported(`what the skewed node says first`, firstMessage(skewed.log())),
  ];
  await Promise.all([right.kill(), skewed.kill()]);
  await redis.stop();
  return figures;
}

/** The wait of a payer who had begun on the other node; null when it was skipped. */
interface Wait {
  readonly early: number;
}

/** Payers begin on one node, are sent to wait there, and ask on the other. */
async function waitsOf(
  right: ServiceNode,
  skewed: ServiceNode,
  payers: number,
): Promise<readonly (Wait | null)[]> {
  const waits: (Wait | null)[] = [];
  for (const [from, to, prefix] of [
    [right, skewed, 'to-skewed'],
    [skewed, right, 'from-skewed'],
  ] as const) {
    for (let n = 0; n < payers; n++) {
      const ask = { clientIdKey: `${prefix}-${n}`, orderRef: `order-${prefix}-${n}` };
      await from.shop.verdict(ask);
      const sent = await from.shop.verdict(ask);
      const asked = await to.shop.verdict(ask);
      waits.push(asked.body.verdict === 'WAIT' ? { early: sent.body.waitSeconds ?? Number.NaN } : null);
    }
  }
  return waits;
}

/** Only the owner of the installation sees the nodes. */
async function nodesSeen(node: ServiceNode, ownerKey: string): Promise<number> {
  const { body } = await new Tenant(node, ownerKey).ask<{ readonly nodes: readonly unknown[] }>(
    'GET',
    'rules',
  );
  return body.nodes.length;
}

/** As the node itself tells by its gauge; NaN when it does not. */
async function offsetSeconds({ platformUrl }: ServiceNode): Promise<number> {
  const { body } = await call<string>('GET', `${platformUrl}/metrics`, {});
  return Number(/^scoring_store_clock_offset_seconds\S* (\S+)$/m.exec(body)?.[1] ?? Number.NaN);
}

function firstMessage(log: string): string {
  const [line = ''] = log.split('\n').filter((each) => /clock/i.test(each));
  if (line === '') return 'nothing';
  const { msg, reason }: { readonly msg?: string; readonly reason?: string } = JSON.parse(line);
  return reason ?? msg ?? line;
}
