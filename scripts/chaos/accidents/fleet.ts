import { setTimeout as delay } from 'node:timers/promises';
import type { Decision } from '#decision/decision.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import {
  atLeast,
  atMost,
  countEach,
  type Figure,
  formatCounts,
  never,
  prefixFigures,
  reported,
} from '../figure.ts';
import { backUpWhenShipped, type Fault, type Fleet, startFleet } from '../processes/fleet.ts';
import type { ServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { readArchivedDecisions } from '../traffic/archived-decisions.ts';
import { LoadGenerator, type Sample, selectFailed } from '../traffic/load.ts';
import { retryUntilAnswered, waitForFirstVerdict } from '../traffic/records.ts';

const LOAD = { ratePerSecond: 60, connections: 32, idempotent: true, timeoutMs: 5_000 };
const PAYERS_AT_ONCE = 20;
const ASKS_A_PAYER = 20;

/** The length, in ms, of a drill with masters that come back, and of one with masters that are replaced. */
const DRILL_MS = { full: [480_000, 120_000], quick: [60_000, 20_000] } as const;
const FAULT_MS = { full: 8_000, quick: 2_000 };
const PAUSE_MS = { full: 4_000, quick: 1_500 };

const HEALTHY_WITHIN_MS = 30_000;

/** The shortest wait of the shipped rules. Within this time no payer may be shown two requisites. */
const SHORTEST_WAIT_MS = 30_000;

/**
 * A replica may lack what its master acknowledged within this time before the master was lost, or before the master
 * knew that it was replaced.
 */
const REPLICA_BEHIND_MS = 1_000;

const COMPARED = 20;
const ASKED_AGAIN_MAX = 5;
/** Examples go to standard error, because they are too long for the table. */
const EXAMPLES_SHOWN = 3;

const COME_BACK = 'masters that come back';
const REPLACED = 'masters that are replaced';

/** Tries all faults of a fleet, one after the other, and checks that the fleet recovers by itself. */
export const fleetFaults: Scenario = {
  name: 'fleet',
  does: 'Runs three nodes behind HAProxy, each with its own disk, on a Redis Cluster and an archive in S3. Kills, stops and cuts off nodes, the shipper, Redis masters and S3 in turn, and slows S3 down, also while payers are erased. Every acknowledged verdict must be in the archive once, and the fleet must recover by itself.',
  needs: ['redis-server', 'haproxy'],
  limitSeconds: 1_800,
  run: async (run) => [
    ...prefixFigures(COME_BACK, await runDrill(COME_BACK, await startFleet(false), run)),
    ...prefixFigures(REPLACED, await runDrill(REPLACED, await startFleet(true), run)),
  ],
};

/** A fault, and when it began and ended, in ms of `performance.now()`. */
interface Happened {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

async function runDrill(name: string, tried: Fleet, run: ScenarioRun): Promise<readonly Figure[]> {
  const size = run.quick ? 'quick' : 'full';
  await waitForFirstVerdict(tried.target, 'begin', HEALTHY_WITHIN_MS);
  const load = new LoadGenerator({ target: tried.target, ...LOAD, ask: createNewPayerAsk });
  await delay(PAUSE_MS[size]);
  const faults = tried.hasReplicas ? tried.faults.filter(isAboutMaster) : tried.faults;
  const drillMs = DRILL_MS[size][tried.hasReplicas ? 1 : 0];
  const happened: Happened[] = [];
  for (const startedMs = performance.now(); performance.now() - startedMs < drillMs; ) {
    const fault = faults[happened.length % faults.length];
    if (fault === undefined) break;
    happened.push(await runFault(fault, FAULT_MS[size]));
    await delay(PAUSE_MS[size]);
    run.report(
      `${name}: ${fault.name}; ${selectFailed(load.samples).length} of ${load.samples.length} requests failed so far`,
    );
  }
  const healthyMs = await waitUntilHealthy(tried);
  const samples = await load.stop();
  const unanswered = samples.filter(({ status }) => status !== 200);
  const answers = await retryUntilAnswered(tried.target, unanswered);
  const acknowledged = [...samples.filter(({ status }) => status === 200), ...answers];
  const folder = temporaryDirectory();
  const { gaps } = await backUpWhenShipped(tried, folder);
  const archived = await readArchivedDecisions(folder);
  const { differing, late } = await compareAnswers(tried.nodes, acknowledged);
  for (const one of differing.slice(0, EXAMPLES_SHOWN)) run.report(`${name}: answered differently: ${one}`);
  for (const one of late.slice(0, EXAMPLES_SHOWN)) run.report(`${name}: answered 503 at first: ${one}`);
  await tried.stop();
  return [
    reported(`faults`, String(happened.length)),
    atLeast(`verdicts acknowledged`, acknowledged.length, 1),
    reported(
      `verdicts without a 200 at first, asked for again`,
      formatCounts(unanswered.map(({ status }) => status ?? 'no answer')) || 'none',
    ),
    never(
      `payers still in the archive, of ${tried.erased.size} erased`,
      archived.filter(({ clientIdKey }) => tried.erased.has(clientIdKey)).length,
    ),
    ...compareWithArchive(name, { acknowledged, archived, happened, hasReplicas: tried.hasReplicas }, run),
    never(
      `entries lost in gaps`,
      gaps.reduce((sum, { entries }) => sum + entries, 0),
    ),
    never(`questions that nodes answer differently`, differing.length),
    ...(late.length === 0
      ? []
      : [reported(`questions that were answered 503 at first`, String(late.length))]),
    atMost(`time until every node was healthy again`, healthyMs / 1000, HEALTHY_WITHIN_MS / 1000, 's'),
  ];
}

async function runFault(fault: Fault, forMs: number): Promise<Happened> {
  const fromMs = performance.now();
  await fault.begin();
  await delay(forMs);
  await fault.end();
  return { name: fault.name, fromMs, toMs: performance.now() };
}

function isAboutMaster({ name }: Fault | Happened): boolean {
  return name.startsWith('master');
}

/**
 * Returns the n-th request. Some payers ask at a time, each for several orders, with two requests of a payer at once.
 */
function createNewPayerAsk(n: number) {
  const generation = Math.floor(n / (PAYERS_AT_ONCE * ASKS_A_PAYER));
  return { clientIdKey: `payer-${generation}-${(n >> 1) % PAYERS_AT_ONCE}`, orderRef: `order-${n}` };
}

/**
 * Waits until every node is ready and gives verdicts for payers of every master. Returns the time that this took, in
 * ms.
 */
async function waitUntilHealthy({ nodes }: Fleet): Promise<number> {
  const startedMs = performance.now();
  for (const [index, node] of nodes.entries()) {
    await until(`node ${index + 1} is ready`, () => node.isReady(), 4 * HEALTHY_WITHIN_MS);
    for (let payer = 0; payer < 30; payer++)
      await waitForFirstVerdict(node, `healthy-${index}-${payer}`, 4 * HEALTHY_WITHIN_MS);
  }
  return performance.now() - startedMs;
}

interface Account {
  readonly acknowledged: readonly Sample[];
  readonly archived: readonly Decision[];
  readonly happened: readonly Happened[];
  readonly hasReplicas: boolean;
}

/**
 * Looks for the acknowledged verdicts in the archive. If lost masters come back, no verdict may be missing. If
 * replicas replace them, the verdicts that a replica had not received are counted and named.
 */
function compareWithArchive(name: string, account: Account, { report }: ScenarioRun): readonly Figure[] {
  const { acknowledged, archived, hasReplicas } = account;
  const counts = countEach(archived.map(({ decisionId }) => decisionId));
  const missing = acknowledged.filter((sample) => !counts.has(sample.decisionId ?? ''));
  for (const { orderRef, clientIdKey } of missing)
    report(`${name}: the verdict on ${orderRef} of ${clientIdKey} is not in the archive`);
  const lacked = hasReplicas ? missing.filter((sample) => mayReplicaLack(sample, account.happened)) : [];
  const twice = [...counts.values()].filter((count) => count > 1);
  const ordersTwice = [...countEach(archived.map(({ orderRef }) => orderRef))].filter(
    ([orderRef, count]) => orderRef?.startsWith('order-') === true && count > 1,
  );
  const shownTwo = listPayersShownTwo(archived, SHORTEST_WAIT_MS);
  const unlessReplaced = (figure: string, seen: number) =>
    hasReplicas ? reported(figure, String(seen)) : never(figure, seen);
  return [
    never(`acknowledged verdicts missing in the archive`, missing.length - lacked.length),
    ...(hasReplicas ? [unlessReplaced('lost with a master that was replaced', lacked.length)] : []),
    never(`decisions that are in the archive twice`, twice.length),
    unlessReplaced('orders that were decided twice', ordersTwice.length),
    unlessReplaced('payers who were shown two requisites within a wait', shownTwo.length),
  ];
}

/**
 * Tells whether a verdict was acknowledged at about the time when a master was lost, or when it learned that it was
 * replaced.
 */
function mayReplicaLack({ answeredAtMs }: Sample, happened: readonly Happened[]): boolean {
  return happened
    .filter(isAboutMaster)
    .some(({ fromMs, toMs }) =>
      [fromMs, toMs].some((momentMs) => Math.abs(answeredAtMs - momentMs) < REPLICA_BEHIND_MS),
    );
}

/** Lists the payers who got two new requisites within less than `waitMs`. */
export function listPayersShownTwo(
  decisions: readonly Pick<Decision, 'clientIdKey' | 'verdict' | 'at'>[],
  waitMs: number,
): readonly string[] {
  const shown = decisions.filter(({ verdict }) => verdict === 'GET_NEW').toSorted((a, b) => a.at - b.at);
  const isSoonAfter = (one: { at: number }, before: { at: number } | undefined) =>
    before !== undefined && one.at - before.at < waitMs;
  return [...Map.groupBy(shown, ({ clientIdKey }) => clientIdKey)]
    .filter(([, times]) => times.some((one, index) => isSoonAfter(one, times[index - 1])))
    .map(([clientIdKey]) => clientIdKey);
}

/** How the nodes answered the same questions about decisions and payers. */
interface Compared {
  /** The questions to which some node gave another answer than the first node. */
  readonly differing: readonly string[];
  /** The refusals that came before an answer. A node may take too long to read the archive for the first time. */
  readonly late: readonly string[];
}

async function compareAnswers(
  nodes: readonly ServiceNode[],
  acknowledged: readonly Sample[],
): Promise<Compared> {
  const step = Math.max(1, Math.floor(acknowledged.length / COMPARED));
  const some = acknowledged.filter((_, index) => index % step === 0);
  const questions = some.flatMap(({ orderRef, clientIdKey, decisionId }) => [
    `decisions?orderRef=${orderRef}`,
    `decisions?clientIdKey=${clientIdKey}`,
    `decisions/${decisionId}`,
    `client?clientIdKey=${clientIdKey}`,
  ]);
  const compared = { differing: [] as string[], late: [] as string[] };
  for (const question of [...questions, 'decisions?verdict=GET_NEW&limit=100']) {
    const texts = await askAllNodes(nodes, question, compared.late);
    if (new Set(texts).size > 1)
      compared.differing.push(`${question}: ${cutAroundDifference(texts).join(' or ')}`);
  }
  return compared;
}

/**
 * Returns the answer of each node. Some answers say how long ago something was. So the first node is asked again at
 * the end. Only if its two answers are the same can the other answers be compared with them.
 */
async function askAllNodes(
  nodes: readonly ServiceNode[],
  question: string,
  late: string[],
): Promise<readonly string[]> {
  for (let tries = 1; ; tries++) {
    const texts: string[] = [];
    for (const node of [...nodes, ...nodes.slice(0, 1)]) texts.push(await askNode(node, question, late));
    if (texts[0] === texts.at(-1) || tries === ASKED_AGAIN_MAX) return texts;
  }
}

async function askNode({ shop }: ServiceNode, question: string, late: string[]): Promise<string> {
  for (let tries = 1; ; tries++) {
    const { status, body } = await shop.ask<unknown>('GET', question);
    const text = JSON.stringify([status, excludeNextVerdictMember(body)]);
    if (status !== 503 || tries === ASKED_AGAIN_MAX) return text;
    late.push(`${question}: ${text}`);
    await delay(1_000);
  }
}

/**
 * Returns an answer without the verdict that a payer would get next, because this verdict names the millisecond of
 * the question.
 */
export function excludeNextVerdictMember(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('nextVerdict' in answer)) return answer;
  const { nextVerdict: _, ...stored } = answer;
  return stored;
}

/** Returns the part of each text around the first character that differs. */
export function cutAroundDifference(texts: readonly string[]): readonly string[] {
  const [first = '', ...others] = texts;
  const at = [...first].findIndex((character, index) => others.some((other) => other[index] !== character));
  return texts.map((text) => text.slice(Math.max(0, at - 60), at + 100));
}
