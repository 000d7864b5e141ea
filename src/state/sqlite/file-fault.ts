import { DatabaseSync } from 'node:sqlite';
import { getIndexPartitionOfPosition } from './journal-table.ts';
import { getDbPath } from './open-file.ts';
import { toClientIndexKey, toOrderIndexKey } from './unindexed-entries.ts';

/**
 * Finds the first fault of the file under a DATA_DIR. Returns null if there is none. SQLite checks the pages of the
 * whole file. To SQLite the journal's index is a plain table, so this function itself checks that the index leads to
 * every entry.
 */
export function findDatabaseFileFault(dataDir: string): string | null {
  try {
    const db = new DatabaseSync(getDbPath(dataDir), { readOnly: true });
    try {
      const found = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
      return found === 'ok' ? findIndexFault(db) : String(found);
    } finally {
      db.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function findIndexFault(db: DatabaseSync): string | null {
  const { indexed, newest } =
    db
      .prepare(
        'SELECT indexed, (SELECT coalesce(max(position), 0) FROM journal) AS newest FROM journal_progress',
      )
      .get() ?? {};
  if (Number(indexed ?? 0) > Number(newest ?? 0))
    return `the index of the journal is said to reach position ${indexed}, but the newest entry has position ${newest}`;
  const deterministic = { deterministic: true };
  db.function('index_partition', deterministic, (position) => getIndexPartitionOfPosition(Number(position)));
  db.function('client_key', deterministic, (clientHash) => toClientIndexKey(String(clientHash)));
  db.function('order_key', deterministic, (order) => toOrderIndexKey(String(order)));
  const leads = (key: string) =>
    `EXISTS (SELECT 1 FROM journal_index AS kept WHERE kept.partition = index_partition(journal.position) AND kept.key = ${key} AND kept.position = journal.position)`;
  const missing = db
    .prepare(
      `SELECT position FROM journal WHERE position <= ?
        AND ((client IS NOT NULL AND NOT ${leads('client_key(client)')})
          OR (order_name IS NOT NULL AND NOT ${leads('order_key(order_name)')})) LIMIT 1`,
    )
    .get(Number(indexed ?? 0));
  return missing === undefined
    ? null
    : `the index of the journal does not lead to the entry at position ${missing['position']}`;
}
