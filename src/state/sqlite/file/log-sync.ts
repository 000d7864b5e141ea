import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const syncFile = promisify(fdatasync);

/**
 * Syncs under way at once. A disk now and then takes a hundred times as long as usual for one of them, and the others
 * need not wait for it; and one pool thread is left to everybody else.
 */
export const SYNCS_AT_ONCE_MAX = 3;

/**
 * Brings SQLite's log to the disk in the background. SQLite itself would do it within each COMMIT, and the event loop would
 * stand still for as long as the disk takes.
 */
export class LogSync {
  readonly #free: number[];

  /**
   * `path` is that of the database; the log lies beside it as long as the database is open. All files are opened here: a
   * process that has no more of them to open, because of its many connections, still keeps what it wrote.
   */
  constructor(path: string) {
    this.#free = Array.from({ length: SYNCS_AT_ONCE_MAX }, () => openSync(`${path}-wal`, 'r+'));
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Each sync under way has an open file of
   * its own: what went wrong is told once to each.
   */
  async sync(): Promise<void> {
    const file = this.#free.pop();
    if (file === undefined) throw new Error(`more than ${SYNCS_AT_ONCE_MAX} syncs at once`);
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
