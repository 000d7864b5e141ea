/** Whoever asks waits no longer than this for a worker that stands still. */
const GATHER_MS = 500;

/** One question to several workers. */
export interface Question {
  readonly id: string;
  /** By their numbers. */
  readonly workers: readonly number[];
  /** Whether what a worker said last stands for it while it says nothing. */
  readonly keep: boolean;
}

interface Gathered {
  readonly waitingFor: Set<number>;
  readonly keep: boolean;
  readonly values: string[];
  readonly done: (values: readonly string[]) => void;
  readonly timer: NodeJS.Timeout;
}

/** The answers of several workers to one question, put together by the supervisor. */
export class Gathering {
  readonly #open = new Map<string, Gathered>();
  readonly #kept = new Map<number, string>();

  /** `done` is called once, with what came in time. */
  begin({ id, workers, keep }: Question, done: (values: readonly string[]) => void): void {
    const timer = setTimeout(() => this.#end(id), GATHER_MS).unref();
    this.#open.set(id, { waitingFor: new Set(workers), keep, values: [], done, timer });
  }

  answer(id: string, worker: number, value: string | null): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined || !gathered.waitingFor.delete(worker)) return;
    if (value !== null) gathered.values.push(value);
    if (value !== null && gathered.keep) this.#kept.set(worker, value);
    if (gathered.waitingFor.size === 0) this.#end(id);
  }

  /** A worker that is gone answers no more. Gives what was kept of it, null when nothing was. */
  gone(worker: number): string | null {
    const left = this.#kept.get(worker) ?? null;
    for (const [id, { keep }] of [...this.#open]) this.answer(id, worker, keep ? left : null);
    this.#kept.delete(worker);
    return left;
  }

  #end(id: string): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined) return;
    this.#open.delete(id);
    clearTimeout(gathered.timer);
    const { keep, values, waitingFor } = gathered;
    const kept = keep ? [...waitingFor].flatMap((worker) => this.#kept.get(worker) ?? []) : [];
    gathered.done([...values, ...kept]);
  }
}
