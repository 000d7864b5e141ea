import type { DatabaseSync } from 'node:sqlite';
import type { KeyvStoreAdapter } from 'keyv';
import { type DocumentIndex, type Documents, documentsKeyv, keyvDocuments } from '../documents.ts';
import type { RunCall } from '../run-call.ts';
import { textOf } from '../snapshot.ts';
import type { Versions, VersionTable } from '../versions.ts';
import type { GroupCommit } from './file/group-commit.ts';

/** Documents in the `documents` table, which knows when each of them ends. */
export function sqliteDocuments(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
  versions: Versions,
): Documents {
  const keyv = documentsKeyv({ store: tableAdapter(db, writes, clock) });
  return keyvDocuments(keyv, tableIndex(db), run, versions);
}

/** Versions in the `versions` table. */
export function sqliteVersions(db: DatabaseSync, writes: GroupCommit, run: RunCall): VersionTable {
  const all = db.prepare('SELECT name, version FROM versions');
  const put = db.prepare(
    'INSERT INTO versions (name, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
  );
  return {
    read: () =>
      run(async () =>
        Object.fromEntries(all.all().map(({ name, version }) => [String(name), String(version)])),
      ),
    write: (name, version) =>
      run(async () => {
        await writes.run(() => put.run(name, version));
      }),
  };
}

function tableAdapter(db: DatabaseSync, writes: GroupCommit, clock: () => number): KeyvStoreAdapter {
  const read = db.prepare(
    'SELECT value FROM documents WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  const write = db.prepare(
    'INSERT INTO documents (key, value, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at',
  );
  const remove = db.prepare('DELETE FROM documents WHERE key = ?');
  const clear = db.prepare('DELETE FROM documents');
  const adapter = {
    opts: {},
    get: async (key: string) => {
      const text = textOf(read.get(key, clock())?.['value']);
      return text === null ? undefined : JSON.parse(text);
    },
    set: async (key: string, value: string, ttlMs?: number) => {
      await writes.run(() => write.run(key, value, ttlMs === undefined ? null : clock() + ttlMs));
    },
    delete: (key: string) => writes.run(() => remove.run(key).changes > 0),
    clear: async () => {
      await writes.run(() => clear.run());
    },
    on: () => adapter,
  };
  return adapter;
}

/** The table is its own index, so nothing needs to be noted. */
function tableIndex(db: DatabaseSync): DocumentIndex {
  const names = db.prepare('SELECT key FROM documents WHERE key >= ? AND key < ? ORDER BY key');
  return {
    add: async () => {},
    remove: async () => {},
    names: async (collection) => {
      const prefix = `document:${collection}/`;
      return names.all(prefix, `document:${collection}0`).map(({ key }) => String(key).slice(prefix.length));
    },
  };
}
