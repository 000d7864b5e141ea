import { BackgroundWork } from '#base/work/background-work.ts';
import type { CheckpointJobs } from './checkpoint-thread.ts';

const THREAD = new URL('./checkpoint-thread.ts', import.meta.url);

const LIMITS = { where: 'thread', memoryMiB: 64 } as const;

/**
 * The number of writes from which a thread is started. A command or a test that writes less leaves the work to
 * SQLite.
 */
const WRITES_MIN = 1000;

/**
 * Runs SQLite's WAL checkpoints (copying pages from the log into the database file) in a thread. Without the thread
 * the writer would stop for a checkpoint, for a tenth of a second under load. With the thread the writer has hardly
 * anything left to do when it begins a new log.
 */
export class SqliteCheckpointer {
  readonly #path: string;
  #writes = 0;
  readonly #thread = new BackgroundWork<CheckpointJobs>(THREAD, LIMITS);

  constructor(path: string) {
    this.#path = path;
  }

  /** Notes a write. It is called for each transaction. */
  noteWrite(): void {
    if (this.#writes++ !== WRITES_MIN) return;
    // If the thread cannot start, SQLite does the work itself, only less evenly.
    this.#thread.run('begin', this.#path).catch(() => {});
  }

  /**
   * Empties the log, which still holds pages as they were before an erasure. Readers and other processes may keep the
   * log in use for as long as they like. Returns false if the database was closed before the log was empty.
   */
  truncate(): Promise<boolean> {
    return this.#thread.run('truncate', this.#path).then(
      () => true,
      () => false,
    );
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
