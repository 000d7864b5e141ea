import type { DatabaseSync } from 'node:sqlite';

interface Pending {
  /** Does the write and gives what is to be done once it is on disk. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
  readonly askedMs: number;
}

/** More than this waiting means that the disk does not keep up. */
const PENDING_WRITES_MAX = 5000;

/** How long a write waits for another process's write before it is given up. */
const WAIT_MS_MAX = 200;

/** How soon a file that another process writes to is tried again; this process does other things meanwhile. */
const RETRY_MS = 5;

/** SQLITE_BUSY: another process holds the lock. */
const BUSY = 5;

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
    this.#pending.push({ work: writeThenAcknowledge, reject, askedMs: performance.now() });
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
    return promise;
  }

  /** Writes everything that waits, now or never. */
  close(): void {
    this.#flush();
    for (const { reject } of this.#pending.splice(0)) reject(new Error('the store is closed'));
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    try {
      this.#db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (isBusy(error)) this.#waitForTurn(batch, error);
      else rejectAll(batch, error);
      return;
    }
    this.#write(batch);
  }

  #write(batch: readonly Pending[]): void {
    try {
      const acknowledgements = batch.map(({ work }) => work());
      this.#db.exec('COMMIT');
      for (const acknowledge of acknowledgements) acknowledge();
      this.#onCommit();
    } catch (error) {
      rejectAll(batch, error);
      this.#rollBack();
    }
  }

  /** Gives up what has waited long enough, and tries again soon for the others. */
  #waitForTurn(batch: readonly Pending[], error: unknown): void {
    const now = performance.now();
    const late = (write: Pending) => now - write.askedMs >= WAIT_MS_MAX;
    rejectAll(batch.filter(late), error);
    this.#pending.unshift(...batch.filter((write) => !late(write)));
    if (this.#pending.length === 0 || this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => this.#flush(), RETRY_MS);
  }

  /** A full disk ends the transaction by itself, and a closed database has none. */
  #rollBack(): void {
    if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }
}

function rejectAll(batch: readonly Pending[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === BUSY;
}
