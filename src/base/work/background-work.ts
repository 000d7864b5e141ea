import { NamedError } from '#base/named-error.ts';
import { createConcurrencyLimits, FairQueue, type FairQueueLimits } from './fair-queue.ts';
import {
  hasIdleCores,
  type JobRequest,
  type Runner,
  type RunnerSettings,
  STOP_JOB_MESSAGE,
  startRunner,
} from './runner.ts';
import type { JobContext, JobReply, Jobs } from './serve-work.ts';

/** The module whose jobs run, the limits of each job, and how many jobs run at once. */
export interface WorkSettings extends RunnerSettings {
  /** The limit of a job's CPU time, for threads only. Time in which a job waits for a core is not CPU time. */
  readonly cpuMs?: number;
  /**
   * The limit of wall-clock time. The default is 12 times `cpuMs`, because a job may wait for a core or a slow disk.
   */
  readonly timeMs?: number;
  /**
   * The longest pause between two progress reports. A job that is silent for longer is ended, because it probably
   * hangs.
   */
  readonly silenceMs?: number;
  /** After this time without a job, a thread or process is ended to free its memory. */
  readonly idleMs?: number;
  /** How many jobs run at once. By default one job runs at a time and all others wait. */
  readonly turns?: FairQueueLimits;
}

type TaskOf<Work extends Jobs[string]> = Parameters<Work>[0];

type ResultOf<Work extends Jobs[string]> = Awaited<ReturnType<Work>>;

type ProgressOf<Work extends Jobs[string]> =
  Parameters<Work> extends [unknown, JobContext<infer Progress>] ? Progress : never;

interface JobOptions<Progress> {
  /** The owner of the job. Owners take turns. */
  readonly owner?: string;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * When it is aborted, the job ends whether it runs or waits, and `run` throws the signal's reason. A running job
   * with `runsUntilStopped` is only asked to stop.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The job exceeded its limit of time or memory. Its thread or process was ended. */
export class JobTimeOrMemoryExceeded extends NamedError {}

const WAIT_FACTOR = 12;

/** How often a working thread's CPU time is read. */
const LOOK_EVERY_MS = 100;

/** The exit of a Node process whose heap is full, and the error of such a thread. */
const HEAP_FULL = { code: 134, signal: 'SIGABRT', error: 'ERR_WORKER_OUT_OF_MEMORY' } as const;

/**
 * Runs the jobs of a module that calls `serveWork` in threads or processes, so that they do not block the calling
 * thread. A thread or process is started when it is first needed and kept for the next job. A job that exceeds its
 * limits or is cancelled ends together with its thread or process.
 */
export class BackgroundWork<Its extends Jobs> {
  readonly #module: URL;
  readonly #settings: WorkSettings;
  readonly #hasIdleCores: () => boolean;
  readonly #turns: FairQueue;
  #isClosed = false;
  readonly #all = new Set<Runner>();
  /** Idle runners. The most recently used one is taken first, because its caches are warm. */
  readonly #idle = new Map<Runner, NodeJS.Timeout | undefined>();

  constructor(module: URL, settings: WorkSettings, machineHasIdleCores = hasIdleCores) {
    this.#module = module;
    this.#settings = settings;
    this.#hasIdleCores = machineHasIdleCores;
    this.#turns = new FairQueue(settings.turns ?? createConcurrencyLimits(1));
  }

  /**
   * Runs a job and returns its result. Throws JobTimeOrMemoryExceeded, QueueFull, the signal's reason, or an Error with the
   * name of the job's error.
   */
  run<Kind extends keyof Its & string>(
    kind: Kind,
    task: TaskOf<Its[Kind]>,
    waiting: JobOptions<ProgressOf<Its[Kind]>> = {},
  ): Promise<ResultOf<Its[Kind]>> {
    const { owner = '', signal } = waiting;
    const work = () => this.#run<ResultOf<Its[Kind]>, ProgressOf<Its[Kind]>>({ kind, task }, waiting);
    return this.#turns.run(owner, work, signal);
  }

