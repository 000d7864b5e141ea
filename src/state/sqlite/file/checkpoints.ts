import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

const THREAD = new URL('./checkpoint-thread.ts', import.meta.url);

/** Not worth a thread before: a command or a test that writes a little leaves it to SQLite itself. */
const WRITES_MIN = 1000;

/** A reader or another process may keep the log in use; after this it is emptied in the background. */
const TRUNCATE_MS_MAX = 2000;

/**
 * Lets a thread put the pages of SQLite's log in their place. The writer would have to stop for it, for a
 * tenth of a second under load; with the thread it has next to nothing left to do when it begins a new log.
 */
export class SqliteCheckpoints {
  readonly #path: string;
  #writes = 0;
  #thread: Worker | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Called for each transaction. */
  noteWrite(): void {
    if (this.#writes++ === WRITES_MIN) this.#started();
  }

  /** Empties the log, which still holds pages as they were before an erasure. */
  async truncate(): Promise<void> {
    const thread = this.#started();
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = () => resolve();
    thread.once('message', done).once('exit', done);
    thread.postMessage('truncate');
    await Promise.race([promise, delay(TRUNCATE_MS_MAX, undefined, { ref: false })]);
    thread.off('message', done).off('exit', done);
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #started(): Worker {
    if (this.#thread !== null) return this.#thread;
    const thread = new Worker(THREAD, { workerData: this.#path });
    this.#thread = thread;
    thread.unref();
    // SQLite itself still does the work, only less evenly; whoever wants an empty log has another one started.
    thread.on('error', () => {});
    thread.once('exit', () => {
      this.#thread = null;
    });
    return thread;
  }
}
