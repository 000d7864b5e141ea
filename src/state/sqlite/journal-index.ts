import { type JournalTable, toClientIndexKey, toOrderIndexKey } from './journal-table.ts';
import type { SqliteFile } from './open-file.ts';

interface IndexingSizes {
  /** Entries whose keys are sorted together. Until they are, a search looks through them. */
  readonly batchEntries: number;
  /** Entries that are read, and keys that are written, at once: a millisecond or so. */
  readonly stepEntries: number;
  readonly stepKeys: number;
}

const SIZES: IndexingSizes = { batchEntries: 8192, stepEntries: 200, stepKeys: 1000 };

interface IndexedEntry {
  readonly key: number;
  readonly position: number;
}

/** The keys of the entries after a position, sorted. */
interface Batch {
  readonly after: number;
  readonly last: number;
  readonly entries: readonly IndexedEntry[];
}

/**
 * Brings the index of the journal up in sorted batches. The keys are random: put in one by one, each would write a page of its
 * own, and a sorted batch writes every page of a partition once.
 */
export class JournalIndexing {
  readonly #table: JournalTable;
  readonly #readPage: SqliteFile['readPage'];
  readonly #sizes: IndexingSizes;
  #batch: Batch | null = null;
  #isReading = false;

  constructor(table: JournalTable, readPage: SqliteFile['readPage'], sizes = SIZES) {
    this.#table = table;
    this.#readPage = readPage;
    this.#sizes = sizes;
  }

  /** Reads the next batch, once there are enough new entries for one. What cannot be read is tried again the next time. */
  async read(): Promise<void> {
    const { indexed } = this.#table.progress();
    const last = indexed + this.#sizes.batchEntries;
    if (this.#isReading || this.#batch?.after === indexed || this.#table.newest() < last) return;
    this.#isReading = true;
    try {
      this.#batch = { after: indexed, last, entries: await this.#sortedEntries(indexed, last) };
    } catch {
      this.#batch = null;
    } finally {
      this.#isReading = false;
    }
  }

  /** Outside of any transaction: one that is rolled back gives its positions to other entries. */
  async #sortedEntries(after: number, last: number): Promise<readonly IndexedEntry[]> {
    const entries: IndexedEntry[] = [];
    for (let from = after; from < last; ) {
      const place = from;
      const rows = await this.#readPage(() => this.#table.namesBetween(place, last, this.#sizes.stepEntries));
      for (const row of rows) {
        const position = Number(row['position']);
        if (row['client'] !== null) entries.push({ key: toClientIndexKey(String(row['client'])), position });
        if (row['order_name'] !== null)
          entries.push({ key: toOrderIndexKey(String(row['order_name'])), position });
      }
      from = rows.length < this.#sizes.stepEntries ? last : Number(rows.at(-1)?.['position']);
    }
    return entries.sort((a, b) => a.key - b.key || a.position - b.position);
  }

  /** Writes some of the batch that was read, within a transaction; whether there may be more. */
  write(): boolean {
    const batch = this.#batch;
    const { indexed, indexedKey } = this.#table.progress();
    if (batch === null || batch.after !== indexed) return false;
    const left = batch.entries.slice(batch.entries.findLastIndex(({ key }) => key <= indexedKey) + 1);
    const lastKey = left[this.#sizes.stepKeys - 1]?.key ?? Number.POSITIVE_INFINITY;
    // The progress is noted by key, so all entries with the last key belong to it.
    for (const { key, position } of left) {
      if (key > lastKey) break;
      this.#table.index(key, position);
    }
    const isLast = (left.at(-1)?.key ?? 0) <= lastKey;
    this.#table.noteProgress(isLast ? { indexed: batch.last, indexedKey: -1 } : { indexedKey: lastKey });
    return true;
  }
}
