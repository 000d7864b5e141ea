import type { DatabaseSync } from 'node:sqlite';
import type { RunCall } from '../run-call.ts';
import { RETENTION } from '../store.ts';
import { type Tallies, tallyCounts, writerField } from '../tallies.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** Tallies in the table `tallies`; a new writer removes those that nobody added to for long. */
export function sqliteTallies(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
): Tallies {
  const all = db.prepare('SELECT field, count FROM tallies WHERE tally = ?');
  const one = db.prepare('SELECT count FROM tallies WHERE tally = ? AND field = ?');
  const add = db.prepare(
    'INSERT INTO tallies (tally, field, count, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count, expires_at = excluded.expires_at',
  );
  const forget = db.prepare(
    'DELETE FROM tallies WHERE tally IN (SELECT tally FROM tallies GROUP BY tally HAVING max(expires_at) <= ?)',
  );
  return {
    add: (tally, { writer, number, counts }) =>
      run(() =>
        writes.run(() => {
          const now = clock();
          const last = Number(one.get(tally, writerField(writer))?.['count'] ?? 0);
          if (last >= number) return;
          if (last === 0) forget.run(now);
          const added = { ...counts, [writerField(writer)]: number - last };
          for (const [field, count] of Object.entries(added))
            add.run(tally, field, count, now + RETENTION.tallyMs);
        }),
      ),
    read: (tally) =>
      run(async () => tallyCounts(all.all(tally).map(({ field, count }) => [String(field), count] as const))),
  };
}
