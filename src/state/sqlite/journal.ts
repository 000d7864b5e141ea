import { readJournalText } from '../journal-text.ts';
import { type JournalGap, type JournalPage, RETENTION, UnknownCursor } from '../store.ts';
import type { Statements } from './statements.ts';

/** The position that a cursor stands for; 0 before the first entry. Throws UnknownCursor. */
export function positionOf(cursor: string | null): number {
  if (cursor === null) return 0;
  if (/^\d{1,16}$/.test(cursor)) return Number(cursor);
  throw new UnknownCursor();
}

export function readJournalPage(sql: Statements, after: string | null, limit: number): JournalPage {
  const position = positionOf(after);
  const rows = sql.journal.all(position, limit);
  const last = rows.at(-1)?.['position'];
  return {
    entries: rows.map(({ entry }) => readJournalText(String(entry))),
    cursor: last === undefined ? after : String(last),
    // Whoever starts with the oldest entry that is kept misses nothing.
    gap: after === null ? null : gapAfter(sql, position),
  };
}

function gapAfter(sql: Statements, position: number): JournalGap | null {
  const row = sql.journalLoss.get(position);
  if (row === undefined) return null;
  return { entries: Number(row['entries']), from: Number(row['from_ms']), to: Number(row['to_ms']) };
}

/** Forgets entries that were shipped, some at a time; gives how many. */
export function trimShipped(sql: Statements, through: number, kept: number, most: number): number {
  const rows = sql.trimJournal.all(through, kept, most);
  sql.forgetJournalLoss.run(through);
  return rows.length;
}

/** Pushes out what is more than the journal may hold, and notes that it was lost; gives how many entries. */
export function trimOverflow(sql: Statements, most: number): number {
  const rows = sql.trimJournal.all(Number.MAX_SAFE_INTEGER, RETENTION.journalEntries, most);
  if (rows.length === 0) return 0;
  const times = rows.map(({ entry }) => readJournalText(String(entry)).at);
  const from = times.reduce((a, b) => Math.min(a, b));
  const to = times.reduce((a, b) => Math.max(a, b));
  const position = rows.reduce((most, row) => Math.max(most, Number(row['position'])), 0);
  sql.addJournalLoss.run(rows.length, from, to, position);
  return rows.length;
}
