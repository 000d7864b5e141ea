import { randomUUID } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import Keyv, { type KeyvOptions } from 'keyv';
import { type RunCall, StoreUnavailable } from './store-errors.ts';

/**
 * The register that says who last accepted the contents of the store, after it was emptied or an older backup was put
 * back.
 */
export const STORE_ACCEPTED_REGISTER = 'accepted';

/** Collections and registers that every node follows. A node reads them again only if their version has changed. */
const FOLLOWED: readonly string[] = ['access-keys', 'rollout', STORE_ACCEPTED_REGISTER];

/** The versions of all followed collections and registers. Each change writes a new version. */
export interface VersionTable {
  /** Reads the versions by name. Names that never changed are missing. */
  read(): Promise<Readonly<Record<string, string>>>;
  write(name: string, version: string): Promise<void>;
}

interface SeenVersion {
  readonly version: string;
  /** The latest moment at which the version is known to have been current, ms of the process's monotonic clock. */
  readonly asOfMs: number;
}

/** A version that was read longer ago than this is read again when a caller asks for it. */
const REREAD_MS = 400;

/** A version that was read longer ago than this is not used, so a change reaches every process within this time. */
const VALID_MS = 800;

interface Known {
  readonly versions: Readonly<Record<string, string>>;
  readonly askedMs: number;
}

/**
 * Tells by versions when data that all nodes keep in memory has changed. One small read serves all callers in the
 * process.
 */
export class FollowedVersions {
  readonly #table: VersionTable;
  #known: Known | null = null;
  #reading: Promise<Known> | null = null;
  /** When this process last changed something itself. */
  #changedMs = Number.NEGATIVE_INFINITY;

  constructor(table: VersionTable) {
    this.#table = table;
  }

  /**
   * Returns the version if it was read recently. Returns null otherwise. The call never waits. If the version is old,
   * it starts a new read.
   */
  findRecent(name: string): SeenVersion | null {
    const fresh = this.#findKnownWithin(REREAD_MS);
    if (fresh === null) this.#read().catch(() => {});
    const known = fresh ?? this.#findKnownWithin(VALID_MS);
    return known === null ? null : toSeenVersion(known, name);
  }

  /** Returns the version. Reads it first, unless a read has just ended. */
  async readCurrent(name: string): Promise<SeenVersion> {
    const known = this.#findKnownWithin(REREAD_MS);
    if (known !== null) return toSeenVersion(known, name);
    // A read that is under way may have begun before a change of this process.
    await this.#reading?.catch(() => {});
    return toSeenVersion(await this.#read(), name);
  }

  /** Writes a new version, so that the nodes which follow this name read it again. */
  async writeNewVersion(name: string): Promise<void> {
    if (!FOLLOWED.includes(name)) return;
    await this.#table.write(name, randomUUID());
    this.#changedMs = performance.now();
  }

  #findKnownWithin(ageMs: number): Known | null {
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

function toSeenVersion({ versions, askedMs }: Known, name: string): SeenVersion {
  return { version: versions[name] ?? '', asOfMs: askedMs };
}

/**
 * Small JSON documents in named collections, stored by Keyv. Errors are thrown, so that a failed read never looks
 * like a missing document.
 */
export interface Documents {
  get<T>(collection: string, name: string): Promise<T | undefined>;
  /** Stores a document. If `ttlMs` is missing, the document is kept until it is deleted. */
  set<T>(collection: string, name: string, value: T, ttlMs?: number): Promise<void>;
  delete(collection: string, name: string): Promise<void>;
  list<T>(collection: string): Promise<readonly T[]>;
  /**
   * Returns the version of a followed collection or register. Every change makes a new version. Returns null if the
   * version was not read recently. The call never waits.
   */
  findRecentVersion(collection: string): SeenVersion | null;
}

/** The index of the names in each collection. Without it, Keyv could only read all keys of the store. */
export interface DocumentIndex {
  add(collection: string, name: string): Promise<void>;
  remove(collection: string, name: string): Promise<void>;
  names(collection: string): Promise<readonly string[]>;
}

/**
 * Creates a Keyv whose documents expire by the store's clock alone. Keyv itself would compute the time of expiry by
 * the writer's clock, and delete by the reader's clock. A node whose clock is ahead would then delete documents that
 * all others still need.
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

/**
 * Maps many items in batches, each batch in parallel. Between batches other requests get their turn. SQLite answers
 * immediately, so without batches nobody else would be served before the last item.
 */
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

/** Stores documents in a Keyv that `createDocumentsKeyv` made. */
export function createKeyvDocuments(
  keyv: Keyv,
  index: DocumentIndex,
  run: RunCall,
  versions: FollowedVersions,
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
    // The index is written first. A name without a document is skipped, but a document without a name would be lost.
    set: (collection, name, value, ttlMs) =>
      run(async () => {
        await index.add(collection, name);
        await keyv.set(key(collection, name), value, ttlMs);
        await versions.writeNewVersion(collection);
      }),
    delete: (collection, name) =>
      run(async () => {
        await keyv.delete(key(collection, name));
        await index.remove(collection, name);
        await versions.writeNewVersion(collection);
      }),
    list: <T>(collection: string) =>
      run(async () => {
        const values = await mapInBatches(await index.names(collection), (name) => get<T>(collection, name));
        return values.filter((value) => value !== undefined);
      }),
    findRecentVersion: (collection) => versions.findRecent(collection),
  };
}
