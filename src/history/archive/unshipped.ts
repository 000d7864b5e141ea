import type { JournalPage, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import type { ArchiveGap, ArchiveState } from './archive-log.ts';

/**
 * The cursor that an archive gets if it was filled from another store than the present one. The other store numbered
 * its entries differently, so its own cursor has no meaning here. No store knows this cursor.
 */
export const ADOPTED_ARCHIVE_CURSOR = 'adopted';

/**
 * Lists the gaps of a page of the journal: entries that were lost, and entries that cannot be read. The clients of
 * these entries are not known.
 */
export function listPageGaps({ gap, unreadable = [], entries }: JournalPage): readonly ArchiveGap[] {
  const near = entries[0]?.at ?? 0;
  const missing = unreadable.map(({ place: { ms } }) => ({ from: ms || near, to: ms || near, entries: 1 }));
  return [...(gap === null ? [] : [gap]), ...missing];
}

/** Reads the first page of the journal that the archive does not have, with at most `limit` entries. */
export async function readUnshippedPage(
  store: Pick<Store, 'readJournal'>,
  state: ArchiveState,
  limit: number,
): Promise<JournalPage> {
  try {
    return await store.readJournal(state.cursor, limit);
  } catch (error) {
    if (!(error instanceof UnknownCursor)) throw error;
    return readPageNewerThanArchive(store, state, limit);
  }
}

/**
 * Finds the first page with entries that are newer than the whole archive. A store that was restored to an earlier
 * moment gives numbers that it has given before, and a new store begins with the first number. Therefore the
 * archive's cursor has no meaning in this store.
 */
export async function readPageNewerThanArchive(
  store: Pick<Store, 'readJournal'>,
  { segments }: ArchiveState,
  limit: number,
): Promise<JournalPage> {
  const archivedTo = [...segments.values()].reduce((latest, { to }) => Math.max(latest, to), 0);
  for (let after: string | null = null; ; ) {
    const page: JournalPage = await store.readJournal(after, limit);
    const entries = page.entries.filter(({ at }) => at > archivedTo);
    if (entries.length > 0 || page.cursor === after) return { ...page, entries };
    after = page.cursor;
  }
}
