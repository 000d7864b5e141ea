import { NamedError } from '../named-error.ts';
import { type FarEnd, hasIdleCores, type Order, type Place, STOP, startFarEnd } from './far-end.ts';
import type { Watch, Word, Works } from './serve-work.ts';
import { atOnce, type TurnLimits, Turns } from './turns.ts';

/** Where the work of a module is done, what each work may take, and how many are done at once. */
export interface Elsewhere extends Place {
  /** Of a core, by a thread: no work is to blame for the time in which the machine had no core for it. */
  readonly cpuMs?: number;
  /** By the clock; 12 times `cpuMs` when left out, for work that waits for a core, or for a disk that hangs. */
  readonly timeMs?: number;
  /** Work that tells of its progress has to do so this often; one that does not hangs, and is ended. */
  readonly silenceMs?: number;
  /** A thread or process that has nothing to do for so long is ended, and its memory given back. */
  readonly idleMs?: number;
  /** One work at a time when left out, and the others wait. */
  readonly turns?: TurnLimits;
}

type TaskOf<Work extends Works[string]> = Parameters<Work>[0];

type ResultOf<Work extends Works[string]> = Awaited<ReturnType<Work>>;

type ProgressOf<Work extends Works[string]> =
  Parameters<Work> extends [unknown, Watch<infer Progress>] ? Progress : never;

export interface Waiting<Progress> {
  /** For whom it is done: each has turns of his own. */
  readonly owner?: string;
  readonly onProgress?: (progress: Progress) => void;
  /** Ends the work with its thread or process, or before its turn; its reason is thrown. A servant is asked to stop. */
  readonly signal?: AbortSignal;
}

/** The work took more time or memory than it may; the thread or process that did it is gone. */
export class LimitExceeded extends NamedError {}

const WAIT_FACTOR = 12;

/** How often a thread at work is asked what it has taken. */
const LOOK_EVERY_MS = 100;

/** Node's exit code and signal of a process whose heap is full, and its error of such a thread. */
const HEAP_FULL = { code: 134, signal: 'SIGABRT', error: 'ERR_WORKER_OUT_OF_MEMORY' } as const;

/**
 * Lets a module, which calls `serveWork`, do work that must not hold up the thread that asks for it, in threads or
 * processes of its own. They are started when they are first needed and kept for the next work, unless a work took too
 * much or was cancelled: then whatever it was at ends with its thread or process.
 */
export class WorkElsewhere<Its extends Works> {
  readonly #module: URL;
  readonly #where: Elsewhere;
  readonly #hasIdleCores: () => boolean;
  readonly #turns: Turns;
  #isClosed = false;
  readonly #all = new Set<FarEnd>();
  /** The one that was at work last comes first: it knows most by heart. */
  readonly #idle = new Map<FarEnd, NodeJS.Timeout | undefined>();

  constructor(module: URL, where: Elsewhere, machineHasIdleCores = hasIdleCores) {
    this.#module = module;
    this.#where = where;
    this.#hasIdleCores = machineHasIdleCores;
    this.#turns = new Turns(where.turns ?? atOnce(1));
  }

  /** Throws LimitExceeded, TooManyTurns and the reason of the signal; what the work threw comes as an Error of its name. */
  run<Kind extends keyof Its & string>(
    kind: Kind,
    task: TaskOf<Its[Kind]>,
    waiting: Waiting<ProgressOf<Its[Kind]>> = {},
  ): Promise<ResultOf<Its[Kind]>> {
    const { owner = '', signal } = waiting;
    const work = () => this.#run<ResultOf<Its[Kind]>, ProgressOf<Its[Kind]>>({ kind, task }, waiting);
    return this.#turns.run(owner, work, signal);
  }