  /** Ends all threads and processes, and all jobs that run or wait. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((runner) => this.#end(runner)));
  }

  async #run<Result, Progress>(
    order: JobRequest,
    { signal, onProgress }: JobOptions<Progress>,
  ): Promise<Result> {
    const runner = await this.#free();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    // If a runner ends before the job was posted, this promise is rejected while nobody waits for it.
    promise.catch(() => {});
    const silence = this.#watchSilence(reject);
    const hear = (message: JobReply<Result, Progress>) => {
      silence?.refresh();
      if ('progress' in message) onProgress?.(message.progress);
      else if ('result' in message) resolve(message.result);
      else reject(new JobError(message.thrown));
    };
    const fail = (error: NodeJS.ErrnoException) =>
      reject(error.code === HEAP_FULL.error ? this.#tooMuchMemory() : error);
    const exit = (code: number | null, killedBy: NodeJS.Signals | null) =>
      reject(
        code === HEAP_FULL.code || killedBy === HEAP_FULL.signal
          ? this.#tooMuchMemory()
          : new Error(`its ${this.#settings.where} ended with ${killedBy ?? `exit code ${code}`}`),
      );
    const abort = () =>
      this.#settings.runsUntilStopped ? runner.post(STOP_JOB_MESSAGE, reject) : reject(signal?.reason);
    const stopWatching = this.#watch(runner, reject);
    runner.events.on('message', hear).on('error', fail).on('exit', exit);
    signal?.addEventListener('abort', abort);
    if (this.#settings.runsUntilStopped !== true) runner.setKeepsProcessAlive(true);
    try {
      signal?.throwIfAborted();
      if (this.#isClosed) throw new Error('the background work was closed');
      runner.post(order, reject);
      const result = await promise;
      this.#keep(runner);
      return result;
    } catch (error) {
      if (error instanceof JobError) this.#keep(runner);
      else await this.#end(runner);
      throw error;
    } finally {
      stopWatching();
      clearTimeout(silence);
      signal?.removeEventListener('abort', abort);
      runner.events.off('message', hear).off('error', fail).off('exit', exit);
    }
  }

  #watch(runner: Runner, reject: (error: Error) => void): () => void {
    const { cpuMs = Number.POSITIVE_INFINITY, timeMs = WAIT_FACTOR * cpuMs } = this.#settings;
    const refuse = (limitMs: number, of = '') =>
      reject(new JobTimeOrMemoryExceeded(`it took more than ${limitMs / 1000} s${of}`));
    if (timeMs === Number.POSITIVE_INFINITY) return () => {};
    const before = runner.measureCpuMs();
    const lookNow = async () => {
      if ((await runner.measureCpuMs()) - (await before) > cpuMs) refuse(cpuMs, ' of computing time');
    };
    const look = cpuMs === Number.POSITIVE_INFINITY ? undefined : setInterval(lookNow, LOOK_EVERY_MS);
    const limit = setTimeout(refuse, timeMs, timeMs);
    return () => {
      clearInterval(look);
      clearTimeout(limit);
    };
  }

  /** Starts the timer that rejects a silent job. Every message of the job restarts the timer. */
  #watchSilence(reject: (error: Error) => void): NodeJS.Timeout | undefined {
    const { silenceMs } = this.#settings;
    if (silenceMs === undefined) return undefined;
    const hangs = () => reject(new JobTimeOrMemoryExceeded(`it reported nothing for ${silenceMs / 1000} s`));
    return setTimeout(hangs, silenceMs).unref();
  }

  #tooMuchMemory(): Error {
    return new JobTimeOrMemoryExceeded(`it took more than ${this.#settings.memoryMiB} MiB of memory`);
  }

  async #free(): Promise<Runner> {
    const isAnyCoreIdle = this.#hasIdleCores();
    const [runner] = [...this.#idle.keys()].toReversed();
    if (runner === undefined) return this.#start(isAnyCoreIdle);
    clearTimeout(this.#idle.get(runner));
    this.#idle.delete(runner);
    if (!runner.needsIdleCores || isAnyCoreIdle) return runner;
    await this.#end(runner);
    return this.#start(isAnyCoreIdle);
  }

  async #start(isAnyCoreIdle: boolean): Promise<Runner> {
    const runner = await startRunner(this.#module, this.#settings, isAnyCoreIdle);
    this.#all.add(runner);
    runner.events.once('exit', () => void this.#end(runner));
    return runner;
  }

  #keep(runner: Runner): void {
    if (!this.#all.has(runner)) return;
    runner.setKeepsProcessAlive(false);
    const { idleMs } = this.#settings;
    const end = idleMs === undefined ? undefined : setTimeout(() => this.#end(runner), idleMs).unref();
    this.#idle.set(runner, end);
  }

  async #end(runner: Runner): Promise<void> {
    this.#all.delete(runner);
    clearTimeout(this.#idle.get(runner));
    this.#idle.delete(runner);
    await runner.end();
  }
}

/** An error that the job itself threw. Its thread or process can be used again. */
class JobError extends Error {
  constructor({ name, message }: { readonly name: string; readonly message: string }) {
    super(message);
    this.name = name;
  }
}
