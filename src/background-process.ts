import { type ChildProcess, execFile, fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { availableParallelism, loadavg, setPriority } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface BackgroundProcess {
  /** Of JavaScript, MiB; an engine beside it has limits of its own. */
  readonly oldMemoryMiB: number;
  /** What it reads and soon forgets; as much as V8 takes when left out. */
  readonly youngMemoryMiB?: number;
  /** How far it gives way, of `os.constants.priority`. */
  readonly priority: number;
  /** All of its environment: it needs no secret of ours. */
  readonly env?: Readonly<Record<string, string>>;
  /** The words of a command that starts it, as `idleStarter` gives them; absent: it is started directly. */
  readonly starter?: readonly string[];
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

/**
 * Starts a module, which calls `giveWay`, in a process of its own that gives way from its first instruction: reading
 * its own modules is the most that some of them do.
 */
export function forkBackground(
  module: URL,
  { oldMemoryMiB, youngMemoryMiB, priority, env = {}, starter = [] }: BackgroundProcess,
): ChildProcess {
  const young = youngMemoryMiB === undefined ? [] : [`--max-semi-space-size=${youngMemoryMiB}`];
  const memory = [`--max-old-space-size=${oldMemoryMiB}`, ...young];
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

/** Ends this process with the one that started it, and lets all of its threads give way as far as that one said. */
export function giveWay(): void {
  const priority = Number(process.argv[2]);
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

/** Where the modules that we compiled are kept, so that it need not compile them again. */
function compiledModules(): Readonly<Record<string, string>> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
