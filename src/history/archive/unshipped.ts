import type { JournalPage, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import type { ArchiveGap, ArchiveState } from './archive-log.ts';

/** The cursor of an archive that another store shipped to, whose entries were numbered otherwise: no store knows it. */
export const ADOPTED_CURSOR = 'adopted';

/** What a page of the journal lacks: entries that were lost, and those that cannot be read; nobody knows whose they were. */
export function listGaps({ gap, unreadable = [], entries }: JournalPage): readonly ArchiveGap[] {
  const near = entries[0]?.at ?? 0;
  const missing = unreadable.map(({ place: { ms } }) => ({ from: ms || near, to: ms || near, entries: 1 }));
  return [...(gap === null ? [] : [gap]), ...missing];
}

/** The first page of the journal that the archive does not have, of at most `limit` entries. */
export async function readUnshippedPage(
  store: Pick<Store, 'readJournal'>,
  state: ArchiveState,
  limit: number,
): Promise<JournalPage> {
  try {
    return await store.readJournal(state.cursor, limit);
  } catch (error) {
    if (!(error instanceof UnknownCursor)) throw error;
    return findRestoredPage(store, state, limit);
  }
}

/**
 * A store that was restored to an earlier moment numbers its entries from there again, and a new one from the first,
 * so that the archive's cursor says nothing about them. Entries newer than the whole archive came since.
 */
export async function findRestoredPage(
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
