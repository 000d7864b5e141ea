import { DatabaseSync } from 'node:sqlite';
import { serveWork } from '#base/work/serve-work.ts';

/**
 * The interval, in ms, at which the log's pages are copied into the database file. A page that is written twice in
 * between is copied once.
 */
const INTERVAL_MS = 250;

/** How long, in ms, one try to empty the log lasts before others get a turn. */
const TRUNCATE_TIMEOUT_MS = 100;

let db: DatabaseSync | null = null;

/** The callers that wait for an empty log. Every round tries to empty it, until it is empty. */
let onTruncated: (() => void)[] = [];

/**
 * The jobs of the thread of `SqliteCheckpointer`. They copy logged pages into the database file without holding up
 * any writer or reader.
 */
const jobs = {
  begin,
  truncate: (path: string) => {
    begin(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    onTruncated.push(resolve);
    checkpoint();
    return promise;
  },
};

/** The functions that the checkpoint thread runs for SQLite's store, by name. */
export type CheckpointJobs = typeof jobs;

function begin(path: string): void {
  if (db !== null) return;
  db = new DatabaseSync(path, { timeout: TRUNCATE_TIMEOUT_MS });
  setInterval(checkpoint, INTERVAL_MS);
}

function checkpoint(): void {
  try {
    if (onTruncated.length === 0) db?.exec('PRAGMA wal_checkpoint(PASSIVE)');
    else if (db?.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0) {
      const waiting = onTruncated;
      onTruncated = [];
      for (const resolve of waiting) resolve();
    }
  } catch {
    // In most cases the disk is full. The log keeps everything, and the next round tries again.
  }
}

serveWork(jobs);
