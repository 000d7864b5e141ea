import { hash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** An entry of the journal under one of its keys: the key of its payer or of its order. */
export interface IndexedEntry {
  readonly key: number;
  readonly position: number;
}

/**
 * Returns the key of a payer in the index: 48 bits of its hash. A search that finds an entry by this key compares the
 * whole hash.
 */
export function toClientIndexKey(clientHash: string): number {
  return Buffer.from(clientHash.slice(0, 8), 'base64url').readUIntBE(0, 6);
}

/** Returns the key of an order, from its name in the row of a decision. */
export function toOrderIndexKey(order: string): number {
  return Number.parseInt(hash('sha256', order, 'hex').slice(0, 12), 16);
}

/**
 * The most new entries whose keys a search reads, which takes about a tenth of a millisecond. A search looks for the
 * rest in the table.
 */
export const SEARCH_READS_MAX = 64;

/** Where a search finds the entries that are not indexed: at these positions, and among all after `readThrough`. */
export interface UnindexedPositions {
  readonly positions: readonly number[];
  readonly readThrough: number;
}

/**
 * The keys of the entries that the index does not have yet, in memory. Searches and background work read them from
 * the file, each entry once, so it does not matter which process wrote an entry. An erased entry stays here by its
 * key and position until its batch is indexed, but a search finds no row for it.
 */
export class UnindexedEntries {
  readonly #db: DatabaseSync;
  readonly #progress: StatementSync;
  readonly #names: StatementSync;
  #indexed = 0;
  #readThrough = 0;
  #entries: IndexedEntry[] = [];
  #positions = new Map<number, number[]>();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#progress = db.prepare('SELECT indexed FROM journal_progress');
    this.#names = db.prepare(
      'SELECT position, client, order_name FROM journal WHERE position > ? ORDER BY position LIMIT ?',
    );
  }

  /** The last position that was read. */
  get readThrough(): number {
    return this.#readThrough;
  }

  find(key: number): UnindexedPositions {
    // Nothing is read within a transaction, because a rollback would give the positions to other entries.
    if (this.#db.isTransaction) this.#forgetIndexed();
    else this.read(SEARCH_READS_MAX);
    return { positions: this.#positions.get(key) ?? [], readThrough: this.#readThrough };
  }

  /**
   * Reads at most `limit` of the entries that are new since the last call, outside of any transaction. Returns
   * whether there may be more.
   */
  read(limit: number): boolean {
    this.#forgetIndexed();
    const rows = this.#names.all(this.#readThrough, limit);
    for (const { position, client, order_name: order } of rows) {
      const place = Number(position);
      if (client !== null) this.#add({ key: toClientIndexKey(String(client)), position: place });
      if (order !== null) this.#add({ key: toOrderIndexKey(String(order)), position: place });
      this.#readThrough = place;
    }
    return rows.length === limit;
  }

  /** Returns the keys and positions of the entries up to a position that are not indexed, sorted. */
  sortUpTo(last: number): readonly IndexedEntry[] {
    this.#forgetIndexed();
    return this.#entries
      .filter(({ position }) => position <= last)
      .sort((a, b) => a.key - b.key || a.position - b.position);
  }

  #add(entry: IndexedEntry): void {
    this.#entries.push(entry);
    const positions = this.#positions.get(entry.key);
    if (positions === undefined) this.#positions.set(entry.key, [entry.position]);
    else positions.push(entry.position);
  }

  /** Forgets the entries that are indexed, whichever process indexed them. */
  #forgetIndexed(): void {
    const indexed = Number(this.#progress.get()?.['indexed'] ?? 0);
    if (indexed === this.#indexed) return;
    this.#indexed = indexed;
    this.#readThrough = Math.max(this.#readThrough, indexed);
    const left = this.#entries.filter(({ position }) => position > indexed);
    this.#entries = [];
    this.#positions = new Map();
    for (const entry of left) this.#add(entry);
  }
}
