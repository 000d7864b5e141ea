import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const syncFile = promisify(fdatasync);

/**
 * Brings SQLite's log to the disk in the background. SQLite itself would do it within each COMMIT, and the event loop would
 * stand still for as long as the disk takes.
 */
export class LogSync {
  readonly #path: string;
  #file: number | null = null;

  /** `path` is that of the database; the log lies beside it as long as the database is open. */
  constructor(path: string) {
    this.#path = `${path}-wal`;
  }

  /** Resolves when everything that was committed before the call is on the disk. */
  async sync(): Promise<void> {
    this.#file ??= openSync(this.#path, 'r+');
    await syncFile(this.#file);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }
}
