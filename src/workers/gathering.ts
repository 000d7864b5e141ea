/** Whoever asks waits no longer than this for a worker that stands still. */
const GATHER_MS = 500;

interface Gathered {
  readonly waitingFor: Set<number>;
  readonly values: string[];
  readonly done: (values: readonly string[]) => void;
  readonly timer: NodeJS.Timeout;
}

/** The answers of several workers to one question, put together by the supervisor. */
export class Gathering {
  readonly #open = new Map<string, Gathered>();

  /** `done` is called once, with what came in time. */
  begin(id: string, workers: readonly number[], done: (values: readonly string[]) => void): void {
    const timer = setTimeout(() => this.#end(id), GATHER_MS).unref();
    this.#open.set(id, { waitingFor: new Set(workers), values: [], done, timer });
  }

  answer(id: string, worker: number, value: string | null): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined || !gathered.waitingFor.delete(worker)) return;
    if (value !== null) gathered.values.push(value);
    if (gathered.waitingFor.size === 0) this.#end(id);
  }

  /** A worker that is gone answers no more. */
  gone(worker: number): void {
    for (const id of [...this.#open.keys()]) this.answer(id, worker, null);
  }

  #end(id: string): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined) return;
    this.#open.delete(id);
    clearTimeout(gathered.timer);
    gathered.done(gathered.values);
  }
}
