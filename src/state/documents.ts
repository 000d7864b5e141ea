import { randomUUID } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import Keyv, { type KeyvOptions } from 'keyv';
import { type RunCall, StoreUnavailable } from './store-errors.ts';

/** Notes who last accepted the store as it is, after it was emptied or an older backup was put back. */
export const ACCEPTED_REGISTER = 'accepted';

/** Collections of documents and registers that every node follows: it reads them again only when their version has changed. */
const FOLLOWED: readonly string[] = ['access-keys', 'rollout', ACCEPTED_REGISTER];

/** The versions of everything that is followed; a change writes another one. */
export interface VersionTable {
  /** By name, without those that never changed. */
  read(): Promise<Readonly<Record<string, string>>>;
  write(name: string, version: string): Promise<void>;
}

interface SeenVersion {
  readonly version: string;
  /** The version was current at this moment of the process's monotonic clock, ms, or later. */
  readonly asOfMs: number;
}

/** A question after this moment causes a new read. */
const REREAD_MS = 400;

/** A version that was read longer ago does not count: a change reaches every process within this time. */
const VALID_MS = 800;

interface Known {
  readonly versions: Readonly<Record<string, string>>;
  readonly askedMs: number;
}

/**
 * Follows what all nodes read again and again, by versions: one small read serves everything and everybody in the
 * process.
 */
export class Versions {
  readonly #table: VersionTable;
  #known: Known | null = null;
  #reading: Promise<Known> | null = null;
  /** When this process itself changed something. */
  #changedMs = Number.NEGATIVE_INFINITY;

  constructor(table: VersionTable) {
    this.#table = table;
  }

  /**
   * The version that was read a moment ago; null when there is none. It never waits, but starts to read an old one
   * again.
   */
  recent(name: string): SeenVersion | null {
    const fresh = this.#within(REREAD_MS);
    if (fresh === null) this.#read().catch(() => {});
    const known = fresh ?? this.#within(VALID_MS);
    return known === null ? null : seen(known, name);
  }

  /** The version, read again unless that was done a moment ago. */
  async current(name: string): Promise<SeenVersion> {
    const known = this.#within(REREAD_MS);
    if (known !== null) return seen(known, name);
    // One that is under way may have been asked before a change of this process.
    await this.#reading?.catch(() => {});
    return seen(await this.#read(), name);
  }

  /** Informs everybody who follows it, if anybody does, that this has changed. */
  async changed(name: string): Promise<void> {
    if (!FOLLOWED.includes(name)) return;
    await this.#table.write(name, randomUUID());
    this.#changedMs = performance.now();
  }

  #within(ageMs: number): Known | null {
    const known = this.#known;
    if (known === null || known.askedMs < this.#changedMs) return null;
    return performance.now() - known.askedMs <= ageMs ? known : null;
  }

  #read(): Promise<Known> {
    const askedMs = performance.now();
    this.#reading ??= this.#table
      .read()
      .then((versions) => {
        this.#known = { versions, askedMs };
        return this.#known;
      })
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }
}

function seen({ versions, askedMs }: Known, name: string): SeenVersion {
  return { version: versions[name] ?? '', asOfMs: askedMs };
}

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
  /**
   * The version of a followed collection or register, which every change renews. Null when it was not read a moment ago; it never
   * waits.
   */
  recentVersion(collection: string): SeenVersion | null;
}

/** The names in a collection. Keyv could only walk over all keys of the store. */
export interface DocumentIndex {
  add(collection: string, name: string): Promise<void>;
  remove(collection: string, name: string): Promise<void>;
  names(collection: string): Promise<readonly string[]>;
}

/**
 * A Keyv whose documents expire by the store's clock alone. Keyv would note the end of each by the writer's
 * clock and delete by the reader's, so that a node whose clock is ahead deletes what all others still need.
 */
export function createDocumentsKeyv(options: Pick<KeyvOptions, 'store' | 'namespace'>): Keyv {
  return new Keyv({
    ...options,
    useKeyPrefix: false,
    throwOnErrors: true,
    serialize: ({ value }) => JSON.stringify({ value }),
    deserialize: (text) => ({ value: JSON.parse(text).value, expires: undefined }),
  });
}

const READ_AT_ONCE = 200;

/** Reads about many items, some at once. SQLite answers at once, and nobody else would be served before the last. */
export async function mapInBatches<From, To>(
  items: readonly From[],
  read: (item: From) => Promise<To>,
): Promise<readonly To[]> {
  const all: To[] = [];
  for (let from = 0; from < items.length; from += READ_AT_ONCE) {
    if (from > 0) await othersTurn();
    all.push(...(await Promise.all(items.slice(from, from + READ_AT_ONCE).map(read))));
  }
  return all;
}

/** Documents in a Keyv that was made by `createDocumentsKeyv`. */
export function createKeyvDocuments(
  keyv: Keyv,
  index: DocumentIndex,
  run: RunCall,
  versions: Versions,
): Documents {
  const key = (collection: string, name: string) => `document:${collection}/${name}`;
  const get = async <T>(collection: string, name: string) => {
    try {
      return await keyv.get<T>(key(collection, name));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      const text = `the document ${collection}/${name} cannot be read (${cause.message}); "state check" says what to do`;
      throw new StoreUnavailable(text, { cause });
    }
  };
  return {
    get: (collection, name) => run(() => get(collection, name)),
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
        const values = await mapInBatches(await index.names(collection), (name) => get<T>(collection, name));
        return values.filter((value) => value !== undefined);
      }),
    recentVersion: (collection) => versions.recent(collection),
  };
}
