import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const syncFile = promisify(fdatasync);

/**
 * Brings SQLite's log to the disk in the background. SQLite itself would do it within each COMMIT, and the event loop would
 * stand still for as long as the disk takes.
 */
export class LogSync {
  readonly #path: string;
  readonly #free: number[] = [];

  /** `path` is that of the database; the log lies beside it as long as the database is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Each sync under way has an open file of
   * its own: what went wrong is told once to each.
   */
  async sync(): Promise<void> {
    const file = this.#free.pop() ?? openSync(this.#path, 'r+');
    try {
      await syncFile(file);
    } finally {
      this.#free.push(file);
    }
  }

  /** No sync may be under way. */
  close(): void {
    for (const file of this.#free.splice(0)) closeSync(file);
  }
}
