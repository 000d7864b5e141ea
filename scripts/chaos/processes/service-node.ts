import { readFileSync } from 'node:fs';
import { childIds } from '../../../test/processes/child-ids.ts';
import { end, isRunning } from '../../../test/processes/own-process.ts';
import { usedCpuSeconds } from '../../../test/processes/used-cpu.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { spawnService } from '../../../test/service/service-process.ts';
import { Tenant } from '../../../test/service/tenant.ts';

/** The whole service as a process, as `npm start` runs it. It keeps its ports over restarts. */
export interface ServiceNode {
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** A key for all operations. */
  readonly key: string;
  /** Calls the platform's interface with this key. */
  readonly shop: Tenant;
  /** False after a crash. */
  isRunning(): boolean;
  /** Whether the node reports that it is ready. */
  isReady(): Promise<boolean>;
  /** Returns the standard error of the service since the last start. */
  log(): string;
  pid(): number;
  /** Lists the processes that the service started. */
  childIds(): readonly number[];
  /** Returns the resident memory of the service in MiB. */
  memoryMib(): number;
  /** Returns the CPU seconds of all threads of the service since the last start. */
  cpuSeconds(): number;
  /** Stops the service without closing its connections, like a machine that hangs. */
  suspend(): void;
  resume(): void;
  /** Sends a signal, SIGKILL by default, and waits until the process is gone. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts the service again, after it is gone, on the same ports and the same store. */
  restart(): Promise<void>;
}

export interface ServiceNodeSettings {
  /** The Redis to use. Absent means SQLite. */
  readonly redisUrl?: string;
  /** The data folder. Absent means a temporary one. */
  readonly dataDir?: string;
  /** The access key. Absent means that a new one is issued. Further nodes of a fleet take the key of the first. */
  readonly key?: string;
  /** Further environment variables. The rate limit is off unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the service on free ports of 127.0.0.1 and waits until it is up. */
export async function startServiceNode(given: ServiceNodeSettings = {}): Promise<ServiceNode> {
  const { redisUrl, env, dataDir = temporaryDirectory() } = given;
  const port = await freePort();
  const platformPort = await freePort();
  const key = given.key ?? (await issueKey({ dataDir, redisUrl }));
  const settings = {
    PORT: String(port),
    PLATFORM_PORT: String(platformPort),
    LOG_LEVEL: 'error',
    SIGNAL_SECRET: 'a secret of the fault tests, long enough',
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    ...env,
  };
  let service = await spawnService(dataDir, settings);
  const addresses = {
    callerUrl: `http://127.0.0.1:${port}`,
    platformUrl: `http://127.0.0.1:${platformPort}`,
  };
  return {
    ...addresses,
    key,
    shop: new Tenant(addresses, key),
    isRunning: () => isRunning(service.child),
    isReady: () =>
      fetch(`${addresses.platformUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    log: () => service.stderr(),
    pid: () => service.child.pid ?? 0,
    childIds: () => childIds(service.child.pid ?? 0),
    memoryMib: () => readResidentMib(service.child.pid ?? 0),
    cpuSeconds: () => usedCpuSeconds(service.child.pid ?? 0),
    suspend: () => service.child.kill('SIGSTOP'),
    resume: () => service.child.kill('SIGCONT'),
    kill: (signal) => end(service.child, signal),
    restart: async () => {
      service = await spawnService(dataDir, settings);
    },
  };
}

/** Returns NaN when there is no /proc. */
function readResidentMib(pid: number): number {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  } catch {
    return Number.NaN;
  }
}
