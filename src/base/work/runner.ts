import { type ChildProcess, execFile, fork } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { availableParallelism, constants, loadavg, setPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isMainThread, Worker } from 'node:worker_threads';

const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;

export interface RunnerSettings {
  readonly where: 'thread' | 'process';
  /** The limit of the JavaScript heap in MiB. A native engine like DuckDB has limits of its own. */
  readonly memoryMiB: number;
  /** The part of the heap for short-lived objects. The default is V8's. */
  readonly youngMemoryMiB?: number;
  /**
   * The threads to which the job leaves the cores: those that answer callers, or all others. In the latter case the
   * job runs only while a core is idle.
   */
  readonly givesWay?: 'to callers' | 'to everybody';
  /** Present if the job runs until it is asked to stop. Such a job does not keep the process that started it alive. */
  readonly runsUntilStopped?: true;
  /** The environment of a process. The process gets no other variables, because it needs none of the secrets. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A thread or process that runs jobs, seen from the thread that started it. */
export interface Runner {
  /** Emits 'message', 'error' and 'exit'. */
  readonly events: EventEmitter;
  /** Whether the runner runs only while a core is idle. */
  readonly needsIdleCores: boolean;
  post(order: JobRequest | typeof STOP_JOB_MESSAGE, onError: (error: Error) => void): void;
  /** Sets whether this process stays alive for the runner. */
  setKeepsProcessAlive(isHeld: boolean): void;
  /** The CPU time of a thread. It is 0 before the start, after the end, and for a process. */
  measureCpuMs(): Promise<number>;
  /** Ends the runner together with its job. */
  end(): Promise<void>;
}

/**
 * Starts a thread or a process with this module. It does not keep this process alive until
 * `setKeepsProcessAlive(true)`.
 */
export async function startRunner(
  module: URL,
  settings: RunnerSettings,
  isAnyCoreIdle: boolean,
): Promise<Runner> {
  const runner =
    settings.where === 'thread'
      ? startThread(module, settings)
      : await startProcess(module, settings, isAnyCoreIdle);
  runner.events.on('error', () => {
    // A running job handles its own errors. Between jobs an error concerns nobody.
  });
  runner.setKeepsProcessAlive(false);
  return runner;
}

function startThread(module: URL, { memoryMiB, givesWay }: RunnerSettings): Runner {
  const worker = new Worker(module, {
    argv: [String(givesWay === undefined ? PRIORITY_NORMAL : PRIORITY_BELOW_NORMAL)],
    resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
  });
  return {
    events: worker,
    needsIdleCores: false,
    post: (order) => worker.postMessage(order),
    setKeepsProcessAlive: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    measureCpuMs: async () => {
      try {
        const { user, system } = await worker.cpuUsage();
        return (user + system) / 1000;
      } catch {
        return 0;
      }
    },
    end: async () => {
      await worker.terminate();
    },
  };
}

/**
 * Starts a process. If no core is idle, a job for idle cores runs with a priority below normal instead. Otherwise the
 * job might never end.
 */
async function startProcess(module: URL, settings: RunnerSettings, isAnyCoreIdle: boolean): Promise<Runner> {
  const needsIdleCores = settings.givesWay === 'to everybody' && isAnyCoreIdle;
  // The temporary files of a job that is ended are removed here. A job that is asked to stop removes them itself.
  const folder = settings.runsUntilStopped ? null : await mkdtemp(join(tmpdir(), 'scoring-process-'));
  const child = forkBackground(module, settings, {
    starter: needsIdleCores ? await listIdlePriorityCommandWords() : [],
    priority: needsIdleCores ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL,
    env: { ...settings.environment, ...(folder === null ? {} : { TMPDIR: folder, TEMP: folder }) },
  });
  return {
    events: child,
    needsIdleCores,
    post: (order, onError) => child.send(order, (error) => error && onError(error)),
    setKeepsProcessAlive: (isHeld) => {
      if (isHeld) child.ref();
      else child.unref();
      if (isHeld) child.channel?.ref();
      else child.channel?.unref();
    },
    measureCpuMs: async () => 0,
    end: async () => {
      await endProcess(child);
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Lowers the priority from the start, because some processes spend most of their time loading modules. */
function forkBackground(
  module: URL,
  { memoryMiB, youngMemoryMiB }: RunnerSettings,
  {
    starter,
    priority,
    env,
  }: { starter: readonly string[]; priority: number; env: Readonly<Record<string, string>> },
): ChildProcess {
  const young = youngMemoryMiB === undefined ? [] : [`--max-semi-space-size=${youngMemoryMiB}`];
  const memory = [`--max-old-space-size=${memoryMiB}`, ...young];
  const [execPath = process.execPath, ...execArgv] = [...starter, process.execPath, ...memory];
  const child = fork(fileURLToPath(module), [String(priority)], {
    execPath,
    execArgv,
    env: { ...compiledModules(), ...env },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  lower(child.pid, priority);
  return child;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.ref();
  child.kill('SIGKILL');
  await promise;
}

/**
 * Lowers the priority of this thread or process to the one that its starter passed. A process also ends when its
 * parent ends.
 */
export function lowerOwnPriority(): void {
  const priority = Number(process.argv[2]);
  if (!isMainThread) {
    // Outside Linux a thread has the priority of its whole process.
    if (process.platform === 'linux' && priority > PRIORITY_NORMAL) lower(0, priority);
    return;
  }
  process.once('disconnect', () => process.exit());
  if (!process.connected) process.exit();
  // On Linux each thread has its own priority, including those that V8 has already started.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
  for (const thread of threads) lower(thread, priority);
}

/** A process whose priority is lower already keeps its priority. */
function lower(id: number | undefined, priority: number): void {
  if (id === undefined) return;
  try {
    setPriority(id, priority);
  } catch {
    // The thread has ended, or its priority is lower already.
  }
}

const CHRT_IDLE = ['chrt', '-i', '0'] as const;

let starter: Promise<readonly string[]> | null = null;

/**
 * Whether a core was idle during the last minute. If no core was idle, a job for idle cores makes hardly any
 * progress.
 */
export function hasIdleCores(): boolean {
  const [runnable = 0] = loadavg();
  return runnable < availableParallelism();
}

/**
 * Finds a command that starts a process for idle cores only. Returns an empty list if there is no such command. On
 * Linux the lowest priority is not enough: the scheduler lets such a process finish a slice of some milliseconds
 * before a thread that answers a caller. It interrupts an idle-class process at once.
 */
export function listIdlePriorityCommandWords(): Promise<readonly string[]> {
  starter ??= findIdleStarter();
  return starter;
}

async function findIdleStarter(): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const [command, ...args] = CHRT_IDLE;
  try {
    // The environment is as empty as that of the processes, so that the command is found in the same way.
    await promisify(execFile)(command, [...args, 'true'], { env: {} });
    return CHRT_IDLE;
  } catch {
    return [];
  }
}

/** Lets the process use the cache of compiled modules. */
function compiledModules(): Readonly<Record<string, string>> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

export interface JobRequest {
  readonly kind: string;
  readonly task: unknown;
}

/** The message that aborts the signal of the running job. */
export const STOP_JOB_MESSAGE = 'stop';
