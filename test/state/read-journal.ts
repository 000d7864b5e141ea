import { expect } from 'chai';
import type { JournalRecord, Placed } from '../../src/state/journal.ts';
import type { Store } from '../../src/state/store.ts';

/** An entry as it was written, without the place that the store gave it. */
export function withoutPlace({ place: _, ...entry }: Placed<JournalRecord>): JournalRecord {
  return entry;
}

/** Everything after a cursor, in pages. */
export async function readAll(store: Store, after: string | null, pageLength: number) {
  const entries: JournalRecord[] = [];
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
