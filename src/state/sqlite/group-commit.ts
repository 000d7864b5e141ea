import type { DatabaseSync } from 'node:sqlite';

interface Pending {
  /** Does the write and gives what is to be done once it is on disk. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
}

/** More than this waiting means that the disk does not keep up. */
const PENDING_WRITES_MAX = 5000;

/**
 * Runs all writes that arrive in one turn of the event loop in one transaction, so that they share one
 * fsync. A write is acknowledged only after the transaction that holds it is on disk.
 */
export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #onCommit: () => void;
  #pending: Pending[] = [];
  #scheduled = false;

  /** `onCommit` is called after each transaction. */
  constructor(db: DatabaseSync, onCommit: () => void) {
    this.#db = db;
    this.#onCommit = onCommit;
  }

  run<T>(work: () => T): Promise<T> {
    if (this.#pending.length >= PENDING_WRITES_MAX)
      return Promise.reject(new Error('too many writes are waiting'));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const writeThenAcknowledge = () => {
      const result = work();
      return () => resolve(result);
    };
    this.#pending.push({ work: writeThenAcknowledge, reject });
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.flush());
    }
    return promise;
  }

  /** Writes everything that waits, now. */
  flush(): void {
    this.#scheduled = false;
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      const acknowledgements = batch.map(({ work }) => work());
      this.#db.exec('COMMIT');
      for (const acknowledge of acknowledgements) acknowledge();
      this.#onCommit();
    } catch (error) {
      for (const { reject } of batch) reject(error);
      this.#rollBack();
    }
  }

  /** A full disk ends the transaction by itself, and a closed database has none. */
  #rollBack(): void {
    if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }
}
