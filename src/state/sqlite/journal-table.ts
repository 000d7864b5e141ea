import type { DatabaseSync } from 'node:sqlite';
import type { Decision } from '#decision/decision.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { RETENTION } from '#state/retention.ts';
import type { KeptAfterShippingLimits } from '#state/store.ts';
import { toClientIndexKey, toOrderIndexKey, UnindexedEntries } from './unindexed-entries.ts';

export type JournalRow = Readonly<Record<string, unknown>>;

/** The progress of the journal, by positions. All positions are 0 at the beginning. */
export interface JournalProgress {
  /** Entries up to this position are forgotten. Only their decisions are left in the table. */
  readonly forgotten: number;
  /** The archive has the entries up to this position. Their decisions are kept for `hotMs`. */
  readonly shipped: number;
  readonly hotMs: number;
  /** `journal_index` has all entries up to this position. */
  readonly indexed: number;
  /** Of the entries of the batch after `indexed`, the index has those whose key is at most `indexedKey`. */
  readonly indexedKey: number;
}

const NO_PROGRESS: JournalProgress = { forgotten: 0, shipped: 0, hotMs: 0, indexed: 0, indexedKey: -1 };

/** The number of entries that are forgotten, or checked for their age, at once. A step takes about a millisecond. */
const STEP_ENTRIES = 200;

/** The number of index rows that are removed at once. */
const STEP_KEYS = 1000;

/** A partition of the index has the keys of 2^18 positions. */
const PARTITION_BITS = 18;

/** Returns the partition of `journal_index` that has the entry at a position. It is not the partition of a client. */
export function getIndexPartitionOfPosition(position: number): number {
  return Math.floor(position / 2 ** PARTITION_BITS);
}

/** Returns the name of an order in the row of a decision. */
function journalOrder(platform: PlatformName, orderRef: string): string {
  return `${platform}/${orderRef}`;
}

/**
 * Returns SQL that finds all entries of one payer or order. They come from the index, from known positions that are
 * not indexed yet, and from a search of the last entries.
 */
export const createEntrySearchSql = (column: 'client' | 'order_name') => `
  WITH RECURSIVE partitions (partition) AS (
    SELECT max(partition) FROM journal_index
    UNION ALL SELECT partition - 1 FROM partitions WHERE partition > (SELECT min(partition) FROM journal_index)
  ), found (position) AS (
    SELECT position FROM partitions CROSS JOIN journal_index USING (partition) WHERE key = ?1
    UNION SELECT value FROM json_each(?2)
    UNION SELECT position FROM journal WHERE position > ?3 AND ${column} = ?4
  )
  SELECT position, client, seq, order_name, idempotency_key, entry
    FROM found CROSS JOIN journal USING (position) WHERE ${column} = ?4`;

const NEWEST = '(SELECT max(position) FROM journal)';

/**
 * The table of accepted inputs and decisions, in sequence. The row of a decision outlasts its entry. The entry is
 * forgotten when the archive has it, and the row stays as the decision's record. The newest row is emptied and not
 * removed, because SQLite would give its position to the next row.
 */
export class JournalTable {
  readonly #sql: ReturnType<typeof prepareStatements>;
  /** The entries that the index does not have yet. */
  readonly unindexedEntries: UnindexedEntries;
  /** The position up to which this process has checked all rows and removed the decisions past their retention. */
  #looked = 0;

  constructor(db: DatabaseSync) {
    this.#sql = prepareStatements(db);
    this.unindexedEntries = new UnindexedEntries(db);
  }

