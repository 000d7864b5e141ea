import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { end, isRunning, own } from '../../../test/processes/own-process.ts';
import { startMeasured } from '../../bench/measured-process.ts';
import { atLeast, atMost, type Figure, never, of, reported } from '../figure.ts';
import { notRun } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, Load, latencyPercentile, payersInTurn, percentile } from '../traffic/load.ts';

const SOCKETS = 1000;
const SOCKETS_A_SECOND = 500;
/** Longer than slow sockets may stay; the attacker itself ends them after it. */
const ATTACK_SECONDS = 30;
const WATCHED_MS = 25_000;
const GONE_WITHIN_SECONDS = 15;
/**
 * The healthy client is measured for so long each time, whether and whoever is attacked: until the last slow
 * socket should be gone, since cutting them off is a good part of what they cost.
 */
const WINDOW_MS = 12_000;
const QUICK_WINDOW_MS = 4_000;
const LOAD = { ratePerSecond: 100, connections: 8, ask: payersInTurn(500, 'healthy-') };
const LOOK_EVERY_MS = 200;
/** Of the service's connections, those that may stay: the healthy client's, and the attacker's own look. */
const NOT_SLOW = LOAD.connections + 1;
const TCP_TABLE = '/proc/net/tcp';
const ESTABLISHED = '01';
/** A bare server that is attacked instead of the service. */
const CONTROL = 'scripts/chaos/processes/bare-server.ts';

/** One way of being slow, with its arguments for slowhttptest. */
interface Attack {
  readonly name: string;
  readonly options: readonly string[];
  readonly path: string;
  /** The answer fits into what the system keeps, so the service is done with the socket at once. */
  readonly overAtOnce?: true;
}

/** The slow sockets of one attack. */
interface SlowSockets {
  readonly most: number;
  /** How long the one that stayed longest was open. */
  readonly longestLifeMs: number;
}

/** What a healthy client of the service met, and what happened beside it. */
interface Healthy<T> {
  /** Of the window. */
  readonly p99Ms: number;
  /** Requests not answered 200, also after the window. */
  readonly failures: number;
  readonly beside: T;
}

/** One attack, with nobody, the control and the service as its victim. */
interface Compared {
  readonly attack: Attack;
  readonly nobody: Healthy<void>;
  readonly control: Healthy<SlowSockets>;
  readonly service: Healthy<SlowSockets>;
}

export const slowClients: Scenario = {
  name: 'slow-clients',
  does: '1,000 sockets that send headers, send a body or read answers slowly (slowhttptest): they are cut off within 15 s, and a healthy client hardly notices; a bare server takes the same attacks as the control',
  needs: ['slowhttptest'],
  limitSeconds: 300,
  run: async (run) => {
    if (!existsSync(TCP_TABLE)) return [notRun('run on Linux, which tells open sockets', run.report)];
    const service = await startServiceNode();
    return attackInTurn(service, run);
  },
};

async function attackInTurn(service: ServiceNode, run: ScenarioRun): Promise<readonly Figure[]> {
  const windowMs = run.quick ? QUICK_WINDOW_MS : WINDOW_MS;
  // Otherwise the first measurement would include compiling.
  await healthyLoad(service, windowMs, nothing);
  const compared: Compared[] = [];
  for (const attack of attacksWith(service.key)) {
    const seen = await compare(service, attack, windowMs);
    const { most, longestLifeMs } = seen.service.beside;
    run.report(`${attack.name}: ${most} sockets, gone after ${Math.round(longestLifeMs)} ms`);
    compared.push(seen);
  }
  const nobodyMs = percentile(
    compared.map(({ nobody }) => nobody.p99Ms),
    50,
  );
  return [
    reported('healthy p99 while nobody is attacked, median', `${nobodyMs.toFixed(1)} ms`),
    ...compared.flatMap((each) => of(each.attack.name, figures(each, nobodyMs))),
    never('service crashed', service.isRunning() ? 0 : 1),
  ];
}

function figures({ attack, control, service }: Compared, nobodyMs: number): readonly Figure[] {
  const { overAtOnce } = attack;
  const { most, longestLifeMs } = service.beside;
  const ratio = (ms: number) => `${ms.toFixed(1)} ms, ${(ms / nobodyMs).toFixed(2)} x`;
  return [
    overAtOnce
      ? reported(`slow sockets open at once`, String(most))
      : atLeast(`slow sockets open at once`, most, SOCKETS * 0.9),
    atMost(`the slow socket that stayed longest`, longestLifeMs / 1000, GONE_WITHIN_SECONDS, 's'),
    reported(
      `healthy p99 while the control is attacked (${control.beside.most} sockets)`,
      ratio(control.p99Ms),
    ),
    reported(`healthy p99 while the service is attacked`, ratio(service.p99Ms)),
    // The cost of the attack to the whole machine does not count against the service.
    atMost(
      `healthy p99 against that without or with the control attacked, whichever is longer`,
      service.p99Ms / Math.max(nobodyMs, control.p99Ms),
      2,
      'x',
    ),
    never(`healthy requests not answered 200`, service.failures),
  ];
}

