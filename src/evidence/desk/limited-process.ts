import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { forkBackground, giveWay, hasIdleCores, idleStarter } from '../../background-process.ts';

/** What each task in a process of its own may take. */
export interface ProcessLimits {
  readonly timeMs: number;
  /** Of JavaScript; an engine beside it has limits of its own. */
  readonly memoryMiB: number;
}

/** The work took more time or memory than it may; its process is gone. */
class ProcessLimitExceeded extends Error {
  override readonly name = 'ProcessLimitExceeded';
}

export interface ProcessProgress {
  readonly done: number;
  readonly of: number;
}

/** What a process sends back, as JSON texts: how far it is, then its result or the message of what it threw. */
type ProcessMessage<Result> =
  | { readonly progress: ProcessProgress }
  | { readonly result: Result }
  | { readonly thrown: string };

export interface ProcessWatch {
  readonly onProgress: (progress: ProcessProgress) => void;
  /** Ends the process; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** Node's exit code and signal when its heap is full. */
const HEAP_FULL = { code: 134, signal: 'SIGABRT' } as const;

/** A process that has nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 60_000;

interface Started {
  readonly child: ChildProcess;
  /** What it leaves behind when it is ended goes with its folder. */
  readonly folder: string;
  /** It gets on only while a core is idle. */
  readonly isIdle: boolean;
}

/**
 * Lets a module, which calls `workInProcess`, do one task after the other in a process of its own, on cores that are
 * idle: whatever a task takes, the thread and the thread pool that answer callers are not held up. While no core is
 * idle, a task that begins gets a process that only gives way, so that it gets on. Starting a process
 * holds up the one that starts it, so it is kept for the next task, unless a task failed, took too much or was
 * cancelled: then it is ended, and whatever it was at with it.
 */
export class LimitedProcess<Task, Result> {
  readonly #module: URL;
  readonly #limits: ProcessLimits;
  readonly #hasIdleCores: () => boolean;
  #started: Started | null = null;
  #idle: NodeJS.Timeout | undefined;

  constructor(module: URL, limits: ProcessLimits, machineHasIdleCores = hasIdleCores) {
    this.#module = module;
    this.#limits = limits;
    this.#hasIdleCores = machineHasIdleCores;
  }

  /**
   * One task at a time. Throws ProcessLimitExceeded, and the reason of the signal; what the module threw comes as an
   * Error.
   */
  async run(task: Task, { onProgress, signal }: ProcessWatch): Promise<Result> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    if (this.#started?.isIdle && !this.#hasIdleCores()) await this.close();
    this.#started ??= await this.#start();
    const { child } = this.#started;
    const { timeMs, memoryMiB } = this.#limits;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const hear = (text: unknown) => {
      const message: ProcessMessage<Result> = JSON.parse(String(text));
      if ('progress' in message) onProgress(message.progress);
      else if ('thrown' in message) reject(new Error(message.thrown));
      else resolve(message.result);
    };
    const exit = (code: number | null, killedBy: NodeJS.Signals | null) =>
      reject(endOf(code, killedBy, memoryMiB));
    const limit = setTimeout(
      () => reject(new ProcessLimitExceeded(`it took more than ${timeMs / 1000} s`)),
      timeMs,
    );
    const abort = () => reject(signal.reason);
    child.on('message', hear).on('error', reject).on('exit', exit);
    signal.addEventListener('abort', abort);
    try {
      signal.throwIfAborted();
      child.send(JSON.stringify(task), (error) => error && reject(error));
      const result = await promise;
      this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
      return result;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      clearTimeout(limit);
      signal.removeEventListener('abort', abort);
      child.off('message', hear).off('error', reject).off('exit', exit);
    }
  }

  /** Ends the process with all that it is at; another task starts another one. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const started = this.#started;
    if (started === null) return;
    this.#started = null;
    await end(started.child);
    await rm(started.folder, { recursive: true, force: true });
  }

  async #start(): Promise<Started> {
    const folder = await mkdtemp(join(tmpdir(), 'scoring-process-'));
    const isIdle = this.#hasIdleCores();
    const child = forkBackground(this.#module, {
      oldMemoryMiB: this.#limits.memoryMiB,
      env: { TMPDIR: folder, TEMP: folder },
      priority: isIdle ? constants.priority.PRIORITY_LOW : constants.priority.PRIORITY_BELOW_NORMAL,
      starter: isIdle ? await idleStarter() : [],
    });
    const started = { child, folder, isIdle };
    child.on('error', () => {
      // The task under way hears of it; between tasks there is nobody to tell.
    });
    child.once('exit', () => {
      if (this.#started === started) void this.close();
    });
    // Between tasks it keeps nobody alive.
    child.unref();
    child.channel?.unref();
    return started;
  }
}

/** Does the tasks that this process was started for, and ends with the process that started it. */
export function workInProcess<Task, Result>(
  work: (task: Task, onProgress: (done: number, of: number) => void) => Promise<Result>,
): void {
  giveWay();
  const send = (message: ProcessMessage<Result>) => process.send?.(JSON.stringify(message));
  process.on('message', async (text) => {
    const task: Task = JSON.parse(String(text));
    try {
      send({
        result: await work(
          task,
          eachTenth((done, of) => send({ progress: { done, of } })),
        ),
      });
    } catch (error) {
      send({ thrown: error instanceof Error ? error.message : String(error) });
    }
  });
}

const PROGRESS_EVERY_MS = 100;

function eachTenth(tell: (done: number, of: number) => void): (done: number, of: number) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (done, of) => {
    if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
    toldAt = performance.now();
    tell(done, of);
  };
}

function endOf(code: number | null, signal: NodeJS.Signals | null, memoryMiB: number): Error {
  return code === HEAP_FULL.code || signal === HEAP_FULL.signal
    ? new ProcessLimitExceeded(`it took more than ${memoryMiB} MiB of memory`)
    : new Error(`its process ended with ${signal ?? `exit code ${code}`}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill('SIGKILL');
  await promise;
}
