import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeOwnFolder } from '#base/files/folders.ts';
import { SALT_REGISTER } from '#state/client-salt.ts';
import { INSTALLATION_ID_REGISTER, type InstallationIdentity } from '#state/known-installation.ts';
import { type RunCall, StoreLate, StoreUnavailable, UnknownCursor } from '#state/store-errors.ts';
import { explainStoreFailure } from '#state/store-health.ts';
import type { FileReplacementWatch } from './file-watch.ts';
import { type GroupCommit, isBusyError } from './group-commit.ts';

/** How long the start waits for another process that changes the tables. */
const OPEN_TIMEOUT_MS = 2000;

/** How long SQLite waits for a lock. The wait blocks the event loop, so it is short. GroupCommit tries again. */
const BUSY_TIMEOUT_MS = 5;

/**
 * The size of a page. A verdict writes a page of each tree that it touches. This size writes a quarter less than
 * SQLite's default of 4096 bytes. A size of 1024 bytes writes even less, but takes an eighth more CPU.
 */
const PAGE_BYTES = 2048;

/** The memory for pages. With SQLite's default of 2 MiB, pages are read again and again once there are many clients. */
const CACHE_KIB = 16 * 1024;

/**
 * The number of logged pages at which they are copied into the database file. The same pages are written again and
 * again, so a later copy is less work. The commit that reaches this number waits for the disk twice, so this must be
 * rare. The pages take 32 MiB of log.
 */
const LOGGED_PAGES = 16_000;

/** SQLITE_FULL: the disk has no space left. */
const FULL = 13;

/** Only the owner may read and write, because the file names every payer. */
const FILE_MODE = 0o600;

export function getDbPath(dataDir: string): string {
  return join(dataDir, 'scoring.sqlite');
}

/** Opens the file, or makes it for an installation. Throws StoreUnavailable if it cannot be used. */
export function openSqliteFile(path: string, folder: string, begun: InstallationIdentity): DatabaseSync {
  try {
    makeOwnFolder(folder);
    keepForOwner(path);
    const db = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
    // In a new file these settings must come first. In an existing file they would need a rewrite, and the lock of
    // the writer.
    const isEmpty = db.prepare('PRAGMA page_count').get()?.['page_count'] === 0;
    if (isEmpty) db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
    // With NORMAL, SQLite leaves the syncs to GroupCommit, which syncs the log before a write is acknowledged.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${LOGGED_PAGES};`,
    );
    putLogInPlace(db);
    db.exec(SCHEMA);
    keepRegister(db, SALT_REGISTER, begun.salt);
    keepRegister(db, INSTALLATION_ID_REGISTER, begun.id);
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return db;
  } catch (cause) {
    if (isBusyError(cause))
      throw new StoreLate(
        `the SQLite file ${path} cannot be used yet: another process keeps it locked for more than ${OPEN_TIMEOUT_MS} ms`,
        { cause },
      );
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailable(
      `the SQLite file ${path} cannot be used: ${why}; check DATA_DIR and its permissions`,
      { cause },
    );
  }
}

/** Writes the register only if there is none, because a write waits for other writers. */
function keepRegister(db: DatabaseSync, name: string, value: string): void {
  if (db.prepare('SELECT 1 FROM registers WHERE name = ?').get(name) !== undefined) return;
  db.prepare('INSERT OR IGNORE INTO registers (name, value) VALUES (?, ?)').run(name, value);
}

/** Whether there is no file, or an empty file. */
export function isMissingOrEmptyFile(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/**
 * Copies the log of an earlier process into the database file on the disk. That process may have ended without
 * syncing the log, and later writes may depend only on data that the disk holds. On a full disk the log stays as it
 * is. Other processes that have the file open do this themselves.
 */
function putLogInPlace(db: DatabaseSync): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (!(error instanceof Error && 'errcode' in error && error.errcode === FULL)) throw error;
  }
}

/** SQLite gives the files beside the database file the same mode. */
function keepForOwner(path: string): void {
  closeSync(openSync(path, 'a', FILE_MODE));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (isOurs(file)) chmodSync(file, FILE_MODE);
}

/** Whether this process's user owns the file. A file of another user is used with its mode unchanged. */
function isOurs(file: string): boolean {
  return existsSync(file) && statSync(file).uid === process.getuid?.();
}

