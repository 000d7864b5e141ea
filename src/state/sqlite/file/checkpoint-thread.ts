import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** How often the log's pages are put in their place; in between, what is written twice is put there once. */
const INTERVAL_MS = 250;

/** How long the log is tried to be emptied before everybody else gets a turn. */
const TRUNCATE_TIMEOUT_MS = 100;

/** The thread of `SqliteCheckpoints`: puts logged pages in their place without holding up any writer or reader. */
const db = new DatabaseSync(String(workerData), { timeout: TRUNCATE_TIMEOUT_MS });

/** The caller that asked for an empty log hears when it is empty; until then every round tries. */
let truncationsWanted = 0;

parentPort?.on('message', () => {
  truncationsWanted++;
  checkpoint();
});

setInterval(checkpoint, INTERVAL_MS);

function checkpoint(): void {
  try {
    if (truncationsWanted === 0) db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    else if (db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0) {
      for (; truncationsWanted > 0; truncationsWanted--) parentPort?.postMessage('truncated');
    }
  } catch {
    // A full disk, mostly: the log keeps everything, and the next round tries again.
  }
}
