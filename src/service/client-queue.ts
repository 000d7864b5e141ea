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
    const tail = this.#tails.get(key) ?? { last: null, waiting: 0 };
    if (tail.waiting >= this.#maxWaiting) return null;
    const result = tail.last === null ? Promise.try(work) : tail.last.then(work);
    const finish = () => this.#finish(key, tail);
    tail.waiting++;
    tail.last = result.then(finish, finish);
    this.#tails.set(key, tail);
    return result;
  }

  #finish(key: string, tail: Tail): void {
    tail.waiting--;
    if (tail.waiting === 0) this.#tails.delete(key);
  }
}

interface Tail {
  /** Null before the first. */
  last: Promise<unknown> | null;
  waiting: number;
}
