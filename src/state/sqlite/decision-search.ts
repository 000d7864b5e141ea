import type { DatabaseSync } from 'node:sqlite';
import { timeBound } from '../../decision/decision-filter.ts';
import { findInPages, PAGE_DECISIONS_MAX } from '../decision-search.ts';
import { searchSteps } from '../paced-steps.ts';
import type { RunCall } from '../run-call.ts';
import type { Store } from '../store.ts';
import type { RecordReader } from '../stored-record.ts';
import { storedRecord } from './stored-record.ts';

/** `findDecisions` over the table of decision records: page by page along its index, from the newest on that may fit. */
export function sqliteDecisionSearch(
  db: DatabaseSync,
  run: RunCall,
  reader: RecordReader,
): Store['findDecisions'] {
  const older = db.prepare(
    'SELECT position, at, client, record FROM decisions WHERE platform = ? AND (at, position) < (?, ?) ORDER BY at DESC, position DESC LIMIT ?',
  );
  return (platform, filter, limit) => {
    // No position is below 0, so all that was decided at this time is left out.
    let before = { at: timeBound(filter) ?? Number.MAX_SAFE_INTEGER, position: -1 };
    const nextPage = () =>
      run(async () => {
        const rows = await searchSteps.run(async () =>
          older.all(platform, before.at, before.position, PAGE_DECISIONS_MAX),
        );
        const last = rows.at(-1);
        if (last !== undefined) before = { at: Number(last['at']), position: Number(last['position']) };
        return searchSteps.map(rows.map(storedRecord), (some) => reader.decisions(some));
      });
    return findInPages(nextPage, filter, limit);
  };
}
