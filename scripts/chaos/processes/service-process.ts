import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessKeys, OPERATIONS } from '../../../src/access/access-keys.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { end, isRunning, own } from '../../../test/servers/own-process.ts';
import { removeDirectory, temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

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
  /** Waits until the process is gone; kill -9 when no signal is named. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it again on the same ports and the same store, once it is gone. */
  restart(): Promise<void>;
  /** Ends it, and removes its temporary folder. */
  stop(): Promise<void>;
}

export interface ServiceSettings {
  /** Absent: SQLite. */
  readonly redisUrl?: string;
  /** Absent: a temporary one. */
  readonly dataDir?: string;
  /** Absent: a new one is issued. A second node of a fleet takes the key of the first. */
  readonly key?: string;
  /** More of the environment. The rate limit is off unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
}

const START_LIMIT_MS = 20_000;
const MAIN = join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts');

/** Starts the service on free ports of 127.0.0.1 and waits until it says that it is up. */
export async function startService(given: ServiceSettings = {}): Promise<ServiceProcess> {
  const { redisUrl, key, env } = given;
  const ownFolder = temporaryDirectory();
  const dataDir = given.dataDir ?? ownFolder;
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
  let child = await spawnMain(settings);
  return {
    callerUrl: `http://127.0.0.1:${port}`,
    platformUrl: `http://127.0.0.1:${platformPort}`,
    key: issued,
    isRunning: () => isRunning(child),
    memoryMib: () => residentMib(child.pid ?? 0),
    kill: (signal) => end(child, signal),
    restart: async () => {
      child = await spawnMain(settings);
    },
    stop: async () => {
      await end(child);
      removeDirectory(ownFolder);
    },
  };
}

async function spawnMain(settings: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'] ?? '', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  own(child);
  const exited = once(child, 'exit');
  const { promise: up, resolve } = Promise.withResolvers<'up'>();
  let text = '';
  const note = (chunk: string) => {
    text = (text + chunk).slice(-4000);
    if (/callers \S+, platform \S+, store .*\n/.test(text)) resolve('up');
  };
  child.stdout.setEncoding('utf8').on('data', note);
  child.stderr.setEncoding('utf8').on('data', note);
  const first = await Promise.race([up, exited, delay(START_LIMIT_MS, 'late', { ref: false })]);
  if (first === 'up') return child;
  child.kill('SIGKILL');
  throw new Error(`the service did not start: ${text}`);
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
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  } catch {
    return Number.NaN;
  }
}