/**
 * Makes the tables that do not exist yet. An appended row costs a verdict next to nothing, but a row at a random
 * position writes a whole page to the log. So a plain verdict writes two rows: the state, whose rows are in the
 * sequence in which payers came, and the journal's entry, which is the record of the decision. The journal's index is
 * written later, in sorted batches. Tables to which a verdict writes have no index by time.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS clients (
    client TEXT PRIMARY KEY, state TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS shapes (id TEXT PRIMARY KEY, shape TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS orders (
    client TEXT NOT NULL, order_token TEXT NOT NULL, outcome TEXT NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, order_token)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS orders_expiry ON orders (expires_at);
  CREATE TABLE IF NOT EXISTS claims (
    platform TEXT NOT NULL, idempotency_key TEXT NOT NULL, request_hash TEXT NOT NULL, expires_at INTEGER NOT NULL,
    answer_position INTEGER, answer_expires_at INTEGER, PRIMARY KEY (platform, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sightings (
    device TEXT NOT NULL, client TEXT NOT NULL, at INTEGER NOT NULL, expires_at INTEGER NOT NULL, marks INTEGER NOT NULL,
    PRIMARY KEY (device, client)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS device_verdicts (
    device TEXT NOT NULL, ring INTEGER NOT NULL, step INTEGER NOT NULL, verdicts INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (device, ring, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS sightings_client ON sightings (client);
  CREATE TABLE IF NOT EXISTS documents (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS documents_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS registers (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS versions (
    name TEXT PRIMARY KEY, version TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tallies (
    tally TEXT NOT NULL, field TEXT NOT NULL, count INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (tally, field)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal (
    position INTEGER PRIMARY KEY, at INTEGER NOT NULL, client TEXT, seq INTEGER, order_name TEXT, idempotency_key TEXT,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS journal_index (
    partition INTEGER NOT NULL, key INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (partition, key, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal_progress (
    only INTEGER PRIMARY KEY CHECK (only = 1), forgotten INTEGER NOT NULL, shipped INTEGER NOT NULL, hot_ms INTEGER NOT NULL,
    indexed INTEGER NOT NULL, indexed_key INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS unshipped_erasures (position INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS log_heads (
    log TEXT PRIMARY KEY, latest INTEGER NOT NULL, horizon INTEGER NOT NULL, epoch TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS log_records (
    log TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, text TEXT, removed_at INTEGER, PRIMARY KEY (log, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS log_records_number ON log_records (log, number);
  CREATE INDEX IF NOT EXISTS log_records_removal ON log_records (log, removed_at) WHERE removed_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS log_parts (
    log TEXT NOT NULL, number INTEGER NOT NULL, owner TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (log, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS log_parts_owner ON log_parts (log, owner);
  CREATE TABLE IF NOT EXISTS journal_loss (
    only INTEGER PRIMARY KEY CHECK (only = 1), entries INTEGER NOT NULL, from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL, last_position INTEGER NOT NULL
  ) STRICT;
`;

/** The functions that read and write an open database file. */
export interface SqliteFileAccess {
  readonly db: DatabaseSync;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly run: RunCall;
  readonly read: <T>(work: () => T) => Promise<T>;
  /** Reads many rows. Such reads run one at a time, and the event loop serves others between two of them. */
  readonly readPage: <T>(work: () => T | Promise<T>) => Promise<T>;
  /** Runs `work` in a transaction. Resolves when the write is on the disk. */
  readonly write: <T>(work: () => T) => Promise<T>;
  /**
   * Runs `work` in a transaction. Resolves when the write is committed: everybody reads it, but a power failure may
   * lose it. It is for a step before a `write`, because the sync of that `write` brings both writes to the disk.
   */
  readonly writeUnsynced: <T>(work: () => T) => Promise<T>;
}

/**
 * Creates the functions that read and write an open file. They refuse every call after the disk refused written data,
 * and while the file at the path is missing or another one.
 */
export function createSqliteFileAccess(
  db: DatabaseSync,
  writes: GroupCommit,
  place: FileReplacementWatch,
  clock: () => number,
): SqliteFileAccess {
  const run: RunCall = (call) => {
    // A file that is back at its path is used again at once.
    const refusal = writes.lost ?? (place.refusal === null ? null : place.check());
    return refusal === null ? sqliteCall(call) : Promise.reject(refusal);
  };
  return {
    db,
    clock,
    run,
    read: (work) => run(async () => work()),
    readPage: oneATurn(run),
    write: (work) => run(() => writes.run(work)),
    writeUnsynced: (work) => run(() => writes.run(work, false)),
  };
}

/**
 * Runs reads one at a time. Reads resolve at once, so a loop over pages would be one block in which nobody else is
 * served.
 */
function oneATurn(run: RunCall): SqliteFileAccess['readPage'] {
  let free: Promise<void> = Promise.resolve();
  return async (work) => {
    const before = free;
    const { promise, resolve } = Promise.withResolvers<void>();
    free = promise;
    await before;
    try {
      return await run(async () => work());
    } finally {
      setImmediate(resolve);
    }
  };
}

/**
 * Turns all errors of SQLite (busy, full disk, damaged file) into StoreUnavailable, because the stored state cannot
 * be relied on after such an error.
 */
const sqliteCall: RunCall = async (call) => {
  try {
    return await call();
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof UnknownCursor) throw error;
    throw new StoreUnavailable(`SQLite could not answer: ${explainStoreFailure(error)}`, { cause: error });
  }
};
