import type Keyv from 'keyv';

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
}

/** The names in a collection. Keyv has no such thing but a walk over all keys of the store. */
export interface DocumentIndex {
  add(collection: string, name: string): Promise<void>;
  remove(collection: string, name: string): Promise<void>;
  names(collection: string): Promise<readonly string[]>;
}

/** Runs one call on the store within its time limit; throws StoreUnavailable when it fails. */
export type Guard = <T>(call: () => Promise<T>) => Promise<T>;

/** Documents in a Keyv that was made with both throw flags on and the key prefix off. */
export function keyvDocuments(keyv: Keyv, index: DocumentIndex, guard: Guard): Documents {
  const key = (collection: string, name: string) => `document:${collection}/${name}`;
  return {
    get: (collection, name) => guard(() => keyv.get(key(collection, name))),
    // Indexed first: a name without a document is skipped, a document without a name would be lost.
    set: (collection, name, value, ttlMs) =>
      guard(async () => {
        await index.add(collection, name);
        await keyv.set(key(collection, name), value, ttlMs);
      }),
    delete: (collection, name) =>
      guard(async () => {
        await keyv.delete(key(collection, name));
        await index.remove(collection, name);
      }),
    list: <T>(collection: string) =>
      guard(async () => {
        const names = await index.names(collection);
        const values = await Promise.all(names.map((name) => keyv.get<T>(key(collection, name))));
        return values.filter((value) => value !== undefined);
      }),
  };
}
