import { randomUUID } from 'node:crypto';
import type { NumberedLog } from '#state/numbered-log.ts';
import { LIST_REMOVAL_KEPT_MS, type ListLogChange, type WritePreventingChange } from '#state/store.ts';
import { toTextOrNull } from '#state/stored-parts.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** How many removals are forgotten at once. */
const FORGOTTEN_MAX = 500;

const OLD_REMOVALS =
  'SELECT id, number FROM log_records WHERE log = ? AND removed_at <= ? ORDER BY removed_at LIMIT ?';

/**
 * Creates the log of this name in the tables `log_heads`, `log_records` and `log_parts`. A removed text leaves its
 * number for some time. `erase` runs the transaction that forgets parts.
 */
export function createNumberedLog(
  { db, clock, read, readPage, write }: SqliteFileAccess,
  name: string,
  erase: (work: () => void) => Promise<void> = write,
): NumberedLog {
  const head = db.prepare('SELECT latest, horizon, epoch FROM log_heads WHERE log = ?');
  const begin = db.prepare(
    'INSERT INTO log_heads (log, latest, horizon, epoch) VALUES (?, 0, 0, ?) ON CONFLICT DO NOTHING',
  );
  const advance = db.prepare('UPDATE log_heads SET latest = latest + 1 WHERE log = ? RETURNING latest');
  const record = db.prepare('SELECT number, text FROM log_records WHERE log = ? AND id = ?');
  const put = db.prepare(
    'INSERT INTO log_records (log, id, number, text, removed_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = excluded.number, text = excluded.text, removed_at = excluded.removed_at',
  );
  const after = db.prepare(
    'SELECT id, number, text FROM log_records WHERE log = ? AND number > ? ORDER BY number LIMIT ?',
  );
  const newest = db.prepare('SELECT text FROM log_records WHERE log = ? ORDER BY number DESC LIMIT 1');
  const raiseHorizon = db.prepare(
    `UPDATE log_heads SET horizon = max(horizon, coalesce((SELECT max(number) FROM (${OLD_REMOVALS})), 0)) WHERE log = ?`,
  );
  const forget = db.prepare(
    `DELETE FROM log_records WHERE log = ? AND id IN (SELECT id FROM (${OLD_REMOVALS}))`,
  );
  const trim = db.prepare('DELETE FROM log_records WHERE log = ? AND number <= ?');
  const addPart = db.prepare('INSERT INTO log_parts (log, number, owner, text) VALUES (?, ?, ?, ?)');
  const part = db.prepare('SELECT text FROM log_parts WHERE log = ? AND number = ?');
  const partsOf = db.prepare('SELECT number FROM log_parts WHERE log = ? AND owner = ? ORDER BY number');
  const forgetPart = db.prepare('DELETE FROM log_parts WHERE log = ? AND owner = ? AND number = ?');

  const appendOne = ({ id, text, expected }: ListLogChange, now: number): boolean => {
    const row = record.get(name, id);
    const isThere = row !== undefined && row['text'] !== null;
    if (expected !== undefined && !(isThere && row['number'] === expected)) return false;
    if (text === null && !isThere) return false;
    put.run(name, id, Number(advance.get(name)?.['latest']), text, text === null ? now : null);
    return true;
  };
  const isThereOther = ({ since, idsBegin, textsBegin }: WritePreventingChange): boolean =>
    after
      .iterate(name, since, -1)
      .some(
        ({ id, text }) =>
          String(id).startsWith(idsBegin) && text !== null && !String(text).startsWith(textsBegin),
      );
  return {
    append: (changes, { unless, number, part: added } = {}) =>
      write(() => {
        const now = clock();
        if (unless !== undefined && isThereOther(unless)) return null;
        const first = Number(head.get(name)?.['latest'] ?? 0) + 1;
        if (number !== undefined && number !== first) return null;
        begin.run(name, randomUUID());
        const made = changes.map((one) => appendOne(one, now));
        if (added) addPart.run(name, first, added.owner, added.text);
        const old = [name, now - LIST_REMOVAL_KEPT_MS, FORGOTTEN_MAX] as const;
        raiseHorizon.run(...old, name);
        forget.run(name, ...old);
        return made;
      }),
    head: () =>
      read(() => {
        const { latest = 0, horizon = 0, epoch } = head.get(name) ?? {};
        return { latest: Number(latest), horizon: Number(horizon), epoch: toTextOrNull(epoch) };
      }),
    readAfter: (number, limit) =>
      readPage(() =>
        after.all(name, number, limit).map((row) => ({
          id: String(row['id']),
          version: Number(row['number']),
          text: toTextOrNull(row['text']),
        })),
      ),
    newestText: () => read(() => toTextOrNull(newest.get(name)?.['text'])),
    trim: async (through) => {
      await write(() => trim.run(name, through));
    },
    readParts: (numbers) =>
      readPage(() => numbers.map((number) => toTextOrNull(part.get(name, number)?.['text']))),
    listParts: (owner) => read(() => partsOf.all(name, owner).map(({ number }) => Number(number))),
    forgetParts: (owner, numbers) =>
      erase(() => {
        for (const number of numbers) forgetPart.run(name, owner, number);
      }),
  };
}
