import { setTimeout as delay } from 'node:timers/promises';
import { parseDecisionId } from '../../../src/client/client-key.ts';
import type { VerdictAnswer } from '../../../src/decision/decision.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import type { RedisProcess } from '../../../test/servers/redis-process.ts';
import { SeededRandom } from '../../../test/simulation/seeded-random.ts';
import { atLeast, type Figure, never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { type Exchange, KeepAliveConnection } from '../traffic/keep-alive.ts';
import { type Recorded, recordedDecisions } from '../traffic/records.ts';
import { post, type Target, verdictRequest } from '../traffic/requests.ts';
import { isLinearizable, type Operation, type Seen } from './history-checker.ts';

/** As in rules/p2.v10/ladder.yaml. */
const WAITS_SECONDS = [30, 300, 1800];

const CALLERS_A_NODE = 2;
const PATIENT_MS = 3_000;
/** About the time of an answer, so that callers give up before, during and after the decision. */
const IMPATIENT_MS = 3;
const PAUSE_MS = 4;
const EVERY_NTH_STALLS = 25;
const STALL_MS = 300;

/** Concurrent requests for one client over two nodes: each takes one step, as if they came one after the other. */
export const linearizability: Scenario = {
  name: 'linearizability',
  does: '1,000 random concurrent histories of one client over two nodes, with timeouts, each checked against the ladder',
  needs: ['redis-server'],
  limitSeconds: 400,
  run,
};

interface Totals {
  operations: number;
  unknown: number;
  readonly refusedOrders: string[];
  violations: number;
}

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const histories = quick ? 100 : 1_000;
  const seed = Math.floor(Math.random() * 2 ** 31);
  report(`seed ${seed}`);
  const random = new SeededRandom(seed);
  const redis = await startStandalone();
  const [node] = redis.nodes;
  if (node === undefined) throw new Error('Redis has no node');
  const one = await startServiceNode({ redisUrl: redis.url });
  const other = await startServiceNode({ redisUrl: redis.url, key: one.key });
  const callers = [one, other].flatMap((target) =>
    Array.from({ length: CALLERS_A_NODE }, () => new Caller(target)),
  );
  const totals: Totals = { operations: 0, unknown: 0, refusedOrders: [], violations: 0 };
  for (let n = 0; n < histories; n++) {
    const stalled = n % EVERY_NTH_STALLS === EVERY_NTH_STALLS - 1 ? node : null;
    const history = await makeHistory(callers, `payer-${n}`, random, stalled);
    count(totals, history);
    const checked = history.flatMap(({ operation }) => operation ?? []);
    if (isLinearizable(checked, WAITS_SECONDS)) continue;
    totals.violations++;
    report(`history ${n} is not linearizable: ${JSON.stringify(checked)}`);
  }
  for (const caller of callers) caller.close();
  const recorded = await recordedDecisions(one, totals.refusedOrders);
  return figuresOf(totals, recorded, histories, seed);
}

function figuresOf(totals: Totals, recorded: Recorded, histories: number, seed: number): readonly Figure[] {
  const taken = totals.refusedOrders.filter((orderRef) => recorded.get(orderRef)?.length);
  return [
    reported('histories, and the seed of their chance', `${histories}, ${seed}`),
    atLeast('operations', totals.operations, histories),
    atLeast('callers that gave up before they heard the answer', totals.unknown, 1),
    reported('verdicts answered 503', String(totals.refusedOrders.length)),
    reported('of these, steps that had been taken', String(taken.length)),
    never('histories that no order of steps explains', totals.violations),
  ];
}

function count(totals: Totals, history: readonly Asked[]): void {
  totals.operations += history.length;
  totals.unknown += history.filter(
    ({ operation }) => operation?.endedAtMs === Number.POSITIVE_INFINITY,
  ).length;
  totals.refusedOrders.push(...history.flatMap(({ refusedOrder }) => refusedOrder ?? []));
}

