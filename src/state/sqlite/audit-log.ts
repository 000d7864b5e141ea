import type { DatabaseSync } from 'node:sqlite';
import { AUDIT_ENTRIES_MAX, type AuditLog } from '../audit-log.ts';
import type { RunCall } from '../run-call.ts';
import { UnknownCursor } from '../store.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** The audit log in the `audit` table. */
export function sqliteAuditLog(db: DatabaseSync, writes: GroupCommit, run: RunCall): AuditLog {
  const add = db.prepare('INSERT INTO audit (client, entry) VALUES (?, ?)');
  const trim = db.prepare('DELETE FROM audit WHERE position <= ?');
  const page = db.prepare('SELECT position, entry FROM audit WHERE position > ? ORDER BY position LIMIT ?');
  return {
    append: (entry, clientHash) =>
      run(() =>
        writes.run(() => {
          const { lastInsertRowid } = add.run(clientHash, entry);
          trim.run(Number(lastInsertRowid) - AUDIT_ENTRIES_MAX);
        }),
      ),
    read: async (after, limit) => {
      if (after !== null && !/^\d{1,16}$/.test(after)) throw new UnknownCursor();
      return run(async () => {
        const rows = page.all(Number(after ?? 0), limit);
        const last = rows.at(-1)?.['position'];
        return {
          entries: rows.map(({ entry }) => String(entry)),
          cursor: last === undefined ? after : String(last),
        };
      });
    },
  };
}
