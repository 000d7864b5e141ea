import type { DatabaseSync } from 'node:sqlite';
import type { Decision } from '../../decision/decision.ts';
import { findInPages, SEARCH_PAGE } from '../decision-search.ts';
import type { Guard } from '../documents.ts';
import type { Store } from '../store.ts';

/** `findDecisions` over the table of decision records: page by page along its index, from the newest on. */
export function sqliteDecisionSearch(db: DatabaseSync, guard: Guard): Store['findDecisions'] {
  const older = db.prepare(
    'SELECT rowid, at, record FROM decisions WHERE platform = ? AND (at, rowid) < (?, ?) ORDER BY at DESC, rowid DESC LIMIT ?',
  );
  return (platform, filter, limit) => {
    let before = { at: Number.MAX_SAFE_INTEGER, rowid: Number.MAX_SAFE_INTEGER };
    const nextPage = () =>
      guard(async () => {
        const rows = older.all(platform, before.at, before.rowid, SEARCH_PAGE);
        const last = rows.at(-1);
        if (last !== undefined) before = { at: Number(last['at']), rowid: Number(last['rowid']) };
        return rows.map((row): Decision => JSON.parse(String(row['record'])));
      });
    return findInPages(nextPage, filter, limit);
  };
}
