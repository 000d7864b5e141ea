import type { JournalTable } from './journal-table.ts';
import type { SqliteFileAccess } from './open-file.ts';
import type { IndexedEntry, UnindexedEntries } from './unindexed-entries.ts';

interface IndexingSizes {
  /**
   * The number of entries whose keys are sorted together. Before they are sorted, a search finds the entries by their
   * keys in memory.
   */
  readonly batchEntries: number;
  /** The numbers of entries that are read, and of keys that are written, at once. A step takes about a millisecond. */
  readonly stepEntries: number;
  readonly stepKeys: number;
}

const SIZES: IndexingSizes = { batchEntries: 8192, stepEntries: 200, stepKeys: 1000 };

/** The sorted keys of the entries after a position. */
interface Batch {
  readonly after: number;
  readonly last: number;
  readonly entries: readonly IndexedEntry[];
}

/**
 * Writes the journal's index in sorted batches. The keys are random. If they were written one by one, each would
 * write a page of its own. A sorted batch writes every page of a partition once.
 */
export class JournalIndexWriter {
  readonly #table: JournalTable;
  readonly #newest: UnindexedEntries;
  readonly #readPage: SqliteFileAccess['readPage'];
  readonly #sizes: IndexingSizes;
  #batch: Batch | null = null;
  #isReading = false;

  constructor(table: JournalTable, readPage: SqliteFileAccess['readPage'], sizes = SIZES) {
    this.#table = table;
    this.#newest = table.unindexedEntries;
    this.#readPage = readPage;
    this.#sizes = sizes;
  }

  /**
   * Reads the new entries, and sorts the next batch if there are enough. Entries that cannot be read are tried again
   * the next time.
   */
  async read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (await this.#readPage(() => this.#newest.read(this.#sizes.stepEntries)));
      this.#sortBatch();
    } catch {
      this.#batch = null;
    } finally {
      this.#isReading = false;
    }
  }

  #sortBatch(): void {
    const { indexed: after } = this.#table.progress();
    const last = after + this.#sizes.batchEntries;
    if (this.#batch?.after === after || this.#newest.readThrough < last) return;
    this.#batch = { after, last, entries: this.#newest.sortUpTo(last) };
  }

  /** Writes a part of the batch within a transaction. Returns whether there may be more. */
  write(): boolean {
    const batch = this.#batch;
    const { indexed, indexedKey } = this.#table.progress();
    if (batch === null || batch.after !== indexed) return false;
    const { entries } = batch;
    const begin = entries.findLastIndex(({ key }) => key <= indexedKey) + 1;
    const lastKey = entries[begin + this.#sizes.stepKeys - 1]?.key ?? Number.POSITIVE_INFINITY;
    // The progress is noted by key, so all entries with the last key belong to this step.
    for (let place = begin; place < entries.length; place++) {
      const entry = entries[place];
      if (entry === undefined || entry.key > lastKey) break;
      this.#table.index(entry.key, entry.position);
    }
    const isLast = (entries.at(-1)?.key ?? 0) <= lastKey;
    this.#table.noteProgress(isLast ? { indexed: batch.last, indexedKey: -1 } : { indexedKey: lastKey });
    return true;
  }
}
