import { Worker } from 'node:worker_threads';

/** What a task in the thread may take. */
export interface ThreadLimits {
  /** Of a core: a task is not to blame for the time in which the machine had none for it. */
  readonly cpuMs: number;
  readonly memoryMiB: number;
}

/** A task that waits for a core, or for a disk that hangs, takes this many times its limit at most. */
const WAIT_FACTOR = 12;

/** How often a thread at work is asked what it has taken. */
const LOOK_EVERY_MS = 100;

/** A task took more time or memory than it may; the thread that did it is gone. */
export class ThreadLimitExceeded extends Error {
  override readonly name = 'ThreadLimitExceeded';
}

/** What a thread's module sends back: its result, or the message of what it threw. */
export type ThreadReply<Result> = { readonly result: Result } | { readonly thrown: string };

/**
 * A thread for work that must not hold up the thread that asks for it: one task after the other, each within the
 * limits. The module answers each message with one `ThreadReply`. The thread is started when it is first
 * needed, and again after a task that took too much.
 */
export class LimitedThread<Task, Result> {
  readonly #module: URL;
  readonly #limits: ThreadLimits;
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(module: URL, limits: ThreadLimits) {
    this.#module = module;
    this.#limits = limits;
  }

  /** Throws ThreadLimitExceeded; what the module threw comes as an Error. */
  run(task: Task): Promise<Result> {
    const turn = this.#last.then(() => this.#run(task));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = null;
  }

  async #run(task: Task): Promise<Result> {
    const { cpuMs, memoryMiB } = this.#limits;
    const worker = this.#worker ?? this.#start();
    const before = cpuTimeMs(worker);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const settle = (reply: ThreadReply<Result>) =>
      'thrown' in reply ? reject(new Error(reply.thrown)) : resolve(reply.result);
    const fail = (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? new ThreadLimitExceeded(`it took more than ${memoryMiB} MiB of memory`)
          : error,
      );
    const end = () => reject(new Error('the thread ended'));
    worker.on('message', settle).on('error', fail).on('exit', end);
    const refuse = (limitMs: number) =>
      reject(new ThreadLimitExceeded(`it took more than ${limitMs / 1000} s`));
    const look = setInterval(async () => {
      if ((await cpuTimeMs(worker)) - (await before) > cpuMs) refuse(cpuMs);
    }, LOOK_EVERY_MS);
    const limit = setTimeout(() => refuse(WAIT_FACTOR * cpuMs), WAIT_FACTOR * cpuMs);
    worker.postMessage(task);
    try {
      return await promise;
    } catch (error) {
      // Whatever it is still at, nobody waits for it any more.
      if (error instanceof ThreadLimitExceeded) await this.close();
      throw error;
    } finally {
      clearInterval(look);
      clearTimeout(limit);
      worker.off('message', settle).off('error', fail).off('exit', end);
    }
  }

  #start(): Worker {
    const { memoryMiB } = this.#limits;
    const worker = new Worker(this.#module, { resourceLimits: { maxOldGenerationSizeMb: memoryMiB } });
    worker.unref();
    worker.on('error', () => {
      // The task under way hears of it; between tasks there is nobody to tell.
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    this.#worker = worker;
    return worker;
  }
}

/** What a thread has taken of a core; 0 while it starts, and after its end. */
async function cpuTimeMs(worker: Worker): Promise<number> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch {
    return 0;
  }
}
