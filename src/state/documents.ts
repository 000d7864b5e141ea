import Keyv, { type KeyvOptions } from 'keyv';
import type { RunCall } from './run-call.ts';
import { StoreUnavailable } from './store-errors.ts';
import type { SeenVersion, Versions } from './versions.ts';

/**
 * Small JSON documents in named collections, kept in Keyv. Errors throw: a read that fails must never
 * look like a document that does not exist.
 */
export interface Documents {
  get<T>(collection: string, name: string): Promise<T | undefined>;
  /** Without `ttlMs` it is kept until deleted. */
  set<T>(collection: string, name: string, value: T, ttlMs?: number): Promise<void>;
  delete(collection: string, name: string): Promise<void>;
  list<T>(collection: string): Promise<readonly T[]>;
  /** Of a collection that is followed: another one after every change. Null when it was not read a moment ago; it never waits. */
  recentVersion(collection: string): SeenVersion | null;
}

/** The names in a collection. Keyv has no such thing but a walk over all keys of the store. */
export interface DocumentIndex {
  add(collection: string, name: string): Promise<void>;
  remove(collection: string, name: string): Promise<void>;
  names(collection: string): Promise<readonly string[]>;
}

/**
 * A Keyv whose documents expire by the store's clock alone. Keyv would note the end of each by the writer's
 * clock and delete by the reader's, so that a node whose clock is ahead deletes what all others still need.
 */
export function documentsKeyv(options: Pick<KeyvOptions, 'store' | 'namespace'>): Keyv {
  return new Keyv({
    ...options,
    useKeyPrefix: false,
    throwOnErrors: true,
    serialize: ({ value }) => JSON.stringify({ value }),
    deserialize: (text) => ({ value: JSON.parse(text).value, expires: undefined }),
  });
}

/** Documents in a Keyv that was made by `documentsKeyv`. */
export function keyvDocuments(keyv: Keyv, index: DocumentIndex, run: RunCall, versions: Versions): Documents {
  const key = (collection: string, name: string) => `document:${collection}/${name}`;
  const read = async <T>(collection: string, name: string) => {
    try {
      return await keyv.get<T>(key(collection, name));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      const text = `the document ${collection}/${name} cannot be read (${cause.message}); "state check" says what to do`;
      throw new StoreUnavailable(text, { cause });
    }
  };
  return {
    get: (collection, name) => run(() => read(collection, name)),
    // Indexed first: a name without a document is skipped, a document without a name would be lost.
    set: (collection, name, value, ttlMs) =>
      run(async () => {
        await index.add(collection, name);
        await keyv.set(key(collection, name), value, ttlMs);
        await versions.changed(collection);
      }),
    delete: (collection, name) =>
      run(async () => {
        await keyv.delete(key(collection, name));
        await index.remove(collection, name);
        await versions.changed(collection);
      }),
    list: <T>(collection: string) =>
      run(async () => {
        const names = await index.names(collection);
        const values = await Promise.all(names.map((name) => read<T>(collection, name)));
        return values.filter((value) => value !== undefined);
      }),
    recentVersion: (collection) => versions.recent(collection),
  };
}
