import type { DatabaseSync } from 'node:sqlite';
import { RETENTION } from '../retention.ts';
import type { RunCall } from '../run-call.ts';
import { type Tallies, tallyCounts, writerField } from '../tallies.ts';
import type { GroupCommit } from './file/group-commit.ts';

const DAY_MS = 24 * 3600_000;

/** Tallies in the table `tallies`. */
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
  const keep = db.prepare('UPDATE tallies SET expires_at = ? WHERE tally = ? AND expires_at < ?');
  return {
    add: (tally, { writer, number, counts }) =>
      run(() =>
        writes.run(() => {
          // A day is exact enough, so that the fields which stay as they are need not be written each time.
          const end = Math.ceil(clock() / DAY_MS) * DAY_MS + RETENTION.tallyMs;
          const last = Number(one.get(tally, writerField(writer))?.['count'] ?? 0);
          if (last >= number) return;
          const added = { ...counts, [writerField(writer)]: number - last };
          for (const [field, count] of Object.entries(added)) add.run(tally, field, count, end);
          keep.run(end, tally, end);
        }),
      ),
    read: (tally) =>
      run(async () => tallyCounts(all.all(tally).map(({ field, count }) => [String(field), count] as const))),
  };
}
