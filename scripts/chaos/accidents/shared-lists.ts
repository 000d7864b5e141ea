import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeRelease } from '../../../src/rules/folder/release.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import { usableMsSince, watchStandstills } from '../../../test/servers/standstill.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../../test/service/current-rules.ts';
import { atLeast, atMost, type Figure, never, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { type ImportLine, importLines, listedValues } from '../traffic/list-lines.ts';

const LIST = 'blocked-clients';
const REASON = 'The client is on the shared list.';
const FOLLOW_LIMIT_MS = 2_000;
const GIVE_UP_MS = 60_000;
const STALL_MS = 1_500;
/** A verdict on each side of the list now and then, while it is replaced. */
const WATCH_EVERY_MS = 100;

/** Long lists change while Redis stands still, while a node is killed in the middle of them, and as a whole. */
export const sharedLists: Scenario = {
  name: 'shared-lists',
  does: 'Lists of 100,000 are filled, replaced and broken off while Redis stalls and nodes are killed: every node decides by a change within 2 s, and of a broken import only the lines before the break count',
  needs: ['redis-server'],
  limitSeconds: 600,
  run,
};

/** Two nodes of one store: one is told of changes, the other has to follow. */
interface Fleet {
  readonly told: ServiceNode;
  readonly following: ServiceNode;
}

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  watchStandstills();
  const entries = quick ? 10_000 : 100_000;
  const redis = await startStandalone();
  const [node] = redis.nodes;
  if (node === undefined) throw new Error('Redis has no node');
  const env = { RULES_DIR: rulesWithList() };
  const told = await startServiceNode({ redisUrl: redis.url, env });
  const following = await startServiceNode({ redisUrl: redis.url, env, key: told.key });
  const fleet = { told, following };
  report(`filling a list with ${entries}`);
  const filled = await fill(fleet, entries);
  report('stopping Redis around changes');
  const stalls = await changesAroundStalls(fleet, node, quick ? 3 : 10);
  report(`replacing half of ${entries}`);
  const replaced = await replaceHalf(fleet, entries);
  report('killing the node that imports');
  const broken = await brokenImports(fleet, { rounds: quick ? 3 : 10, lines: quick ? 4_000 : 20_000 });
  return [...filled, ...stalls, ...replaced, ...broken];
}

/** p2.v10 with a rule that blocks who is on the list. */
function rulesWithList(): string {
  const rulesDir = temporaryDirectory();
  const folder = join(rulesDir, 'p2.v10');
  cpSync(RULES_FOLDER, folder, { recursive: true });
  const path = join(folder, 'verdicts.yaml');
  const rule = `rules:
  - name: on-the-list
    priority: 99
    conditions: { all: [{ fact: listed, params: { list: ${LIST} }, operator: equal, value: true }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "${REASON}" } }
`;
  writeFileSync(path, readFileSync(path, 'utf8').replace('rules:\n', rule));
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  writeFileSync(join(folder, 'release.json'), JSON.stringify(makeRelease('p2.v10', files, new Date(0))));
  return rulesDir;
}

async function fill(fleet: Fleet, entries: number): Promise<readonly Figure[]> {
  const startedMs = performance.now();
  await fleet.told.shop.ask('PUT', `lists/${LIST}`, { kind: 'client' });
  const answered = await importLines(fleet.told, LIST, range(0, entries).map(put));
  const tookMs = performance.now() - startedMs;
  const followedMs = await untilDecided(fleet.following, payer(entries - 1), true);
  return [
    never(`of ${entries} lines not taken`, entries - answered.length),
    reported('to fill it, all lines in one request', `${(tookMs / 1000).toFixed(1)} s`),
    atMost('until the other node decides by the last line', followedMs, FOLLOW_LIMIT_MS, 'ms'),
  ];
}

/** A change right before Redis stalls, and one as soon as it goes on: both count within the time. */
async function changesAroundStalls(
  fleet: Fleet,
  redis: { suspend(): void; resume(): void },
  rounds: number,
): Promise<readonly Figure[]> {
  const before: number[] = [];
  const after: number[] = [];
  let acceptedInStall = 0;
  for (let round = 0; round < rounds; round++) {
    // The list is full: for each new entry one is removed.
    await change(fleet.told, 'DELETE', payer(round));
    await change(fleet.told, 'PUT', `before-${round}`);
    redis.suspend();
    const during = fleet.told.shop.ask('DELETE', entryPath(`before-${round}`));
    await delay(STALL_MS);
    if ((await during).status < 300) acceptedInStall++;
    redis.resume();
    before.push(await untilDecided(fleet.following, `before-${round}`, true));
    await change(fleet.told, 'DELETE', `before-${round}`);
    after.push(await untilDecided(fleet.following, `before-${round}`, false));
    await change(fleet.told, 'PUT', payer(round));
  }
  return [
    atLeast('stalls of Redis', rounds, 1),
    never('changes that were said to be done while Redis stood still', acceptedInStall),
    atMost('slowest change from before a stall, since its end', Math.max(...before), FOLLOW_LIMIT_MS, 'ms'),
    atMost('slowest change after a stall', Math.max(...after), FOLLOW_LIMIT_MS, 'ms'),
  ];
}

