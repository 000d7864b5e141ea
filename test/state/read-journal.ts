import { expect } from 'chai';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { AnyJournalEntry, JournalEntry, PlacedEntry } from '#state/journal.ts';
import type { Store } from '#state/store.ts';

/** An entry as it was written, without the place that the store gave it. */
export function withoutPlace({ place: _, ...entry }: PlacedEntry<AnyJournalEntry>): AnyJournalEntry {
  return entry;
}

/** Everything after a cursor, in pages. */
export async function readAll(store: Store, after: string | null, pageLength: number) {
  const entries: AnyJournalEntry[] = [];
  let cursor = after;
  for (;;) {
    const page = await store.readJournal(cursor, pageLength);
    if (page.entries.length === 0) return { entries, cursor };
    expect(page.entries.length).to.be.at.most(pageLength);
    entries.push(...page.entries.map(withoutPlace));
    cursor = page.cursor;
  }
}

export async function endOfJournal(store: Store): Promise<string | null> {
  return (await readAll(store, null, 1000)).cursor;
}

/** What the journal holds about a client, oldest first. */
export async function entriesAbout(
  store: Store,
  { platform, clientIdKey }: ClientKey,
): Promise<readonly JournalEntry[]> {
  const { entries } = await readAll(store, null, 1000);
  return entries
    .filter((entry) => entry.kind !== 'erasure')
    .filter((entry) => entry.platform === platform && entry.clientIdKey === clientIdKey);
}
