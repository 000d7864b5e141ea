import { NO_TEXT_STAMP, type StampedText } from '#state/store.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** A table that keeps one text under each name. */
interface TextTable {
  readonly table: string;
  readonly name: string;
  readonly text: string;
}

/** Returns a text's stamp, which is the result of SQLite's hex(). */
export function computeHexStamp(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase();
}

/**
 * Creates the access to a table of texts. A text that was read before is replaced or removed only if it is still the
 * same. Texts are compared by their stamps, because a damaged text may not be valid UTF-8.
 */
export function createTextTableAccess(
  { db, read, write }: SqliteFileAccess,
  { table, name, text }: TextTable,
) {
  const one = db.prepare(`SELECT ${text} AS text, hex(${text}) AS stamp FROM ${table} WHERE ${name} = ?`);
  const add = db.prepare(`INSERT INTO ${table} (${name}, ${text}) VALUES (?, ?) ON CONFLICT DO NOTHING`);
  const put = db.prepare(`UPDATE ${table} SET ${text} = ? WHERE ${name} = ? AND hex(${text}) = ?`);
  const remove = db.prepare(`DELETE FROM ${table} WHERE ${name} = ? AND hex(${text}) = ?`);
  const set = (ofName: string, stamp: string, next: string | null) => {
    if (next === null) return remove.run(ofName, stamp).changes > 0;
    return (stamp === NO_TEXT_STAMP ? add.run(ofName, next) : put.run(next, ofName, stamp)).changes > 0;
  };
  return {
    /** Reads a text and the stamp of its bytes. Returns null if there is none. */
    read: (ofName: string) =>
      read((): StampedText | null => {
        const row = one.get(ofName);
        return row === undefined ? null : { text: String(row['text']), stamp: String(row['stamp']) };
      }),
    /**
     * Replaces the text that has the stamp by `next`. Removes it if `next` is null. Returns false if the text has
     * changed. `keep` runs in the same transaction.
     */
    compareAndSet: (ofName: string, stamp: string, next: string | null, keep: () => void = () => {}) =>
      write(() => {
        const isSet = set(ofName, stamp, next);
        if (isSet) keep();
        return isSet;
      }),
  };
}
