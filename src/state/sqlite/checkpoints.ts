import { BackgroundWork } from '#base/work/background-work.ts';
import type { CheckpointWorks } from './checkpoint-thread.ts';

const THREAD = new URL('./checkpoint-thread.ts', import.meta.url);

const LIMITS = { where: 'thread', memoryMiB: 64 } as const;

/** Fewer writes are not worth a thread: a command or a test that writes a little leaves the work to SQLite. */
const WRITES_MIN = 1000;

/**
 * Lets a thread put the pages of SQLite's log in their place. The writer would have to stop for it, for a
 * tenth of a second under load; with the thread it has next to nothing left to do when it begins a new log.
 */
export class SqliteCheckpoints {
  readonly #path: string;
  #writes = 0;
  readonly #thread = new BackgroundWork<CheckpointWorks>(THREAD, LIMITS);

  constructor(path: string) {
    this.#path = path;
  }

  /** Called for each transaction. */
  noteWrite(): void {
    if (this.#writes++ !== WRITES_MIN) return;
    // SQLite itself does the work without it, only less evenly.
    this.#thread.run('begin', this.#path).catch(() => {});
  }

  /**
   * Empties the log, which still holds pages as they were before an erasure. Readers and other processes may keep it in use
   * for as long as they like; false when this was closed before.
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
