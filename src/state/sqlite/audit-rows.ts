import type { DatabaseSync } from 'node:sqlite';
import type { AuditRows } from '../audit-log.ts';
import type { RunCall } from '../run-call.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** The audit in the table `audit`, and what leads to payers beside it. `overwrite` leaves nothing of that in the log of writes. */
export function sqliteAuditRows(
  db: DatabaseSync,
  writes: GroupCommit,
  run: RunCall,
  overwrite: () => Promise<void>,
): AuditRows {
  const end = db.prepare(
    "SELECT seq, (SELECT hash FROM audit ORDER BY number DESC LIMIT 1) AS hash FROM sqlite_sequence WHERE name = 'audit'",
  );
  const add = db.prepare('INSERT INTO audit (number, previous, hash, body) VALUES (?, ?, ?, ?)');
  const addPayer = db.prepare('INSERT INTO audit_payers (number, client, text) VALUES (?, ?, ?)');
  const page = db.prepare(
    'SELECT number, previous, hash, body, client, text FROM audit LEFT JOIN audit_payers USING (number) WHERE number > ? ORDER BY number LIMIT ?',
  );
  const about = db.prepare('SELECT number FROM audit_payers WHERE client = ? ORDER BY number');
  const forget = db.prepare('DELETE FROM audit_payers WHERE client = ? AND number = ?');
  const drop = db.prepare('DELETE FROM audit WHERE number <= ?');
  return {
    newest: () =>
      run(async () => {
        const row = end.get();
        return row === undefined ? null : { number: Number(row['seq']), hash: String(row['hash']) };
      }),
    add: ({ number, previous, hash, body, payer }) =>
      run(() =>
        writes.run(() => {
          if (Number(end.get()?.['seq'] ?? 0) >= number) return false;
          add.run(number, previous, hash, body);
          if (payer !== null) addPayer.run(number, payer.clientHash, payer.text);
          return true;
        }),
      ),
    read: (after, limit) =>
      run(async () =>
        page.all(after, limit).map(({ number, previous, hash, body, client, text }) => ({
          number: Number(number),
          previous: String(previous),
          hash: String(hash),
          body: String(body),
          payer: client === null ? null : { clientHash: String(client), text: String(text) },
        })),
      ),
    about: (clientHash) => run(async () => about.all(clientHash).map(({ number }) => Number(number))),
    forgetPayer: async (clientHash, numbers) => {
      await run(() =>
        writes.run(() => {
          for (const number of numbers) forget.run(clientHash, number);
        }),
      );
      if (numbers.length > 0) await overwrite();
    },
    drop: (through) =>
      run(() =>
        writes.run(() => {
          drop.run(through);
        }),
      ),
  };
}
