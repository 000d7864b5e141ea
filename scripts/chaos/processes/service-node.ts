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
  /** The same key, with a method for each thing that it may ask. */
  readonly shop: Tenant;
  /** False after a crash. */
  isRunning(): boolean;
  /** Whether it says that it is ready. */
  isReady(): Promise<boolean>;
  /** Its standard error since the last start. */
  log(): string;
  pid(): number;
  /** The processes that it started. */
  childIds(): readonly number[];
  /** Resident memory, MiB. */
  memoryMib(): number;
  /** CPU seconds of all its threads since the last start. */
  cpuSeconds(): number;
  /** Stops it without closing its connections, like a machine that hangs. */
  suspend(): void;
  resume(): void;
  /** Waits until the process is gone; kill -9 when no signal is named. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it again on the same ports and the same store, once it is gone. */
  restart(): Promise<void>;
}

export interface NodeSettings {
  /** Absent: SQLite. */
  readonly redisUrl?: string;
  /** Absent: a temporary one. */
  readonly dataDir?: string;
  /** Absent: a new one is issued. Further nodes of a fleet take the key of the first. */
  readonly key?: string;
  /** More of the environment. The rate limit is off unless it is set here. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the service on free ports of 127.0.0.1 and waits until it says that it is up. */
export async function startServiceNode(given: NodeSettings = {}): Promise<ServiceNode> {
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
    memoryMib: () => residentMib(service.child.pid ?? 0),
    cpuSeconds: () => usedCpuSeconds(service.child.pid ?? 0),
    suspend: () => service.child.kill('SIGSTOP'),
    resume: () => service.child.kill('SIGCONT'),
    kill: (signal) => end(service.child, signal),
    restart: async () => {
      service = await spawnService(dataDir, settings);
    },
  };
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
