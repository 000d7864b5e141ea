import type { Archive, ArchiveTotals } from '#history/archive/archive.ts';
import type { Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';

type Journal = Pick<Store, 'readJournal' | 'journalLength'>;

/** The figures about the archive that each node can measure, whichever node ships to the archive. */
export class ArchiveFigures {
  readonly #archive: Archive;
  readonly #journal: Journal;
  readonly #clock: () => number;
  #contents: ArchiveTotals = { segments: 0, bytes: 0, gapEntries: 0, setAsideEntries: 0 };
  #journalEntries = 0;
  #completeTo: number;

  /** `clock` returns the store's time in epoch ms. */
  constructor(archive: Archive, journal: Journal, clock: () => number) {
    this.#archive = archive;
    this.#journal = journal;
    this.#clock = clock;
    this.#completeTo = clock();
  }

  contents(): ArchiveTotals {
    try {
      this.#contents = this.#archive.computeTotals();
    } catch {
      // The last known contents are returned. While the folder cannot be read, the archive's lag grows.
    }
    return this.#contents;
  }

  /**
   * Returns the number of entries in the journal, shipped or not. Returns the last known number if the store cannot
   * be reached.
   */
  async journalEntries(): Promise<number> {
    try {
      this.#journalEntries = await this.#journal.journalLength();
    } catch {
      // Other metrics show that the store cannot be reached.
    }
    return this.#journalEntries;
  }

  /**
   * Returns how long, in ms, the oldest unarchived entry has waited. While this is not known, the figure grows with
   * time.
   */
  async lagMs(): Promise<number> {
    try {
      this.#completeTo = (await this.#unshippedSince()) ?? this.#clock();
    } catch {
      // The store or the folder cannot be read.
    }
    return Math.max(0, this.#clock() - this.#completeTo);
  }

  /** Returns the time of the oldest unarchived entry, in epoch ms. Returns null if everything is archived. */
  async #unshippedSince(): Promise<number | null> {
    const { cursor, shippedAt } = await this.#archive.refresh();
    try {
      const { entries } = await this.#journal.readJournal(cursor, 1);
      return entries[0]?.at ?? null;
    } catch (error) {
      // The store was restored to an earlier moment, and nothing was shipped since.
      if (error instanceof UnknownCursor) return shippedAt;
      throw error;
    }
  }
}