  /**
   * Appends an entry that is no decision. `at` is the time of writing, in epoch ms. `clientHash` is null for an entry
   * about no client. Returns the entry's position.
   */
  append(at: number, clientHash: string | null, entry: string): number {
    return Number(this.#sql.append.run(at, clientHash, entry).lastInsertRowid);
  }

  /**
   * Appends a decision and its record. `idempotencyKey` is null if the request had none. Returns the entry's
   * position.
   */
  appendDecision(
    at: number,
    { seq, platform, orderRef }: Pick<Decision, 'seq' | 'platform' | 'orderRef'>,
    clientHash: string,
    record: string,
    idempotencyKey: string | null,
  ): number {
    const order = journalOrder(platform, orderRef);
    const added = this.#sql.appendDecision.run(at, clientHash, seq, order, idempotencyKey, record);
    return Number(added.lastInsertRowid);
  }

  /** Returns entries that are not forgotten, the oldest first. */
  entriesAfter(position: number, limit: number): readonly JournalRow[] {
    return this.#sql.entries.all(Math.max(position, this.progress().forgotten), limit);
  }

  /** Returns the position that was given last. Returns 0 before the first. */
  newest(): number {
    return Number(this.#sql.newest.get()?.['position'] ?? 0);
  }

  length(): number {
    const oldest = Number(this.#sql.oldest.get()?.['position'] ?? 1);
    return this.newest() - Math.max(this.progress().forgotten, oldest - 1);
  }

  /** Returns the entries of a client, decisions included, in any sequence. */
  ofClient(clientHash: string): readonly JournalRow[] {
    return this.#sql.ofClient.all(...this.#places(toClientIndexKey(clientHash)), clientHash);
  }

  /** Returns decisions about a client with a number below `beforeSeq`, the newest first. */
  decisionsOfClient(clientHash: string, beforeSeq: number, limit: number): readonly JournalRow[] {
    const places = this.#places(toClientIndexKey(clientHash));
    return this.#sql.decisionsOfClient.all(...places, clientHash, beforeSeq, limit);
  }

  /** Returns decisions about an order, the newest first. */
  decisionsOfOrder(platform: PlatformName, orderRef: string, limit: number): readonly JournalRow[] {
    const order = journalOrder(platform, orderRef);
    return this.#sql.decisionsOfOrder.all(...this.#places(toOrderIndexKey(order)), order, limit);
  }

  /** Returns the parameters of a search, in the form that `createEntrySearchSql` takes. */
  #places(key: number): readonly [key: number, positions: string, readThrough: number] {
    const { positions, readThrough } = this.unindexedEntries.find(key);
    return [key, JSON.stringify(positions), readThrough];
  }

  progress(): JournalProgress {
    const row = this.#sql.progress.get();
    if (row === undefined) return NO_PROGRESS;
    return {
      forgotten: Number(row['forgotten']),
      shipped: Number(row['shipped']),
      hotMs: Number(row['hot_ms']),
      indexed: Number(row['indexed']),
      indexedKey: Number(row['indexed_key']),
    };
  }

  /** Notes progress, within a transaction. */
  noteProgress(changed: Partial<JournalProgress>): void {
    const { forgotten, shipped, hotMs, indexed, indexedKey } = { ...this.progress(), ...changed };
    this.#sql.putProgress.run(forgotten, shipped, hotMs, indexed, indexedKey);
  }

  /** Forgets some shipped entries up to a position. Returns whether there are more of them. */
  forgetShipped(through: number, { journalEntries, decisionsHotMs }: KeptAfterShippingLimits): boolean {
    const last = Math.min(through, this.newest() - journalEntries);
    const end = this.#forget(last);
    if (end !== null) this.noteProgress({ shipped: end, hotMs: decisionsHotMs });
    return end !== null && end < last;
  }

  /** Forgets some of the oldest entries if there are more than `kept`. Returns null if there are not. */
  pushOut(kept: number): { readonly entries: number; from: number; to: number; position: number } | null {
    const { forgotten } = this.progress();
    const last = Math.min(this.newest() - kept, forgotten + STEP_ENTRIES);
    const { entries, from, to } = this.#sql.times.get(forgotten, last) ?? {};
    const position = this.#forget(last);
    if (position === null) return null;
    return { entries: Number(entries), from: Number(from ?? 0), to: Number(to ?? 0), position };
  }

  /**
   * Forgets entries. Returns the position of the last forgotten entry. Returns null if nothing up to `last` is left
   * to be forgotten.
   */
  #forget(last: number): number | null {
    const { forgotten } = this.progress();
    const end = Math.min(last, forgotten + STEP_ENTRIES);
    if (end <= forgotten) return null;
    this.#sql.removeEntries.run(forgotten, end);
    this.#sql.emptyNewestEntry.run(end);
    this.noteProgress({ forgotten: end });
    return end;
  }

  /**
   * Removes decisions past their retention among the oldest ones. Returns whether there may be more. A decision that
   * was dated in the future, because a clock was ahead, is checked again only after the process has started anew.
   */
  removeOld(nowMs: number): boolean {
    const { forgotten, shipped, hotMs } = this.progress();
    const rows = this.#sql.after.all(this.#looked, STEP_ENTRIES);
    for (const { position, at, seq } of rows) {
      const place = Number(position);
      const madeAt = Number(at);
      const untilMs = madeAt + (place <= shipped ? hotMs : RETENTION.decisionMs);
      const isKept = seq !== null && untilMs > nowMs;
      if (isKept && madeAt <= nowMs) return false;
      if (seq === null ? place <= forgotten : !isKept) this.#remove(place, forgotten);
      this.#looked = place;
    }
    return rows.length === STEP_ENTRIES;
  }

  /**
   * Removes a decision. If its entry is not forgotten, the entry stays without its record, so that readers learn of
   * the loss.
   */
  #remove(position: number, forgotten: number): void {
    const isRemoved = position <= forgotten && this.#sql.remove.run(position).changes > 0;
    if (!isRemoved) this.#sql.empty.run(position);
  }

