import { DatabaseSync } from 'node:sqlite';
import { serveWork } from '#base/work/serve-work.ts';

/** How often the log's pages are moved to their place; a page that is written twice in between is moved once. */
const INTERVAL_MS = 250;

/** How long it tries to empty the log before everybody else gets a turn. */
const TRUNCATE_TIMEOUT_MS = 100;

let db: DatabaseSync | null = null;

/** Requests for an empty log are answered when the log is empty; until then every round tries. */
let onTruncated: (() => void)[] = [];

/** What the thread of `SqliteCheckpoints` does: it puts logged pages in their place without holding up any writer or reader. */
const works = {
  begin,
  truncate: (path: string) => {
    begin(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    onTruncated.push(resolve);
    checkpoint();
    return promise;
  },
};

export type CheckpointWorks = typeof works;

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
    // A full disk, mostly: the log keeps everything, and the next round tries again.
  }
}

serveWork(works);
