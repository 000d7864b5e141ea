import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Load, latencyMs, percentile, type Sample } from './load.ts';
import { missingPrograms, notRun } from './needed-programs.ts';
import {
  atLeast,
  atMost,
  type Figure,
  never,
  reported,
  type Scenario,
  type ScenarioRun,
} from './scenario.ts';
import { endWithRunner, type ServiceProcess, startService } from './service-process.ts';

const SOCKETS = 1000;
const SOCKETS_A_SECOND = 500;
/** Longer than slow sockets may stay; the attacker itself ends them after it. */
const ATTACK_SECONDS = 30;
const WATCHED_SECONDS = 25;
const GONE_WITHIN_SECONDS = 15;
const BASELINE_MS = 8000;
const QUICK_BASELINE_MS = 3000;
/** The healthy client is measured for as long as there are slow ones beside it, at least this long. */
const MEASURED_MS = 8000;
const RATE_PER_SECOND = 100;
const CONNECTIONS = 8;
const TIMEOUT_MS = 10_000;
const LOOK_EVERY_MS = 200;
/** Connections that may stay: those of the healthy client, and the attacker's own look at the service. */
const NOT_SLOW = CONNECTIONS + 1;
const TCP_TABLE = '/proc/net/tcp';
const ESTABLISHED = '01';

/** One way of being slow, with what slowhttptest is told to do it. */
interface Attack {
  readonly name: string;
  readonly options: readonly string[];
  /** The answer fits into what the system keeps, so the service is done with the socket at once. */
  readonly overAtOnce?: true;
}

/** What one attack did. */
interface Attacked {
  readonly samples: readonly Sample[];
  readonly mostSockets: number;
  /** How long the slow socket that stayed longest was open. */
  readonly longestLifeMs: number;
}

export const slowClients: Scenario = {
  name: 'slow-clients',
  does: '1,000 sockets that send headers, send a body or read answers slowly (slowhttptest): they are cut off within 15 s, and a healthy client hardly notices',
  limitSeconds: 300,
  run: async (run) => {
    const missing = missingPrograms(['slowhttptest'], run);
    if (missing !== null) return [missing];
    if (!existsSync(TCP_TABLE)) return [notRun('run on Linux, which tells open sockets', run.report)];
    const service = await startService();
    try {
      return await attackInTurn(service, run);
    } finally {
      await service.stop();
    }
  },
};

async function attackInTurn(service: ServiceProcess, run: ScenarioRun): Promise<readonly Figure[]> {
  const baselines: number[] = [];
  const attacked: { readonly attack: Attack; readonly seen: Attacked }[] = [];
  for (const attack of attacksOn(service)) {
    baselines.push(p99(await healthyLoad(service, run.quick ? QUICK_BASELINE_MS : BASELINE_MS)));
    const seen = await attackUnderLoad(service, attack);
    run.report(
      `${attack.name}: ${seen.mostSockets} sockets, gone after ${Math.round(seen.longestLifeMs)} ms`,
    );
    attacked.push({ attack, seen });
  }
  const withoutMs = percentile(baselines, 50);
  return [
    reported('healthy p99 without slow clients, median', `${withoutMs.toFixed(1)} ms`),
    ...attacked.flatMap(({ attack, seen }) => figures(attack, seen, withoutMs)),
    never('service crashed', service.isRunning() ? 0 : 1),
  ];
}

function figures(
  { name, overAtOnce }: Attack,
  { samples, mostSockets, longestLifeMs }: Attacked,
  withoutMs: number,
): readonly Figure[] {
  const withMs = p99(samples);
  return [
    overAtOnce
      ? reported(`${name}: slow sockets open at once`, String(mostSockets))
      : atLeast(`${name}: slow sockets open at once`, mostSockets, SOCKETS * 0.9),
    atMost(`${name}: the slow socket that stayed longest`, longestLifeMs / 1000, GONE_WITHIN_SECONDS, 's'),
    atMost(`${name}: healthy p99 (${withMs.toFixed(1)} ms) against that without`, withMs / withoutMs, 2, 'x'),
    never(
      `${name}: healthy requests not answered 200`,
      samples.filter(({ status }) => status !== 200).length,
    ),
  ];
}

/** The service must take the head of each request to be attacked where it is slowest. */
function attacksOn({ callerUrl, key }: ServiceProcess): readonly Attack[] {
  const verdict = `${callerUrl}/v1/client/verdict`;
  const slowReader = ['-X', '-w', '8', '-y', '32', '-z', '5', '-n', '2'];
  return [
    { name: 'slow headers (-H)', options: ['-H', '-i', '3', '-x', '16', '-t', 'POST', '-u', verdict] },
    {
      name: 'slow body (-B)',
      // A key that is known, so that the service reads the body and does not refuse at once.
      options: [
        '-B',
        '-i',
        '3',
        '-s',
        '8192',
        '-f',
        `application/json\r\nX-KA-Access-Key: ${key}`,
        '-u',
        verdict,
      ],
    },
    {
      name: 'slow read (-X)',
      overAtOnce: true,
      options: [...slowReader, '-k', '5', '-u', `${callerUrl}/openapi.json`],
    },
    {
      name: 'slow read of 1.5 MB (-X)',
      options: [...slowReader, '-u', `${callerUrl}/docs/swagger-ui-bundle.js`],
    },
  ];
}

async function attackUnderLoad(service: ServiceProcess, { options }: Attack): Promise<Attacked> {
  const port = Number(new URL(service.callerUrl).port);
  const load = startHealthyLoad(service);
  const startedMs = performance.now();
  const common = [
    '-c',
    String(SOCKETS),
    '-r',
    String(SOCKETS_A_SECOND),
    '-l',
    String(ATTACK_SECONDS),
    '-v',
    '0',
  ];
  const attacker = spawn('slowhttptest', [...common, ...options], { stdio: 'ignore' });
  endWithRunner(attacker);
  const seen = new Map<string, Life>();
  let mostSockets = 0;
  while (isRunning(attacker) && performance.now() - startedMs < WATCHED_SECONDS * 1000) {
    const open = callersOf(port, readFileSync(TCP_TABLE, 'utf8'));
    mostSockets = Math.max(mostSockets, open.size - NOT_SLOW);
    note(seen, open, performance.now());
    await delay(LOOK_EVERY_MS);
  }
  attacker.kill('SIGKILL');
  await delay(Math.max(0, startedMs + MEASURED_MS - performance.now()));
  return { samples: await load.stop(), mostSockets, longestLifeMs: longestLifeMs(seen, NOT_SLOW) };
}

async function healthyLoad(service: ServiceProcess, forMs: number): Promise<readonly Sample[]> {
  const load = startHealthyLoad(service);
  await delay(forMs);
  return load.stop();
}

function startHealthyLoad(target: ServiceProcess): Load {
  return new Load({
    target,
    connections: CONNECTIONS,
    ratePerSecond: RATE_PER_SECOND,
    idempotent: false,
    timeoutMs: TIMEOUT_MS,
    ask: (n) => ({ clientIdKey: `healthy-${n % 500}`, orderRef: `healthy-${n}` }),
  });
}

function p99(samples: readonly Sample[]): number {
  return percentile(samples.map(latencyMs), 99);
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
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
