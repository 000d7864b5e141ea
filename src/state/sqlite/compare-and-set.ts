import { NO_TEXT_STAMP, type StampedText } from '#state/store.ts';
import type { SqliteFile } from './open-file.ts';

/** A table with one text for each name. */
interface TextTable {
  readonly table: string;
  readonly name: string;
  readonly text: string;
}

/** As SQLite's hex() gives it. */
export function computeStamp(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase();
}

/**
 * The one way in which a text in SQLite changes that was read before: it is replaced or removed only if it is still what was
 * read. Its stamp says so, because a damaged text may be no UTF-8 that could be given back.
 */
export function createTextTable({ db, read, write }: SqliteFile, { table, name, text }: TextTable) {
  const one = db.prepare(`SELECT ${text} AS text, hex(${text}) AS stamp FROM ${table} WHERE ${name} = ?`);
  const add = db.prepare(`INSERT INTO ${table} (${name}, ${text}) VALUES (?, ?) ON CONFLICT DO NOTHING`);
  const put = db.prepare(`UPDATE ${table} SET ${text} = ? WHERE ${name} = ? AND hex(${text}) = ?`);
  const remove = db.prepare(`DELETE FROM ${table} WHERE ${name} = ? AND hex(${text}) = ?`);
  const set = (ofName: string, stamp: string, next: string | null) => {
    if (next === null) return remove.run(ofName, stamp).changes > 0;
    return (stamp === NO_TEXT_STAMP ? add.run(ofName, next) : put.run(next, ofName, stamp)).changes > 0;
  };
  return {
    /** A text with the stamp of its bytes; null when there is none. */
    read: (ofName: string) =>
      read((): StampedText | null => {
        const row = one.get(ofName);
        return row === undefined ? null : { text: String(row['text']), stamp: String(row['stamp']) };
      }),
    /**
     * Puts `next` in the place of the text that had the stamp, or with null removes it; false when the text has changed. `keep`
     * belongs to the same transaction.
     */
    compareAndSet: (ofName: string, stamp: string, next: string | null, keep: () => void = () => {}) =>
      write(() => {
        const isSet = set(ofName, stamp, next);
        if (isSet) keep();
        return isSet;
      }),
  };
}
