import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessKeys, OPERATIONS } from '../../src/access/access-keys.ts';
import { platformName } from '../../src/client/client-key.ts';
import { openStore } from '../../src/state/open-store.ts';
import { freePort } from '../../test/servers/redis.ts';

/** The whole service as a process of its own, as `npm start` runs it. It keeps its ports over restarts. */
export interface ServiceProcess {
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** A key for all operations. */
  readonly key: string;
  /** Whether the process runs; a service that crashed does not. */
  isRunning(): boolean;
  /** Resident memory, MiB. */
  memoryMib(): number;
  /** CPU time used so far, user and system, ms. */
  cpuMs(): number;
  /** Waits until the process is gone. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it again on the same ports and the same store, once it is gone. */
  restart(): Promise<void>;
  /** What it wrote to standard error, the last 4,000 characters. */
  stderr(): string;
  /** Ends it, and removes its folder. */
  stop(): Promise<void>;
}

export interface ServiceSettings {
  /** Absent: SQLite in a temporary folder. */
  readonly redisUrl?: string;
  /** Absent: a new one is issued. A second node of a fleet takes the key of the first. */
  readonly key?: string;
  /** More of the environment. The rate limit is off unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
}

const START_LIMIT_MS = 20_000;
const CLOCK_TICK_MS = 10;
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

const running = new Set<ChildProcess>();
const folders = new Set<string>();

// Whatever way the runner ends, no process and no folder stays behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Starts the service on free ports of 127.0.0.1 and waits until it says that it is up. */
export async function startService({ redisUrl, key, env }: ServiceSettings = {}): Promise<ServiceProcess> {
  const dataDir = temporaryFolder();
  const port = await freePort();
  const platformPort = await freePort();
  const issued = key ?? (await issueKey(redisUrl ?? null, dataDir));
  const settings = {
    HOST: '127.0.0.1',
    PORT: String(port),
    PLATFORM_PORT: String(platformPort),
    DATA_DIR: dataDir,
    RATE_LIMIT_PER_SECOND: '0',
    LOG_LEVEL: 'error',
    SIGNAL_SECRET: 'a secret of the fault tests',
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    ...env,
  };
  const errors = { text: '' };
  let child = await spawnMain(settings, errors);
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const kill = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (!isRunning()) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  return {
    callerUrl: `http://127.0.0.1:${port}`,
    platformUrl: `http://127.0.0.1:${platformPort}`,
    key: issued,
    isRunning,
    memoryMib: () => residentMib(child.pid ?? 0),
    cpuMs: () => cpuMs(child.pid ?? 0),
    kill,
    restart: async () => {
      child = await spawnMain(settings, errors);
    },
    stderr: () => errors.text,
    stop: async () => {
      await kill('SIGKILL');
      removeFolder(dataDir);
    },
  };
}

/** A folder that is gone when the runner is, or earlier by `removeFolder`. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'scoring-chaos-'));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** Ends with the runner, as the service does. */
export function endWithRunner(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

async function spawnMain(
  settings: Readonly<Record<string, string>>,
  errors: { text: string },
): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'] ?? '', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithRunner(child);
  const exited = once(child, 'exit');
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors.text = (errors.text + chunk).slice(-4000);
  });
  const { promise: up, resolve } = Promise.withResolvers<'up'>();
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-4000);
    if (/callers \S+, platform \S+, store .*\n/.test(text)) resolve('up');
  });
  const first = await Promise.race([up, exited, delay(START_LIMIT_MS, 'late', { ref: false })]);
  if (first === 'up') return child;
  child.kill('SIGKILL');
  throw new Error(`the service did not start: ${text}${errors.text}`);
}

async function issueKey(redisUrl: string | null, dataDir: string): Promise<string> {
  const store = await openStore({ redisUrl, dataDir }, () => {
    // A failed call tells it.
  });
  try {
    const keys = new AccessKeys(store.documents, Date.now);
    return (await keys.issue(platformName('shop'), OPERATIONS, null)).key;
  } finally {
    await store.close();
  }
}

/** NaN where there is no /proc. */
function residentMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(pid, 'status')) ?? [];
  return Number(kib) / 1024;
}

/** NaN where there is no /proc. The process's name stands in brackets and may hold blanks. */
function cpuMs(pid: number): number {
  const fields = readProc(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
