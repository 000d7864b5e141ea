import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeOwnFolder } from '../../../files/own-folder.ts';
import { SALT_REGISTER } from '../../client-salt.ts';
import { StoreLate } from '../../health/store-late.ts';
import { StoreUnavailable } from '../../store-errors.ts';
import { isBusy } from './group-commit.ts';
import { SCHEMA } from './schema.ts';

/** How long the start waits for another process that changes the tables. */
const OPEN_TIMEOUT_MS = 2000;

/** SQLite waits by standing still, so it waits next to nothing; GroupCommit tries again. */
const BUSY_TIMEOUT_MS = 5;

/** Pages kept in memory. SQLite's own 2 MiB are read again and again once there are many clients. */
const CACHE_KIB = 64 * 1024;

/**
 * Pages that are logged before they are put in their place: the same pages come again and again, so later is less. The
 * commit that finds so many waits for the disk twice, so this is to be seldom; it is 32 MiB of log.
 */
const LOGGED_PAGES = 8000;

/** SQLITE_FULL: the disk has no space left. */
const FULL = 13;

/** Owner only: who reads the file knows every payer. */
const FILE_MODE = 0o600;

/** Where the state of a DATA_DIR lies. */
export function sqlitePath(dataDir: string): string {
  return join(dataDir, 'scoring.sqlite');
}

/** What SQLite finds wrong with the file under a DATA_DIR, at first; null when nothing is. It reads all of it. */
export function faultOfFile(dataDir: string): string | null {
  try {
    const db = new DatabaseSync(sqlitePath(dataDir), { readOnly: true });
    const found = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    db.close();
    return found === 'ok' ? null : String(found);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Opens the file, or makes it with this salt of clients; throws StoreUnavailable when it cannot be used. */
export function openSqliteFile(path: string, folder: string, salt: string): DatabaseSync {
  try {
    makeOwnFolder(folder);
    keepForOwner(path);
    const db = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
    // In a new file this must come first: later it takes a rewrite, and the lock of whoever writes.
    if (isEmpty(db)) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    // NORMAL leaves it to GroupCommit to sync the log before anything is acknowledged.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${LOGGED_PAGES};`,
    );
    putLogInPlace(db);
    db.exec(SCHEMA);
    keepSalt(db, salt);
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return db;
  } catch (cause) {
    if (isBusy(cause))
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

/** Writes only where there is none, because writing waits for others that write. */
function keepSalt(db: DatabaseSync, salt: string): void {
  if (db.prepare('SELECT 1 FROM registers WHERE name = ?').get(SALT_REGISTER) !== undefined) return;
  db.prepare('INSERT OR IGNORE INTO registers (name, value) VALUES (?, ?)').run(SALT_REGISTER, salt);
}

/**
 * Brings what an earlier process logged to its place on the disk, because that process may have ended without syncing the
 * log, and nothing may be built on what the disk does not hold. On a full disk the log stays what it is; others who have the
 * file open do this themselves.
 */
function putLogInPlace(db: DatabaseSync): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (!isFull(error)) throw error;
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === FULL;
}

/** SQLite gives the files beside it the mode of the file itself. */
function keepForOwner(path: string): void {
  closeSync(openSync(path, 'a', FILE_MODE));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (isOurs(file)) chmodSync(file, FILE_MODE);
}

/** A process that opens a file made by another uses it as it is. */
function isOurs(file: string): boolean {
  return existsSync(file) && statSync(file).uid === process.getuid?.();
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare('PRAGMA page_count').get()?.['page_count'] === 0;
}
