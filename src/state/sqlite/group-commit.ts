import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import type { FileReplacementWatch } from './file-watch.ts';

interface Pending {
  /** Does the write. Returns a function to be called when the write is on the disk. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
  readonly askedMs: number;
  /** Whether the write is acknowledged only when it is on the disk, and not as soon as it is committed. */
  readonly isSynced: boolean;
}

/** The most writes that may wait. If there are more, the disk does not keep up. */
const PENDING_WRITES_MAX = 5000;

/** How long a write waits for another process's write before it fails. */
export interface LockPatience {
  readonly limitMs: number;
  /** Is called once for each wait of more than LONG_WAIT_MS. */
  readonly onLongWait: () => void;
}

/** The patience that callers are promised. */
const PATIENCE_OF_CALLERS: LockPatience = { limitMs: 200, onLongWait: () => {} };

/**
 * The time, in ms, after which background work releases the lock, however much work is left, because verdicts of
 * other processes wait for the lock.
 */
const BACKGROUND_LOCK_MS = 20;

/**
 * The pause, in ms, between two transactions of background work. During the pause others get the lock, also those
 * that try only now and then.
 */
export const LOCK_FREE_MS = 10;

/**
 * Repeats a step of background work within one transaction. It stops when the step returns false because everything
 * is done, or when others need the lock. Returns whether there is more to be done.
 */
export function repeatWithinLockTime(step: () => boolean, nowMs = () => performance.now()): boolean {
  const beganMs = nowMs();
  for (;;) {
    if (!step()) return false;
    if (nowMs() - beganMs >= BACKGROUND_LOCK_MS) return true;
  }
}

/** The wait, in ms, after which a person wants to know the reason. */
const LONG_WAIT_MS = 1000;

/**
 * The time, in ms, after which a file that another process writes to is tried again. This process does other work in
 * the meantime.
 */
const RETRY_MS = 5;

/** SQLITE_BUSY: another process holds the lock. */
const BUSY = 5;

/** A write that is committed and waits for the disk. */
interface Committed extends Pick<Pending, 'reject'> {
  readonly acknowledge: () => void;
}

/**
 * Runs all writes that arrive in one turn of the event loop in one transaction. Committed writes are brought to the
 * disk in the background. A few syncs run at a time, each for everything that is committed when the sync begins. A
 * write is acknowledged only after its own sync. Everything before it in the log is then on the disk, too. Some writes
 * matter only together with a later write, such as the sighting of a verdict with the commit of the verdict. Such a
 * write is acknowledged when it is committed, and the later write's sync brings both writes to the disk.
 *
 * If the disk refuses a sync, no later write can be acknowledged either. The system may have dropped data that it
 * could not write. A later sync would succeed all the same, but the log can be read only up to the missing part.
 */