  /**
   * Removes everything about a client, and its keys in the index. Returns the Idempotency-Keys under which the client
   * was answered.
   */
  erase(clientHash: string): readonly string[] {
    const rows = this.ofClient(clientHash);
    for (const { position, order_name: order } of rows) {
      const place = Number(position);
      const keys = [
        toClientIndexKey(clientHash),
        ...(order === null ? [] : [toOrderIndexKey(String(order))]),
      ];
      for (const key of keys) this.#sql.unindex.run(getIndexPartitionOfPosition(place), key, place);
      this.#sql.erase.run(place);
    }
    return rows.flatMap(({ idempotency_key: key }) => (key === null ? [] : [String(key)]));
  }

  /** Removes an entry that is about no client. */
  removeEntry(position: number): void {
    if (this.#sql.remove.run(position).changes === 0) this.#sql.empty.run(position);
  }

  /** Adds an entry to the index, if the entry still exists. */
  index(key: number, position: number): void {
    this.#sql.index.run(getIndexPartitionOfPosition(position), key, position);
  }

  /** Removes some rows of index partitions whose entries are all gone. Returns whether there may be more. */
  removeOldIndex(): boolean {
    const oldest = Number(this.#sql.oldest.get()?.['position'] ?? 0);
    return this.#sql.removeOldIndex.run(getIndexPartitionOfPosition(oldest), STEP_KEYS).changes === STEP_KEYS;
  }
}

function prepareStatements(db: DatabaseSync) {
  const sql = (source: string) => db.prepare(source);
  return {
    append: sql('INSERT INTO journal (at, client, entry) VALUES (?, ?, ?)'),
    appendDecision: sql(
      'INSERT INTO journal (at, client, seq, order_name, idempotency_key, entry) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    entries: sql(
      'SELECT position, at, client, seq, entry FROM journal WHERE position > ? ORDER BY position LIMIT ?',
    ),
    after: sql('SELECT position, at, seq FROM journal WHERE position > ? ORDER BY position LIMIT ?'),
    newest: sql('SELECT max(position) AS position FROM journal'),
    oldest: sql('SELECT min(position) AS position FROM journal'),
    ofClient: sql(createEntrySearchSql('client')),
    decisionsOfClient: sql(`${createEntrySearchSql('client')} AND seq < ?5 ORDER BY position DESC LIMIT ?6`),
    decisionsOfOrder: sql(`${createEntrySearchSql('order_name')} ORDER BY position DESC LIMIT ?5`),
    progress: sql('SELECT forgotten, shipped, hot_ms, indexed, indexed_key FROM journal_progress'),
    putProgress: sql(
      'INSERT OR REPLACE INTO journal_progress (only, forgotten, shipped, hot_ms, indexed, indexed_key) VALUES (1, ?, ?, ?, ?, ?)',
    ),
    times: sql(
      'SELECT count(*) AS entries, min(at) AS "from", max(at) AS "to" FROM journal WHERE position > ? AND position <= ?',
    ),
    removeEntries: sql(
      `DELETE FROM journal WHERE position > ? AND position <= ? AND seq IS NULL AND position < ${NEWEST}`,
    ),
    emptyNewestEntry: sql(
      `UPDATE journal SET client = NULL, entry = '' WHERE position = ${NEWEST} AND position <= ? AND seq IS NULL`,
    ),
    remove: sql(`DELETE FROM journal WHERE position = ? AND position < ${NEWEST}`),
    empty: sql(
      "UPDATE journal SET client = NULL, seq = NULL, order_name = NULL, idempotency_key = NULL, entry = '' WHERE position = ?",
    ),
    /** The erasure has appended its own entry before. */
    erase: sql('DELETE FROM journal WHERE position = ?'),
    index: sql(
      'INSERT OR IGNORE INTO journal_index (partition, key, position) SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM journal WHERE position = ?3)',
    ),
    unindex: sql('DELETE FROM journal_index WHERE partition = ? AND key = ? AND position = ?'),
    removeOldIndex: sql(
      'DELETE FROM journal_index WHERE (partition, key, position) IN (SELECT partition, key, position FROM journal_index WHERE partition < ? LIMIT ?)',
    ),
  };
}
