import { setTimeout as delay } from 'node:timers/promises';
import { unreadableTexts } from '../../../src/service/rebuild.ts';
import { openRedisStore } from '../../../src/state/redis/store.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import { type Meddling, startUnrulyProxy, type UnrulyProxy } from '../../../test/servers/unruly-proxy.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, Load, payersInTurn, type Sample } from '../traffic/load.ts';
import { firstSuccess, lost, recordedDecisions } from '../traffic/records.ts';

const LOAD = { ratePerSecond: 200, connections: 32 };
const HEALTHY_WITHIN_MS = 10_000;
const ROUND_MS = { full: 2_000, quick: 500 };

/** One answer in this many is corrupted. */
const SPOILED_ONE_IN = 40;
const DELAY_MS_MAX = 100;

/** What a bad network card, a broken proxy or a failing memory does to the bytes that Redis sends. */
export const garbledRedis: Scenario = {
  name: 'garbled-redis',
  does: 'answers of Redis with flipped bits, cut, delayed and in another order: no 503 applied, nothing unreadable, healthy within 10 s',
  needs: ['redis-server'],
  limitSeconds: 240,
  run,
};

const MEDDLINGS: Readonly<Record<string, () => Meddling>> = {
  'flipped bits': () => now(flipped),
  cuts: () => now(() => null),
  delays: () => async (piece) => {
    await delay(Math.random() * DELAY_MS_MAX);
    return piece;
  },
  'another order': reordering,
};

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  const port = redis.nodes[0]?.port ?? 0;
  const proxies = [await startUnrulyProxy(port), await startUnrulyProxy(port)];
  const nodes: ServiceNode[] = [];
  for (const proxy of proxies) {
    const redisUrl = `redis://127.0.0.1:${proxy.port}`;
    nodes.push(
      await startServiceNode({ redisUrl, ...(nodes[0] === undefined ? {} : { key: nodes[0].key }) }),
    );
  }
  const samples: Sample[] = [];
  let slowestMs = 0;
  for (let round = 0; round < (quick ? 1 : 10); round++)
    for (const [name, make] of Object.entries(MEDDLINGS)) {
      report(`${name}, round ${round + 1}`);
      samples.push(
        ...(await loadWhile(nodes, `${name.replaceAll(' ', '-')}-${round}-`, proxies, make, quick)),
      );
      const endedMs = performance.now();
      for (const [index, node] of nodes.entries())
        await firstSuccess(node, `after-${name}-${round}-${index}`, 4 * HEALTHY_WITHIN_MS);
      slowestMs = Math.max(slowestMs, performance.now() - endedMs);
    }
  return figuresOf(redis.url, nodes, samples, slowestMs);
}

async function loadWhile(
  nodes: readonly ServiceNode[],
  prefix: string,
  proxies: readonly UnrulyProxy[],
  make: () => Meddling,
  quick: boolean,
): Promise<readonly Sample[]> {
  const loads = nodes.map(
    (target, index) => new Load({ target, ...LOAD, ask: payersInTurn(50, `${prefix}${index}-`) }),
  );
  for (const proxy of proxies) proxy.meddle(make());
  await delay(quick ? ROUND_MS.quick : ROUND_MS.full);
  for (const proxy of proxies) proxy.meddle(null);
  return (await Promise.all(loads.map((load) => load.stop()))).flat();
}

async function figuresOf(
  redisUrl: string,
  nodes: readonly ServiceNode[],
  samples: readonly Sample[],
  slowestMs: number,
): Promise<readonly Figure[]> {
  const [node] = nodes;
  if (node === undefined) throw new Error('there is no node');
  const recorded = await recordedDecisions(
    node,
    samples.map(({ orderRef }) => orderRef),
  );
  const refused = failed(samples);
  const { writtenMs, wrong } = await readBack(redisUrl);
  const applied = refused.flatMap((sample) =>
    (recorded.get(sample.orderRef) ?? []).map(({ decisionId }) => ({
      ...sample,
      afterMs: (writtenMs.get(decisionId) ?? Number.NaN) - (performance.timeOrigin + sample.answeredAtMs),
    })),
  );
  return [
    atLeast('verdicts given meanwhile', samples.length - refused.length, 1),
    reported('503 meanwhile', String(refused.length)),
    reported('applied, and their answer lost until it was too late', String(applied.length)),
    never(
      'refused requests that were applied afterwards',
      applied.filter(({ afterMs }) => !(afterMs < 1)).length,
    ),
    never('acknowledged verdicts that are not recorded', lost(samples, recorded).length),
    never('states and entries that cannot be read', wrong),
    atMost('until every node gives verdicts again', slowestMs, HEALTHY_WITHIN_MS, 'ms'),
  ];
}

/** When decisions were written, by Redis's clock, and how many texts and entries cannot be read. Asked past the proxies. */
async function readBack(redisUrl: string) {
  const writtenMs = new Map<string, number>();
  const store = await openRedisStore(redisUrl, () => {});
  let wrong = (await Array.fromAsync(unreadableTexts(store, () => {}))).length;
  for (let after: string | null = null; ; ) {
    const { entries, cursor } = await store.readJournal(after, 1000);
    wrong += entries.filter(({ at }) => !Number.isSafeInteger(at)).length;
    for (const entry of entries)
      if (entry.kind === 'verdict') writtenMs.set(entry.decision.decisionId, entry.place.ms);
    if (entries.length === 0) break;
    after = cursor;
  }
  await store.close();
  return { writtenMs, wrong };
}

/** Changes one chunk in `some`. */
function now(change: (piece: Buffer) => Buffer | null): Meddling {
  return (piece) => (Math.random() * SPOILED_ONE_IN < 1 ? change(piece) : piece);
}

function flipped(piece: Buffer): Buffer {
  const place = Math.floor(Math.random() * piece.length);
  const spoiled = Buffer.from(piece);
  spoiled[place] = (spoiled[place] ?? 0) ^ (1 << Math.floor(Math.random() * 8));
  return spoiled;
}

/** Swaps a chunk with the next one. */
function reordering(): Meddling {
  let held: Buffer | null = null;
  return (piece) => {
    if (held !== null) {
      const both = Buffer.concat([piece, held]);
      held = null;
      return both;
    }
    if (Math.random() * SPOILED_ONE_IN >= 1) return piece;
    held = piece;
    return Buffer.alloc(0);
  };
}
