import { clientNumber, type PlatformName } from '../../client/client-key.ts';
import type { JournalGap, JournalRecord, Placed, ScoreEntry } from '../../state/journal.ts';
import { JournalTail, STEP_ENTRIES_MAX, type TailWatch } from '../../state/journal-tail.ts';
import { searchSteps } from '../../state/paced-steps.ts';
import type { JournalPage, Store } from '../../state/store.ts';
import { UnknownCursor } from '../../state/store-errors.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { ArchivedEvents } from './archived-events.ts';

/** An event of the feed. */
export type FeedRecord = Exclude<Placed<JournalRecord>, ScoreEntry>;

export interface FeedPage {
  /** Oldest first. */
  readonly records: readonly FeedRecord[];
  /** Entries that were lost before the feed had them; before the records or between them. */
  readonly gaps: readonly JournalGap[];
  /** Where to read on; it survives shipping and merging. */
  readonly cursor: string | null;
  /** Nothing is known to follow. */
  readonly ended: boolean;
}

/** How many entries of other platforms and scores are skipped before a page is returned without a record. */
const STEPS_MAX = 50;

/** What happened to a platform's clients, from the archive and the journal as one, oldest first. */
export class EventFeed {
  readonly #store: Store;
  readonly #archive: ArchiveReader | null;
  readonly #archived: ArchivedEvents | null;
  readonly #tail: JournalTail;

  constructor(store: Store, archive: ArchiveReader | null) {
    this.#store = store;
    this.#archive = archive;
    this.#archived = archive && new ArchivedEvents(archive, store);
    this.#tail = new JournalTail(store);
  }

  /** What comes behind a cursor, or from the oldest that is kept; sometimes less than the limit. Throws UnknownCursor. */
  async page(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    this.#store.cursors.read(after);
    try {
      return await this.#read(platform, after, limit);
    } catch (error) {
      if (!(error instanceof UnknownCursor)) throw error;
      return this.#afterRestore(after);
    }
  }

  async #read(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    const told = (await this.#archived?.page(platform, after, limit)) ?? null;
    if (told === null) return this.#fromJournal(platform, after, limit);
    const records = told.records.filter(isTold);
    if (records.length + told.gaps.length > 0) return { ...told, records, ended: false };
    return this.#fromJournal(platform, told.cursor, limit);
  }

  /** The number of a client, by which an erasure names it. */
  readonly numberOf = (platform: PlatformName, clientIdKey: string): string =>
    clientNumber(this.#store.clientKeys.of(platform, clientIdKey).hash);

  /** Begins before a page is read, so that one can wait for what comes after it. */
  watch(platform: PlatformName): TailWatch {
    return this.#tail.watch(platform);
  }

  /** Whoever waits is answered, and nobody waits any more. */
  endWaiting(): void {
    this.#tail.end();
  }

  get hasEnded(): boolean {
    return this.#tail.hasEnded;
  }

  async #fromJournal(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    const most = Math.min(limit, STEP_ENTRIES_MAX);
    const records: FeedRecord[] = [];
    const gaps: JournalGap[] = [];
    let cursor = after;
    for (let step = 0; step < STEPS_MAX && records.length + most <= limit; step += 1) {
      const page = await this.#journalPage(cursor, most);
      records.push(...page.entries.filter(isTold).filter((entry) => entry.platform === platform));
      gaps.push(...gapsOf(page));
      cursor = page.cursor;
      if (page.entries.length === 0 && page.unreadable === undefined)
        return { records, gaps, cursor, ended: true };
    }
    return { records, gaps, cursor, ended: false };
  }

  /**
   * A store that was put back to an earlier moment numbers its entries from there again, so that a cursor from before
   * says nothing about them. Entries that were shipped since may be missing: that is a gap.
   */
  async #afterRestore(after: string | null): Promise<FeedPage> {
    const shipped = await this.#archive?.reading(async ({ cursor, shippedAt }) => ({
      cursor,
      to: shippedAt ?? 0,
    }));
    const { cursor, to } = shipped ?? { cursor: null, to: 0 };
    // Nothing was shipped since then, which takes seconds.
    if (cursor === after) return { records: [], gaps: [], cursor, ended: true };
    return { records: [], gaps: [{ from: to, to, entries: 0 }], cursor, ended: false };
  }

  #journalPage(after: string | null, limit: number): Promise<JournalPage> {
    return searchSteps.run(() => this.#store.readJournal(after, limit));
  }
}

function isTold(record: Placed<JournalRecord>): record is FeedRecord {
  return record.kind !== 'score';
}

/** An entry that cannot be read is missing, too; nobody can tell whose it was. */
function gapsOf({ gap, unreadable = [], entries }: JournalPage): readonly JournalGap[] {
  const near = entries[0]?.at ?? 0;
  const missing = unreadable.map(({ place: { ms } }) => ({ from: ms || near, to: ms || near, entries: 1 }));
  return [...(gap === null ? [] : [gap]), ...missing];
}