export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #log: Pick<LogSync, 'sync'>;
  readonly #place: Pick<FileReplacementWatch, 'check'>;
  readonly #onCommit: () => void;
  #pending: Pending[] = [];
  #scheduled = false;
  #committed: Committed[] = [];
  readonly #syncs = new Set<Promise<void>>();
  readonly #onLost: (error: StoreUnavailable) => void;
  readonly #patience: LockPatience;
  #lost: StoreUnavailable | null = null;
  #hasTold = false;

  /**
   * `place` says whether the written file is still the one at its path. `onCommit` is called after each transaction,
   * `onLost` when the disk refuses committed data.
   */
  constructor(
    db: DatabaseSync,
    log: Pick<LogSync, 'sync'>,
    place: Pick<FileReplacementWatch, 'check'>,
    onCommit: () => void,
    onLost: (error: StoreUnavailable) => void,
    patience = PATIENCE_OF_CALLERS,
  ) {
    this.#patience = patience;
    this.#db = db;
    this.#log = log;
    this.#place = place;
    this.#onCommit = onCommit;
    this.#onLost = onLost;
  }

  /** Why nothing may be read or written any more. Null as long as the disk keeps everything. */
  get lost(): StoreUnavailable | null {
    return this.#lost;
  }

  /**
   * Runs a write within the next transaction. Resolves when the write is on the disk, or already when it is committed
   * if `isSynced` is false. After a power failure such a write may be missing, together with everything after it.
   */
  run<T>(work: () => T, isSynced = true): Promise<T> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    if (this.#pending.length + this.#committed.length >= PENDING_WRITES_MAX)
      return Promise.reject(new Error('too many writes are waiting'));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const writeThenAcknowledge = () => {
      const result = work();
      return () => resolve(result);
    };
    this.#pending.push({ work: writeThenAcknowledge, reject, askedMs: performance.now(), isSynced });
    this.#schedule(setImmediate);
    return promise;
  }

  /** Calls `later` to schedule one write of everything that waits. */
  #schedule(later: (flush: () => void) => void): void {
    if (this.#scheduled || this.#pending.length === 0) return;
    this.#scheduled = true;
    later(() => this.#flush());
  }

  /** Tries once to write everything that waits, rejects what could not be written, and waits for the disk. */
  async close(): Promise<void> {
    this.#flush();
    for (const { reject } of this.#pending.splice(0)) reject(new Error('the store is closed'));
    while (this.#syncs.size > 0) await Promise.all(this.#syncs);
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    try {
      this.#db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (isBusyError(error)) this.#waitForTurn(batch, error);
      else rejectAll(batch, error);
      return;
    }
    this.#hasTold = false;
    this.#write(batch);
  }

  #write(batch: readonly Pending[]): void {
    const written: (Committed & Pick<Pending, 'isSynced'>)[] = [];
    try {
      for (const { work, ...write } of batch) written.push({ ...write, acknowledge: work() });
      this.#db.exec('COMMIT');
    } catch (error) {
      // A full disk ends the transaction by itself. A closed database has no transaction.
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
      const culprit = batch[written.length];
      if (culprit === undefined || !isFaultOfOneWrite(error)) rejectAll(batch, error);
      else this.#writeWithout(culprit, batch, error);
      return;
    }
    for (const write of written) {
      if (write.isSynced) this.#committed.push(write);
      else write.acknowledge();
    }
    this.#onCommit();
    this.#beginSync();
  }

  /** Rejects the write that failed, and writes the others again, because they were rolled back with it. */
  #writeWithout(culprit: Pending, batch: readonly Pending[], error: unknown): void {
    culprit.reject(error);
    this.#pending.unshift(...batch.filter((write) => write !== culprit));
    this.#schedule(setImmediate);
  }

  /**
   * Syncs everything that is committed by now. If too many syncs are under way, the first one that ends begins this
   * one.
   */
  #beginSync(): void {
    if (this.#committed.length === 0 || this.#syncs.size >= SYNCS_AT_ONCE_MAX) return;
    const sync = this.#sync(this.#committed);
    this.#committed = [];
    this.#syncs.add(sync);
    void sync.then(() => {
      this.#syncs.delete(sync);
      this.#beginSync();
    });
  }

  async #sync(written: readonly Committed[]): Promise<void> {
    try {
      await this.#log.sync();
    } catch (error) {
      this.#lose(error, written);
      return;
    }
    const refusal = this.#lost ?? this.#place.check();
    if (refusal !== null) rejectAll(written, refusal);
    else for (const { acknowledge } of written) acknowledge();
  }

  #lose(cause: unknown, written: readonly Committed[]): void {
    if (this.#lost === null) {
      const why = cause instanceof Error ? cause.message : String(cause);
      this.#lost = new StoreUnavailable(
        `the disk could not store what was written (${why}); check the disk, then start the service again, which goes on with what the disk holds`,
        { cause },
      );
      this.#onLost(this.#lost);
    }
    rejectAll([...written, ...this.#committed.splice(0), ...this.#pending.splice(0)], this.#lost);
  }

  /** Rejects the writes that have waited long enough, and tries the others again soon. */
  #waitForTurn(batch: readonly Pending[], cause: unknown): void {
    const now = performance.now();
    const { limitMs, onLongWait } = this.#patience;
    const late = (write: Pending) => now - write.askedMs >= limitMs;
    // SQLite does not say who holds the lock.
    const why = `the SQLite file has been locked for ${limitMs} ms, by a command, another program or the shipper of this service`;
    rejectAll(batch.filter(late), new StoreLate(why, { cause }));
    this.#pending.unshift(...batch.filter((write) => !late(write)));
    if (!this.#hasTold && this.#pending.some(({ askedMs }) => now - askedMs >= LONG_WAIT_MS)) {
      this.#hasTold = true;
      onLongWait();
    }
    this.#schedule((flush) => setTimeout(flush, RETRY_MS));
  }
}

function rejectAll(batch: readonly Pick<Pending, 'reject'>[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}

/**
 * SQLite's error codes about a single statement: too big, against a constraint, of another type, or with a parameter
 * too many.
 */
const OF_ONE_WRITE: ReadonlySet<unknown> = new Set([18, 19, 20, 25]);

/** Whether the write itself is at fault, and not the disk or the file. In this case the other writes need not fail. */
function isFaultOfOneWrite(error: unknown): boolean {
  if (!(error instanceof Error && 'errcode' in error)) return true;
  // The lower byte is the code. The upper bytes only give details.
  return OF_ONE_WRITE.has(Number(error.errcode) & 0xff);
}

/** Whether another process holds the lock of the file now. */
export function isBusyError(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === BUSY;
}

const syncFile = promisify(fdatasync);

/**
 * The most syncs at once. Sometimes a disk takes a hundred times as long as usual for one sync, and the others need
 * not wait for it. One thread of the pool is left for everything else.
 */
const SYNCS_AT_ONCE_MAX = 3;

/**
 * Brings SQLite's log to the disk in the background. SQLite itself would do so within each COMMIT, and would stop the
 * event loop for as long as the disk takes.
 */
export class LogSync {
  readonly #free: number[];

  /**
   * `path` is the path of the database. The log is at this path with `-wal` as long as the database is open. All
   * files are opened here. A process with many connections may later be unable to open files, and must still keep its
   * writes.
   */
  constructor(path: string) {
    this.#free = Array.from({ length: SYNCS_AT_ONCE_MAX }, () => openSync(`${path}-wal`, 'r+'));
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. Each sync has an open file of its
   * own, because the system reports an error once for each open file.
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

  /** Closes the files. No sync may be under way. */
  close(): void {
    for (const file of this.#free.splice(0)) closeSync(file);
  }
}
