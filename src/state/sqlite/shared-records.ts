import type { KeyvStoreAdapter } from 'keyv';
import { DAY_MS } from '#base/duration.ts';
import {
  createDocumentsKeyv,
  createKeyvDocuments,
  type DocumentIndex,
  type Documents,
  type FollowedVersions,
  type VersionTable,
} from '#state/documents.ts';
import { RETENTION } from '#state/retention.ts';
import {
  formatLastBatchField,
  NO_TEXT_STAMP,
  type Registers,
  type Tallies,
  toTallyCounts,
} from '#state/store.ts';
import { toTextOrNull } from '#state/stored-parts.ts';
import { computeHexStamp, createTextTableAccess } from './compare-and-set.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** The tables of what belongs to no single client: documents, versions, registers and tallies. */

/**
 * Creates the access to the documents in the table `documents`, which also holds the time at which each document
 * expires.
 */
export function createSqliteDocuments(file: SqliteFileAccess, versions: FollowedVersions): Documents {
  return createKeyvDocuments(
    createDocumentsKeyv({ store: createTableAdapter(file) }),
    createTableIndex(file),
    file.run,
    versions,
  );
}

function createTableAdapter({ db, clock, write }: SqliteFileAccess): KeyvStoreAdapter {
  const read = db.prepare(
    'SELECT value FROM documents WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  const put = db.prepare(
    'INSERT INTO documents (key, value, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at',
  );
  const remove = db.prepare('DELETE FROM documents WHERE key = ?');
  const adapter = {
    opts: {},
    get: async (key: string) => {
      const text = toTextOrNull(read.get(key, clock())?.['value']);
      return text === null ? undefined : JSON.parse(text);
    },
    set: (key: string, value: string, ttlMs?: number) =>
      write(() => put.run(key, value, ttlMs === undefined ? null : clock() + ttlMs)),
    delete: (key: string) => write(() => remove.run(key).changes > 0),
    clear: async () => {
      await write(() => db.exec('DELETE FROM documents'));
    },
    on: () => adapter,
  };
  return adapter;
}

/** The table is its own index, so no name needs to be noted. */
function createTableIndex({ db, readPage }: SqliteFileAccess): DocumentIndex {
  const page = db.prepare('SELECT key FROM documents WHERE key > ? AND key < ? ORDER BY key LIMIT 500');
  return {
    add: async () => {},
    remove: async () => {},
    names: async (collection) => {
      const prefix = `document:${collection}/`;
      const keys: string[] = [];
      for (let isAll = false; !isAll; ) {
        const from = keys.at(-1) ?? prefix;
        const rows = await readPage(() => page.all(from, `document:${collection}0`));
        keys.push(...rows.map(({ key }) => String(key)));
        isAll = rows.length === 0;
      }
      return keys.map((key) => key.slice(prefix.length));
    },
  };
}

/** Creates the access to the versions in the table `versions`. */
export function createSqliteVersions({ db, read, write }: SqliteFileAccess): VersionTable {
  const all = db.prepare('SELECT name, version FROM versions');
  const put = db.prepare(
    'INSERT INTO versions (name, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
  );
  return {
    read: () =>
      read(() => Object.fromEntries(all.all().map(({ name, version }) => [String(name), String(version)]))),
    write: async (name, version) => {
      await write(() => put.run(name, version));
    },
  };
}

export function createSqliteRegisters(file: SqliteFileAccess, versions: FollowedVersions): Registers {
  const registers = createTextTableAccess(file, { table: 'registers', name: 'name', text: 'value' });
  return {
    read: async (name) => (await registers.read(name))?.text ?? null,
    compareAndSet: async (name, expected, next) => {
      const stamp = expected === null ? NO_TEXT_STAMP : computeHexStamp(expected);
      const written = await registers.compareAndSet(name, stamp, next);
      if (written) await versions.writeNewVersion(name);
      return written;
    },
    version: async (name) => (await versions.readCurrent(name)).version,
  };
}

/** Creates the access to the tallies in the table `tallies`. */
export function createSqliteTallies({ db, clock, read, write }: SqliteFileAccess): Tallies {
  const all = db.prepare('SELECT field, count FROM tallies WHERE tally = ?');
  const one = db.prepare('SELECT count FROM tallies WHERE tally = ? AND field = ?');
  const add = db.prepare(
    'INSERT INTO tallies (tally, field, count, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count, expires_at = excluded.expires_at',
  );
  const keep = db.prepare('UPDATE tallies SET expires_at = ? WHERE tally = ? AND expires_at < ?');
  return {
    add: (tally, { writer, number, counts }) =>
      write(() => {
        // The time of expiry is rounded up to a day, so that unchanged fields need not be written each time. This is
        // exact enough.
        const end = Math.ceil(clock() / DAY_MS) * DAY_MS + RETENTION.tallyMs;
        const last = Number(one.get(tally, formatLastBatchField(writer))?.['count'] ?? 0);
        if (last >= number) return;
        const added = { ...counts, [formatLastBatchField(writer)]: number - last };
        for (const [field, count] of Object.entries(added)) add.run(tally, field, count, end);
        keep.run(end, tally, end);
      }),
    read: (tally) =>
      read(() => toTallyCounts(all.all(tally).map(({ field, count }) => [String(field), count] as const))),
  };
}