  /** Ends all threads and processes with whatever they are at, and whatever waits. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((farEnd) => this.#end(farEnd)));
  }

  async #run<Result, Progress>(order: Order, { signal, onProgress }: Waiting<Progress>): Promise<Result> {
    const farEnd = await this.#free();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const silence = this.#watchSilence(reject);
    const hear = (word: Word<Result, Progress>) => {
      silence?.refresh();
      if ('progress' in word) onProgress?.(word.progress);
      else if ('result' in word) resolve(word.result);
      else reject(new ThrownElsewhere(word.thrown));
    };
    const fail = (error: NodeJS.ErrnoException) =>
      reject(error.code === HEAP_FULL.error ? this.#tooMuchMemory() : error);
    const exit = (code: number | null, killedBy: NodeJS.Signals | null) =>
      reject(
        code === HEAP_FULL.code || killedBy === HEAP_FULL.signal
          ? this.#tooMuchMemory()
          : new Error(`its ${this.#where.where} ended with ${killedBy ?? `exit code ${code}`}`),
      );
    const abort = () => (this.#where.isServant ? farEnd.post(STOP, reject) : reject(signal?.reason));
    const stopWatching = this.#watch(farEnd, reject);
    farEnd.events.on('message', hear).on('error', fail).on('exit', exit);
    signal?.addEventListener('abort', abort);
    if (this.#where.isServant !== true) farEnd.hold(true);
    try {
      signal?.throwIfAborted();
      if (this.#isClosed) throw new Error('nothing is done here any more');
      farEnd.post(order, reject);
      const result = await promise;
      this.#keep(farEnd);
      return result;
    } catch (error) {
      if (error instanceof ThrownElsewhere) this.#keep(farEnd);
      else await this.#end(farEnd);
      throw error;
    } finally {
      stopWatching();
      clearTimeout(silence);
      signal?.removeEventListener('abort', abort);
      farEnd.events.off('message', hear).off('error', fail).off('exit', exit);
    }
  }

  /** Refuses what takes too long. */
  #watch(farEnd: FarEnd, reject: (error: Error) => void): () => void {
    const { cpuMs = Number.POSITIVE_INFINITY, timeMs = WAIT_FACTOR * cpuMs } = this.#where;
    const refuse = (limitMs: number) => reject(new LimitExceeded(`it took more than ${limitMs / 1000} s`));
    if (timeMs === Number.POSITIVE_INFINITY) return () => {};
    const before = farEnd.cpuMs();
    const lookNow = async () => {
      if ((await farEnd.cpuMs()) - (await before) > cpuMs) refuse(cpuMs);
    };
    const look = cpuMs === Number.POSITIVE_INFINITY ? undefined : setInterval(lookNow, LOOK_EVERY_MS);
    const limit = setTimeout(refuse, timeMs, timeMs);
    return () => {
      clearInterval(look);
      clearTimeout(limit);
    };
  }

  /** Refuses what says nothing for too long; each word begins the time anew. */
  #watchSilence(reject: (error: Error) => void): NodeJS.Timeout | undefined {
    const { silenceMs } = this.#where;
    if (silenceMs === undefined) return undefined;
    const hangs = () => reject(new LimitExceeded(`it told nothing for ${silenceMs / 1000} s`));
    return setTimeout(hangs, silenceMs).unref();
  }

  #tooMuchMemory(): Error {
    return new LimitExceeded(`it took more than ${this.#where.memoryMiB} MiB of memory`);
  }

  async #free(): Promise<FarEnd> {
    const isAnyCoreIdle = this.#hasIdleCores();
    const [farEnd] = [...this.#idle.keys()].toReversed();
    if (farEnd === undefined) return this.#start(isAnyCoreIdle);
    clearTimeout(this.#idle.get(farEnd));
    this.#idle.delete(farEnd);
    if (!farEnd.needsIdleCores || isAnyCoreIdle) return farEnd;
    await this.#end(farEnd);
    return this.#start(isAnyCoreIdle);
  }

  async #start(isAnyCoreIdle: boolean): Promise<FarEnd> {
    const farEnd = await startFarEnd(this.#module, this.#where, isAnyCoreIdle);
    this.#all.add(farEnd);
    farEnd.events.once('exit', () => void this.#end(farEnd));
    return farEnd;
  }

  #keep(farEnd: FarEnd): void {
    if (!this.#all.has(farEnd)) return;
    farEnd.hold(false);
    const { idleMs } = this.#where;
    const end = idleMs === undefined ? undefined : setTimeout(() => this.#end(farEnd), idleMs).unref();
    this.#idle.set(farEnd, end);
  }

  async #end(farEnd: FarEnd): Promise<void> {
    this.#all.delete(farEnd);
    clearTimeout(this.#idle.get(farEnd));
    this.#idle.delete(farEnd);
    await farEnd.end();
  }
}

/** What a work threw: its thread or process is as good as before. */
class ThrownElsewhere extends Error {
  constructor({ name, message }: { readonly name: string; readonly message: string }) {
    super(message);
    this.name = name;
  }
}
