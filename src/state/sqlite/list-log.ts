import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { LIST_REMOVAL_KEPT_MS, type ListChange, type ListLog } from '../list-log.ts';
import type { RunCall } from '../run-call.ts';
import { textOf } from '../snapshot.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** Removals that are forgotten at once. */
const FORGOTTEN_MAX = 500;

/** The shared lists in the table `list_records`; a removed record stays for a while without its text. */
export function sqliteListLog(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
): ListLog {
  const sql = statements(db);
  const change = ({ id, text, expected }: ListChange, now: number): boolean => {
    const row = sql.record.get(id);
    const isThere = row !== undefined && row['text'] !== null;
    if (expected !== undefined && !(isThere && row['version'] === expected)) return false;
    if (text === null && !isThere) return false;
    sql.advance.run();
    sql.put.run(id, text, text === null ? now : null);
    return true;
  };
  return {
    write: (changes, unless) =>
      run(() =>
        writes.run(() => {
          const now = clock();
          if (unless !== undefined) {
            const { since, idsBegin, textsBegin } = unless;
            const others = sql.changes.iterate(since, -1);
            const isOther = ({ id, text }: Record<string, unknown>) =>
              String(id).startsWith(idsBegin) && text !== null && !String(text).startsWith(textsBegin);
            if (others.some(isOther)) return null;
          }
          sql.begin.run(randomUUID());
          const made = changes.map((one) => change(one, now));
          const before = now - LIST_REMOVAL_KEPT_MS;
          sql.raiseHorizon.run(before, FORGOTTEN_MAX);
          sql.forget.run(before, FORGOTTEN_MAX);
          return made;
        }),
      ),
    read: (after, limit) =>
      run(async () => {
        const head = sql.head.get();
        const records = sql.changes.all(after, limit).map(({ id, version, text }) => ({
          id: String(id),
          version: Number(version),
          text: textOf(text),
        }));
        return {
          records,
          latest: Number(head?.['latest'] ?? 0),
          horizon: Number(head?.['horizon'] ?? 0),
          epoch: textOf(head?.['epoch']),
        };
      }),
  };
}

function statements(db: DatabaseSync) {
  const old = 'SELECT id, version FROM list_records WHERE removed_at <= ? ORDER BY removed_at LIMIT ?';
  return {
    head: db.prepare('SELECT latest, horizon, epoch FROM list_head'),
    begin: db.prepare(
      'INSERT INTO list_head (only, latest, horizon, epoch) VALUES (1, 0, 0, ?) ON CONFLICT DO NOTHING',
    ),
    advance: db.prepare('UPDATE list_head SET latest = latest + 1'),
    record: db.prepare('SELECT version, text FROM list_records WHERE id = ?'),
    put: db.prepare(
      'INSERT INTO list_records (id, version, text, removed_at) VALUES (?, (SELECT latest FROM list_head), ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, text = excluded.text, removed_at = excluded.removed_at',
    ),
    changes: db.prepare(
      'SELECT id, version, text FROM list_records WHERE version > ? ORDER BY version LIMIT ?',
    ),
    raiseHorizon: db.prepare(
      `UPDATE list_head SET horizon = max(horizon, coalesce((SELECT max(version) FROM (${old})), 0))`,
    ),
    forget: db.prepare(`DELETE FROM list_records WHERE id IN (SELECT id FROM (${old}))`),
  };
}
