import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { toTextOrNull } from '#state/stored-parts.ts';
import type { SqliteCheckpointer } from './checkpoints.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** The register that says that the log may hold erased data. Its value is a mark of the last erasure. */
const REGISTER = 'erased-in-log';

/** The longest time, in ms, that an erasure waits for an empty log. After that the log is emptied in the background. */
const WAIT_MS_MAX = 2000;

const LEFT =
  'The payer is erased, but the write-ahead log of SQLite still holds bytes of it, because another process is reading the file. They are removed when that process has finished; the service tries four times a second, and again after a restart.';

/**
 * Removes erased payers from SQLite's write-ahead log, which still holds pages as they were before an erasure. A mark
 * in the database file stays until the log was emptied. If a process is killed before that, the next process empties
 * the log.
 */
export class ErasedDataLogCleaner {
  readonly #checkpoints: SqliteCheckpointer;
  readonly #file: SqliteFileAccess;
  readonly #mark: () => string | null;
  readonly #note: (mark: string) => void;
  readonly #forget: (mark: string) => void;
  #isClosed = false;

  constructor(file: SqliteFileAccess, checkpoints: SqliteCheckpointer) {
    this.#file = file;
    this.#checkpoints = checkpoints;
    const read = file.db.prepare('SELECT value FROM registers WHERE name = ?');
    const put = file.db.prepare(
      'INSERT INTO registers (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    );
    const remove = file.db.prepare('DELETE FROM registers WHERE name = ? AND value = ?');
    this.#mark = () => toTextOrNull(read.get(REGISTER)?.['value']);
    this.#note = (mark) => void put.run(REGISTER, mark);
    this.#forget = (mark) => void remove.run(REGISTER, mark);
  }

  /** Erases in one transaction. Then waits for a limited time until the log no longer holds the erased data. */
  async eraseAndEmptyLog(erase: () => void): Promise<void> {
    await this.#file.write(() => {
      erase();
      this.#note(randomUUID());
    });
    await Promise.race([this.emptyLog(), delay(WAIT_MS_MAX, undefined, { ref: false })]);
  }

  /**
   * Empties the log of everything that was erased so far, including what a process erased before it was killed. If
   * the disk refuses, the next start does this.
   */
  async emptyLog(): Promise<void> {
    const mark = this.#mark();
    if (mark === null) return;
    if (!(await this.#checkpoints.truncate()) || this.#isClosed) return;
    // A later erasure has a mark of its own, which stays.
    await this.#file.write(() => this.#forget(mark)).catch(() => {});
  }

  /** Explains where data of erased payers still is. Returns null if it is nowhere. */
  explainRemains(): Promise<string | null> {
    return this.#file.read(() => (this.#mark() === null ? null : LEFT));
  }

  close(): void {
    this.#isClosed = true;
  }
}