interface Asked {
  /** Null: it was never sent. */
  readonly operation: Operation | null;
  /** The order of a verdict that was answered 503; it may have been decided, with only Redis's answer lost. */
  readonly refusedOrder: string | null;
}

/** Everybody asks at random times; a last patient request then shows lost steps. */
async function makeHistory(
  callers: readonly Caller[],
  clientIdKey: string,
  random: SeededRandom,
  stalled: RedisProcess | null,
): Promise<readonly Asked[]> {
  let n = 0;
  const asked = callers.map(async (caller) => {
    const own: Asked[] = [];
    for (let left = random.whole(1, 3); left > 0; left--) {
      await delay(random.next() * PAUSE_MS);
      const kind = random.chance(0.15) ? 'paid' : 'verdict';
      const patienceMs = random.chance(0.2) ? random.next() * IMPATIENT_MS : PATIENT_MS;
      own.push(await caller.ask(kind, clientIdKey, `${clientIdKey}-order-${n++}`, patienceMs));
    }
    return own;
  });
  if (stalled !== null) await stall(stalled);
  const history = (await Promise.all(asked)).flat();
  const last = await callers[0]?.ask('verdict', clientIdKey, `${clientIdKey}-last`, PATIENT_MS);
  return last === undefined ? history : [...history, last];
}

/** Long enough for the service to give up waiting. */
async function stall(redis: RedisProcess): Promise<void> {
  await delay(PAUSE_MS / 2);
  redis.suspend();
  await delay(STALL_MS);
  redis.resume();
}

/** Asks one node, over one connection to each of its listeners. */
class Caller {
  readonly #target: Target;
  readonly #callerApi: KeepAliveConnection;
  readonly #platformApi: KeepAliveConnection;

  constructor(target: Target) {
    this.#target = target;
    this.#callerApi = new KeepAliveConnection(target.callerUrl);
    this.#platformApi = new KeepAliveConnection(target.platformUrl);
  }

  async ask(
    kind: 'verdict' | 'paid',
    clientIdKey: string,
    orderRef: string,
    patienceMs: number,
  ): Promise<Asked> {
    const startedAtMs = performance.now();
    const exchange = await this.#exchange(kind, clientIdKey, orderRef, patienceMs);
    if (exchange === 'not sent') return { operation: null, refusedOrder: null };
    const seen = seenOf(kind, exchange);
    const endedAtMs = exchange === 'no answer' ? Number.POSITIVE_INFINITY : performance.now();
    const refused = exchange !== 'no answer' && exchange.status === 503 && kind === 'verdict';
    return { operation: { startedAtMs, endedAtMs, seen }, refusedOrder: refused ? orderRef : null };
  }

  close(): void {
    this.#callerApi.close();
    this.#platformApi.close();
  }

  #exchange(
    kind: 'verdict' | 'paid',
    clientIdKey: string,
    orderRef: string,
    patienceMs: number,
  ): Promise<Exchange> {
    if (kind === 'verdict') {
      const request = verdictRequest(this.#target, { clientIdKey, orderRef }, false);
      return this.#callerApi.ask(request, patienceMs);
    }
    const body = JSON.stringify({ clientIdKey, orderRef, outcome: 'PAID' });
    const request = post(`${this.#target.platformUrl}/v1/platform/outcomes`, this.#target.key, body);
    return this.#platformApi.ask(request, patienceMs);
  }
}

function seenOf(kind: 'verdict' | 'paid', exchange: Exclude<Exchange, 'not sent'>): Seen {
  if (exchange === 'no answer' || exchange.status === 503) return { kind: 'unknown', operation: kind };
  if (exchange.status !== 200) throw new Error(`answered ${exchange.status}: ${exchange.body}`);
  if (kind === 'paid') return { kind };
  const { verdict, waitSeconds }: VerdictAnswer = JSON.parse(exchange.body);
  const place = parseDecisionId(exchange.headers.get('x-decision-id') ?? '');
  if (place === null) throw new Error('a verdict was answered without a decisionId');
  return { kind, answer: { verdict, waitSeconds: waitSeconds ?? null, seq: place.seq } };
}
