import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { forkBackground, giveWay } from '../../background-process.ts';

/** What the work in a process of its own may take. */
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

/**
 * Lets a module, which calls `workInProcess`, do a task in a process of its own at the lowest priority: whatever it
 * takes, the thread and the thread pool that answer callers are not held up. Throws ProcessLimitExceeded; what the
 * module threw comes as an Error.
 */
export async function runInProcess<Task, Result>(
  module: URL,
  task: Task,
  { timeMs, memoryMiB }: ProcessLimits,
  { onProgress, signal }: ProcessWatch,
): Promise<Result> {
  signal.throwIfAborted();
  const folder = mkdtempSync(join(tmpdir(), 'scoring-process-'));
  const child = forkBackground(module, {
    oldMemoryMiB: memoryMiB,
    priority: constants.priority.PRIORITY_LOW,
    // What it leaves behind when it is ended goes with its folder.
    env: { TMPDIR: folder, TEMP: folder },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  child.on('message', (text) => {
    const message: ProcessMessage<Result> = JSON.parse(String(text));
    if ('progress' in message) onProgress(message.progress);
    else if ('thrown' in message) reject(new Error(message.thrown));
    else resolve(message.result);
  });
  child.once('error', reject);
  child.once('exit', (code, killedBy) => reject(endOf(code, killedBy, memoryMiB)));
  const limit = setTimeout(
    () => reject(new ProcessLimitExceeded(`it took more than ${timeMs / 1000} s`)),
    timeMs,
  );
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    child.send(JSON.stringify(task), (error) => error && reject(error));
    return await promise;
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', abort);
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Does the one task that this process was started for, and ends with the process that started it. */
export function workInProcess<Task, Result>(
  work: (task: Task, onProgress: (done: number, of: number) => void) => Promise<Result>,
): void {
  giveWay(constants.priority.PRIORITY_LOW);
  const send = (message: ProcessMessage<Result>) => process.send?.(JSON.stringify(message));
  process.once('message', async (text) => {
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