/** The service must take the head of each request to be attacked where it is slowest. */
function attacksWith(key: string): readonly Attack[] {
  const verdict = '/v1/client/verdict';
  const slowReader = ['-X', '-w', '8', '-y', '32', '-z', '5', '-n', '2'];
  // A key that is known, so that the service reads the body and does not refuse at once.
  const header = `application/json\r\nX-KA-Access-Key: ${key}`;
  return [
    { name: 'slow headers (-H)', options: ['-H', '-i', '3', '-x', '16', '-t', 'POST'], path: verdict },
    { name: 'slow body (-B)', options: ['-B', '-i', '3', '-s', '8192', '-f', header], path: verdict },
    { name: 'slow read (-X)', options: [...slowReader, '-k', '5'], path: '/openapi.json', overAtOnce: true },
  ];
}

/** Three windows in a row, so that the same machine is met in each. */
async function compare(service: ServiceNode, attack: Attack, windowMs: number): Promise<Compared> {
  const answer = await fetch(service.callerUrl + attack.path);
  const { byteLength } = await answer.arrayBuffer();
  const nobody = await healthyLoad(service, windowMs, nothing);
  const bare = await startMeasured(CONTROL, { ANSWER_BYTES: String(byteLength) });
  try {
    const control = await healthyLoad(service, windowMs, () => attackOn(bare.url, attack, windowMs, 0));
    const attacked = await healthyLoad(service, windowMs, () =>
      attackOn(service.callerUrl, attack, WATCHED_MS, NOT_SLOW),
    );
    return { attack, nobody, control, service: attacked };
  } finally {
    await bare.stop();
  }
}

async function nothing(): Promise<void> {
  // Nobody is attacked.
}

/** The window begins with what happens beside it; the load goes on until both are over. */
async function healthyLoad<T>(
  target: ServiceNode,
  windowMs: number,
  beside: () => Promise<T>,
): Promise<Healthy<T>> {
  const load = new Load({ target, ...LOAD });
  const windowEndMs = performance.now() + windowMs;
  const seen = await beside();
  await delay(Math.max(0, windowEndMs - performance.now()));
  const samples = await load.stop();
  const inWindow = samples.filter(({ sentAtMs }) => sentAtMs < windowEndMs);
  return {
    p99Ms: latencyPercentile(inWindow, 99),
    failures: failed(samples).length,
    beside: seen,
  };
}

/** Attacks until the attacker ends or the time is over; ignores the given number of other connections. */
async function attackOn(
  url: string,
  { options, path }: Attack,
  watchMs: number,
  notSlow: number,
): Promise<SlowSockets> {
  const port = Number(new URL(url).port);
  const startedMs = performance.now();
  const attacker = startAttacker([...options, '-u', url + path]);
  const seen = new Map<string, Life>();
  let most = 0;
  while (isRunning(attacker) && performance.now() - startedMs < watchMs) {
    const open = callersOf(port, readFileSync(TCP_TABLE, 'utf8'));
    most = Math.max(most, open.size - notSlow);
    note(seen, open, performance.now());
    await delay(LOOK_EVERY_MS);
  }
  await end(attacker);
  return { most, longestLifeMs: longestLifeMs(seen, notSlow) };
}

function startAttacker(options: readonly string[]): ChildProcess {
  const many = ['-c', String(SOCKETS), '-r', String(SOCKETS_A_SECOND), '-l', String(ATTACK_SECONDS)];
  const attacker = spawn('slowhttptest', [...many, '-v', '0', ...options], { stdio: 'ignore' });
  own(attacker);
  return attacker;
}

/** When a connection was first and last seen open, ms. */
export interface Life {
  readonly fromMs: number;
  toMs: number;
}

function note(seen: Map<string, Life>, open: ReadonlySet<string>, nowMs: number): void {
  for (const caller of open) {
    const life = seen.get(caller);
    if (life === undefined) seen.set(caller, { fromMs: nowMs, toMs: nowMs });
    else life.toMs = nowMs;
  }
}

/** The longest life, once so many of the longest are left out; 0 of none. */
export function longestLifeMs(lives: ReadonlyMap<string, Life>, leftOut: number): number {
  return (
    [...lives.values()]
      .map(({ fromMs, toMs }) => toMs - fromMs)
      .toSorted((a, b) => b - a)
      .at(leftOut) ?? 0
  );
}

/** The far ends of the connections to a local port, by the kernel's table (`/proc/net/tcp`). */
export function callersOf(port: number, table: string): ReadonlySet<string> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const callers = table.split('\n').flatMap((line) => {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    return state === ESTABLISHED && local.endsWith(`:${hexPort}`) ? [remote] : [];
  });
  return new Set(callers);
}
