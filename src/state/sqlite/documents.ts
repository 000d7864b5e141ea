import type { DatabaseSync } from 'node:sqlite';
import Keyv, { type KeyvStoreAdapter } from 'keyv';
import { type DocumentIndex, type Documents, keyvDocuments } from '../documents.ts';
import type { RunCall } from '../run-call.ts';

/** Documents in the `documents` table; Keyv's own envelope holds the expiry. */
export function sqliteDocuments(db: DatabaseSync, run: RunCall): Documents {
  const keyv = new Keyv({ store: tableAdapter(db), useKeyPrefix: false, throwOnErrors: true });
  // The adapter turns Keyv's envelope into JSON itself.
  keyv.serialize = undefined;
  keyv.deserialize = undefined;
  return keyvDocuments(keyv, tableIndex(db), run);
}

function tableAdapter(db: DatabaseSync): KeyvStoreAdapter {
  const read = db.prepare('SELECT value FROM documents WHERE key = ?');
  const write = db.prepare(
    'INSERT INTO documents (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  );
  const remove = db.prepare('DELETE FROM documents WHERE key = ?');
  const clear = db.prepare('DELETE FROM documents');
  const adapter = {
    opts: {},
    get: async (key: string) => {
      const value = read.get(key)?.['value'];
      return typeof value === 'string' ? JSON.parse(value) : undefined;
    },
    set: async (key: string, envelope: unknown) => {
      write.run(key, JSON.stringify(envelope));
    },
    delete: async (key: string) => remove.run(key).changes > 0,
    clear: async () => {
      clear.run();
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
