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

/** Where work is done, and how. */
export interface Place {
  readonly where: 'thread' | 'process';
  /** Of JavaScript; an engine beside it has limits of its own. */
  readonly memoryMiB: number;
  /** Of it what is read and soon forgotten; as much as V8 takes when left out. */
  readonly youngMemoryMiB?: number;
  /** To whom it leaves the cores: to those that answer callers, or, as a process, to everybody while any core is idle. */
  readonly givesWay?: 'to callers' | 'to everybody';
  /** It goes on until it is asked to stop, ends by itself then, and keeps nobody alive meanwhile. */
  readonly isServant?: true;
  /** What a process is to find in its environment, which is empty otherwise: it needs no secret of ours. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A thread or a process that does work, as whoever started it sees it. */
export interface FarEnd {
  /** 'message', 'error' and 'exit'. */
  readonly events: EventEmitter;
  /** It gets on only while a core is idle. */
  readonly needsIdleCores: boolean;
  post(order: Order | typeof STOP, onError: (error: Error) => void): void;
  /** Whether this process lives on for its sake. */
  hold(isHeld: boolean): void;
  /** What it has taken of a core; 0 while it starts, after its end, and of a process. */
  cpuMs(): Promise<number>;
  /** Ends it with whatever it is at. */
  end(): Promise<void>;
}

export async function startFarEnd(module: URL, place: Place, isAnyCoreIdle: boolean): Promise<FarEnd> {
  const farEnd =
    place.where === 'thread' ? startThread(module, place) : await startProcess(module, place, isAnyCoreIdle);
  farEnd.events.on('error', () => {
    // The work under way hears of it; between works there is nobody to tell.
  });
  farEnd.hold(false);
  return farEnd;
}

function startThread(module: URL, { memoryMiB, givesWay }: Place): FarEnd {
  const worker = new Worker(module, {
    argv: [String(givesWay === undefined ? PRIORITY_NORMAL : PRIORITY_BELOW_NORMAL)],
    resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
  });
  return {
    events: worker,
    needsIdleCores: false,
    post: (order) => worker.postMessage(order),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    cpuMs: async () => {
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

/** Where work waits for idle cores and none is idle, it only gives way, so that it gets on. */
async function startProcess(module: URL, place: Place, isAnyCoreIdle: boolean): Promise<FarEnd> {
  const needsIdleCores = place.givesWay === 'to everybody' && isAnyCoreIdle;
  // What is left behind by one that is ended at work goes with its folder; a servant tidies up.
  const folder = place.isServant ? null : await mkdtemp(join(tmpdir(), 'scoring-process-'));
  const child = forkBackground(module, place, {
    starter: needsIdleCores ? await idleStarter() : [],
    priority: needsIdleCores ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL,
    env: { ...place.environment, ...(folder === null ? {} : { TMPDIR: folder, TEMP: folder }) },
  });
  return {
    events: child,
    needsIdleCores,
    post: (order, onError) => child.send(order, (error) => error && onError(error)),
    hold: (isHeld) => {
      if (isHeld) child.ref();
      else child.unref();
      if (isHeld) child.channel?.ref();
      else child.channel?.unref();
    },
    cpuMs: async () => 0,
    end: async () => {
      await endProcess(child);
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Gives way from its first instruction: reading its own modules is the most that some processes do. */
function forkBackground(
  module: URL,
  { memoryMiB, youngMemoryMiB }: Place,
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

/** What this thread or process was started with. A process ends with the one that started it. */
export function giveWay(): void {
  const priority = Number(process.argv[2]);
  if (!isMainThread) {
    // Elsewhere than on Linux the priority of a thread is that of its whole process.
    if (process.platform === 'linux' && priority > PRIORITY_NORMAL) lower(0, priority);
    return;
  }
  process.once('disconnect', () => process.exit());
  if (!process.connected) process.exit();
  // On Linux a priority is that of a thread, and what the engine of JavaScript started before has its own.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
  for (const thread of threads) lower(thread, priority);
}

/** A process that starts another one and itself gives way more than that keeps its own priority for it. */
function lower(id: number | undefined, priority: number): void {
  if (id === undefined) return;
  try {
    setPriority(id, priority);
  } catch {
    // It ended meanwhile, or gives way already.
  }
}

const CHRT_IDLE = ['chrt', '-i', '0'] as const;

let starter: Promise<readonly string[]> | null = null;

/**
 * Whether a core has had nothing to do now and then in the last minute. Where none has, what waits for idle cores gets next
 * to nothing: some hundredths of a second a minute.
 */
export function hasIdleCores(): boolean {
  const [runnable = 0] = loadavg();
  return runnable < availableParallelism();
}

/**
 * A command that starts a process for idle cores only. On Linux the lowest priority alone is not enough: the scheduler
 * lets such a process end its slice of some milliseconds before a thread that wakes up for a caller, but one that is
 * marked idle gives way at once. Empty where there is no such command, or it may not do that.
 */
export function idleStarter(): Promise<readonly string[]> {
  starter ??= findIdleStarter();
  return starter;
}

async function findIdleStarter(): Promise<readonly string[]> {
  if (process.platform !== 'linux') return [];
  const [command, ...args] = CHRT_IDLE;
  try {
    // The environment is as empty as that of the processes it is for, so that it is found as it is here.
    await promisify(execFile)(command, [...args, 'true'], { env: {} });
    return CHRT_IDLE;
  } catch {
    return [];
  }
}

/** Where the modules that we compiled are kept, so that it need not compile them again. */
function compiledModules(): Readonly<Record<string, string>> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

export interface Order {
  readonly kind: string;
  readonly task: unknown;
}

/** Ends the signal of the work under way. */
export const STOP = 'stop';
