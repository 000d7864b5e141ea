import type { DatabaseSync } from 'node:sqlite';
import { type AuditLog, auditShareMax } from '../audit-log.ts';
import type { RunCall } from '../run-call.ts';
import { UnknownCursor } from '../store.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** No platform is named so. */
const INSTALLATION = '*';

/** The audit log in the `audit` table; `audit_shares` numbers the entries of each platform. */
export function sqliteAuditLog(db: DatabaseSync, writes: GroupCommit, run: RunCall): AuditLog {
  const add = db.prepare('INSERT INTO audit (client, entry) VALUES (?, ?)');
  const share = db.prepare(
    'INSERT INTO audit_shares (owner, number, position) SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM audit_shares WHERE owner = ?1 RETURNING number',
  );
  const trim = db.prepare(
    'DELETE FROM audit WHERE position IN (SELECT position FROM audit_shares WHERE owner = ? AND number <= ?)',
  );
  const trimShare = db.prepare('DELETE FROM audit_shares WHERE owner = ? AND number <= ?');
  const page = db.prepare('SELECT position, entry FROM audit WHERE position > ? ORDER BY position LIMIT ?');
  return {
    append: (entry, { platform, clientHash }) =>
      run(() =>
        writes.run(() => {
          const owner = platform ?? INSTALLATION;
          const { lastInsertRowid } = add.run(clientHash, entry);
          const newest = Number(share.get(owner, lastInsertRowid)?.['number']);
          const tooOld = newest - auditShareMax(platform);
          trim.run(owner, tooOld);
          trimShare.run(owner, tooOld);
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
