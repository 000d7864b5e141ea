import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

/** How often the log's pages are put in their place; in between, what is written twice is put there once. */
const INTERVAL_MS = 250;

/** The thread of `SqliteCheckpoints`: puts logged pages in their place without holding up any writer or reader. */
const db = new DatabaseSync(String(workerData));
setInterval(() => {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // A full disk, mostly: the log keeps everything, and the next round tries again.
  }
}, INTERVAL_MS);