/** Half of the entries go, as many come, and the rest must count all the time. */
async function replaceHalf(fleet: Fleet, entries: number): Promise<readonly Figure[]> {
  const half = entries / 2;
  const gone = range(0, half).map((number) => ({ value: payer(number), remove: true }));
  const come = range(entries, entries + half).map(put);
  const watch = watchVerdicts(fleet.following, { from: half, to: entries });
  const answered = await importLines(fleet.told, LIST, [...gone, ...come]);
  const inMs = await untilDecided(fleet.following, payer(entries + half - 1), true);
  const outMs = await untilDecided(fleet.following, payer(half - 1), false);
  const { asked, wrong } = await watch.stop();
  const held = await listedValues(fleet.following, LIST);
  const wanted = new Set(range(half, entries + half).map(payer));
  return [
    never(`of ${entries} lines of a replacement not taken`, entries - answered.length),
    atMost('until the other node decides by all of it', Math.max(inMs, outMs), FOLLOW_LIMIT_MS, 'ms'),
    atLeast('verdicts meanwhile', asked, 1),
    never('of them about payers on the list all the time, or never, by the wrong side', wrong),
    never('entries too many on the other node', [...held].filter((value) => !wanted.has(value)).length),
    never('entries missing on the other node', [...wanted].filter((value) => !held.has(value)).length),
  ];
}

interface BrokenImport {
  readonly acknowledged: number;
  readonly taken: number;
  /** Lines that count although one before them does not. */
  readonly afterGap: number;
  readonly differing: number;
  readonly missingInTheEnd: number;
}

/** The node that reads the lines is killed while it answers them; sent again, they are all there. */
async function brokenImports(
  fleet: Fleet,
  { rounds, lines }: { readonly rounds: number; readonly lines: number },
): Promise<readonly Figure[]> {
  const all: BrokenImport[] = [];
  for (let round = 0; round < rounds; round++)
    all.push(await breakOff(fleet, `broken-${round}`, lines, round));
  const sum = (of: (one: BrokenImport) => number) => all.reduce((total, one) => total + of(one), 0);
  return [
    atLeast('imports broken off by kill -9 before their last line', rounds, 1),
    reported(
      'lines acknowledged, and lines that count',
      `${sum((one) => one.acknowledged)}, ${sum((one) => one.taken)}`,
    ),
    never(
      'acknowledged lines that do not count',
      sum((one) => Math.max(0, one.acknowledged - one.taken)),
    ),
    never(
      'lines that count after one that does not',
      sum((one) => one.afterGap),
    ),
    never(
      'lines that count on one node alone',
      sum((one) => one.differing),
    ),
    never(
      'lines missing when all were sent again',
      sum((one) => one.missingInTheEnd),
    ),
  ];
}

async function breakOff(fleet: Fleet, list: string, lines: number, round: number): Promise<BrokenImport> {
  const values = range(0, lines).map(payer);
  const body = range(0, lines).map(put);
  const killAfter = 1 + Math.floor((lines / 2) * ((round * 0.37) % 1));
  await fleet.told.shop.ask('PUT', `lists/${list}`, { kind: 'client' });
  const acknowledged = await importLines(fleet.told, list, body, {
    lines: killAfter,
    interrupt: () => fleet.told.kill(),
  });
  await fleet.told.restart();
  const there = await listedValues(fleet.told, list);
  // The other node must follow in time; a list without entries does not exist.
  await delay(FOLLOW_LIMIT_MS);
  const elsewhere = await listedValues(fleet.following, list);
  const firstMissing = values.findIndex((value) => !there.has(value));
  const taken = firstMissing === -1 ? values.length : firstMissing;
  await importLines(fleet.told, list, body);
  const inTheEnd = await listedValues(fleet.told, list);
  return {
    acknowledged: acknowledged.length,
    taken,
    afterGap: there.size - taken,
    differing:
      [...there].filter((value) => !elsewhere.has(value)).length + Math.max(0, elsewhere.size - there.size),
    missingInTheEnd: values.filter((value) => !inTheEnd.has(value)).length,
  };
}

/** How long it takes until verdicts of a node have somebody on the list, or not on it; usable ms. */
async function untilDecided(node: ServiceNode, clientIdKey: string, isListed: boolean): Promise<number> {
  const startedMs = performance.now();
  while ((await isBlocked(node, clientIdKey)) !== isListed) {
    if (performance.now() - startedMs > GIVE_UP_MS) return Number.POSITIVE_INFINITY;
    await delay(10);
  }
  return Math.max(0, usableMsSince(startedMs));
}

/** Null when the node cannot say. */
async function isBlocked(node: ServiceNode, clientIdKey: string): Promise<boolean | null> {
  const { status, body } = await node.shop.verdict({ clientIdKey });
  return status === 200 ? body.reason === REASON : null;
}

function watchVerdicts(node: ServiceNode, listed: { readonly from: number; readonly to: number }) {
  let stopped = false;
  const watch = async () => {
    let [asked, wrong] = [0, 0];
    for (; !stopped; asked += 2) {
      const number = listed.from + ((asked * 7919) % (listed.to - listed.from));
      if ((await isBlocked(node, payer(number))) === false) wrong++;
      if ((await isBlocked(node, `stranger-${asked}`)) === true) wrong++;
      await delay(WATCH_EVERY_MS);
    }
    return { asked, wrong };
  };
  const watched = watch();
  return {
    stop: () => {
      stopped = true;
      return watched;
    },
  };
}

async function change(node: ServiceNode, method: 'PUT' | 'DELETE', clientIdKey: string): Promise<void> {
  const body = method === 'PUT' ? { reason: 'a scenario' } : undefined;
  for (let tries = 0; tries < 100; tries++) {
    const { status } = await node.shop.ask(method, entryPath(clientIdKey), body);
    if (status < 300 || status === 404) return;
    await delay(50);
  }
  throw new Error(`${method} of ${clientIdKey} was refused again and again`);
}

function entryPath(value: string): string {
  return `lists/${LIST}/entries?${new URLSearchParams({ value })}`;
}

function put(number: number): ImportLine {
  return { value: payer(number), reason: 'a scenario' };
}

function payer(number: number): string {
  return `listed-${number}`;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}
