import type { DatabaseSync } from 'node:sqlite';
import { timeBound } from '../../decision/decision-filter.ts';
import { findInPages, PAGE_DECISIONS_MAX } from '../decision-search.ts';
import {
  type EntryPlace,
  gapWith,
  type JournalGap,
  NUMBER_CURSORS,
  parseJournalText,
  type ReadEntry,
  readOr,
  unreadableAmong,
  verdictEntry,
} from '../journal.ts';
import { searchSteps } from '../paced-steps.ts';
import { RETENTION } from '../retention.ts';
import type { JournalPage, KeptAfterShipping, Store } from '../store.ts';
import { type RunCall, UnknownCursor } from '../store-errors.ts';
import type { RecordReader, StoredRecord } from '../stored-parts.ts';
import type { Statements } from './client-rows.ts';

/** The position that a cursor stands for; 0 before the first entry. Throws UnknownCursor. */
export function positionOf(cursor: string | null): number {
  return NUMBER_CURSORS.read(cursor)[0]?.seq ?? 0;
}

/** Entries after a cursor; throws UnknownCursor. */
export async function readJournalPage(
  sql: Statements,
  reader: RecordReader,
  after: string | null,
  limit: number,
): Promise<JournalPage> {
  const position = positionOf(after);
  const rows = sql.journal.all(position, limit);
  // A cursor from before the file was restored to an earlier moment: entries since then have numbers below
  // it.
  if (rows.length === 0 && position > Number(sql.journalEnd.get()?.['seq'] ?? 0)) throw new UnknownCursor();
  const last = rows.at(-1)?.['position'];
  // A reader that starts with the oldest kept entry misses nothing.
  const pushedOut = after === null ? null : gapAfter(sql, position);
  const all = await wholeEntries(reader, rows);
  return {
    entries: all.filter((entry) => entry.kind !== 'lost' && entry.kind !== 'unreadable'),
    ...unreadableAmong(all),
    cursor: last === undefined ? after : String(last),
    gap: gapWith(
      all.filter((entry) => entry.kind === 'lost'),
      pushedOut,
    ),
  };
}

/** The place of the entry at a position. */
export function placeOf(position: unknown): EntryPlace {
  return { partition: 0, ms: 0, seq: Number(position) };
}

/** The entries in rows of the journal, with the records of their verdicts. */
export async function wholeEntries(
  reader: RecordReader,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<readonly ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for (const row of rows) {
    const place = placeOf(row['position']);
    const text = String(row['entry']);
    const stored = { place, text, clientHash: String(row['client'] ?? '') };
    entries.push(
      await readOr(stored, async (): Promise<ReadEntry> => {
        const parsed = parseJournalText(text);
        if (!('seq' in parsed)) return { ...parsed, place };
        if (row['record'] === null) return { kind: 'lost', at: parsed.at };
        return { ...verdictEntry(await reader.decision(storedRecord(row))), place };
      }),
    );
  }
  return entries;
}

function gapAfter(sql: Statements, position: number): JournalGap | null {
  const row = sql.journalLoss.get(position);
  if (row === undefined) return null;
  return { entries: Number(row['entries']), from: Number(row['from_ms']), to: Number(row['to_ms']) };
}

/** Forgets entries that were shipped, some at a time; returns how many. */
export function trimShipped(
  sql: Statements,
  through: number,
  { journalEntries, decisionsHotMs }: KeptAfterShipping,
  most: number,
  nowMs: number,
): number {
  const rows = sql.trimJournal.all(through, journalEntries, most);
  const shorterMs = RETENTION.decisionMs - decisionsHotMs;
  for (const { position } of rows)
    sql.shortenDecision.run(shorterMs, Number(position), nowMs + decisionsHotMs);
  sql.forgetJournalLoss.run(through);
  // The archive does not name them any more, so nothing here may lead to an erased client.
  sql.forgetErasureEntries.run(through);
  sql.forgetErasures.run(through);
  return rows.length;
}

/** Removes what the journal may not hold any more, and notes the loss; returns how many entries. */
export function trimOverflow(sql: Statements, most: number): number {
  const rows = sql.trimJournal.all(Number.MAX_SAFE_INTEGER, RETENTION.journalEntries, most);
  if (rows.length === 0) return 0;
  const times = rows.flatMap(({ entry }) => timeOf(String(entry)));
  const from = times.reduce((a, b) => Math.min(a, b), times[0] ?? 0);
  const to = times.reduce((a, b) => Math.max(a, b), from);
  const position = rows.reduce((most, row) => Math.max(most, Number(row['position'])), 0);
  sql.addJournalLoss.run(rows.length, from, to, position);
  return rows.length;
}

/** When an entry was made; nothing where it cannot be read. */
function timeOf(text: string): readonly number[] {
  try {
    return [parseJournalText(text).at];
  } catch {
    return [];
  }
}

/** The record in a row of `decisions`. */
export function storedRecord({ client, record }: Readonly<Record<string, unknown>>): StoredRecord {
  return { clientHash: String(client), text: String(record) };
}

/**
 * `findDecisions` over the table of decision records: page by page along its index, starting with the newest that may
 * fit.
 */
export function sqliteDecisionSearch(
  db: DatabaseSync,
  run: RunCall,
  reader: RecordReader,
): Store['findDecisions'] {
  const older = db.prepare(
    'SELECT position, at, client, record FROM decisions WHERE platform = ? AND (at, position) < (?, ?) ORDER BY at DESC, position DESC LIMIT ?',
  );
  return (platform, filter, limit) => {
    // No position is below 0, so all that was decided at this time is left out.
    let before = { at: timeBound(filter) ?? Number.MAX_SAFE_INTEGER, position: -1 };
    const nextPage = () =>
      run(async () => {
        const rows = await searchSteps.run(async () =>
          older.all(platform, before.at, before.position, PAGE_DECISIONS_MAX),
        );
        const last = rows.at(-1);
        if (last !== undefined) before = { at: Number(last['at']), position: Number(last['position']) };
        return searchSteps.map(rows.map(storedRecord), (some) => reader.decisions(some));
      });
    return findInPages(nextPage, filter, limit);
  };
}
