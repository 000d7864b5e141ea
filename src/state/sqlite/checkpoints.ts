import { Worker } from 'node:worker_threads';

const THREAD = new URL('./checkpoint-thread.ts', import.meta.url);

/** Not worth a thread before: a command or a test that writes a little leaves it to SQLite itself. */
const WRITES_BEFORE = 1000;

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
    if (this.#writes++ !== WRITES_BEFORE) return;
    this.#thread = new Worker(THREAD, { workerData: this.#path });
    this.#thread.unref();
    // SQLite itself still does the work, only less evenly.
    this.#thread.on('error', () => {});
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }
}
