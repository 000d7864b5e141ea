/**
 * Lets the requests of one client run one after the other within this process, so that they do not
 * race each other to the store. Requests of different clients do not wait for each other.
 */
export class ClientQueue {
  readonly #tails = new Map<string, Tail>();
  readonly #maxWaiting: number;

  /** More than `maxWaiting` requests of one client at a time are refused. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` after all earlier work under the same key; null when too much is waiting. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> | null {
    const tail = this.#tails.get(key);
    if (tail === undefined) return this.#start(key, { last: Promise.resolve(), waiting: 0 }, work);
    return tail.waiting >= this.#maxWaiting ? null : this.#start(key, tail, work);
  }

  #start<T>(key: string, tail: Tail, work: () => Promise<T>): Promise<T> {
    const result = tail.last.then(work);
    tail.waiting++;
    tail.last = result.then(
      () => this.#finish(key, tail),
      () => this.#finish(key, tail),
    );
    this.#tails.set(key, tail);
    return result;
  }

  #finish(key: string, tail: Tail): void {
    tail.waiting--;
    if (tail.waiting === 0) this.#tails.delete(key);
  }
}

interface Tail {
  last: Promise<unknown>;
  waiting: number;
}
