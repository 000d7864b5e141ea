import { setTimeout as sleep } from 'node:timers/promises';
import { searchThrottle } from '#base/paced-steps.ts';
import { parseDecisionId } from '#decision/payer/client-key.ts';
import {
  collectUnreadable,
  decodeJournalRecord,
  joinLostVerdicts,
  NUMBER_CURSORS,
  parseErasure,
  type ReadEntry,
  readOrExplain,
  toVerdictEntry,
} from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { KeptAfterShipping, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import type { RecordReader } from '#state/stored-parts.ts';
import { type Statements, storedRecord } from './client-rows.ts';
import { LOCK_FREE_MS, repeatBriefly } from './group-commit.ts';
import type { SqliteFile } from './open-file.ts';

type Row = Readonly<Record<string, unknown>>;

/** Journal entries that are removed at once: a millisecond or so. */
const TRIM_ROWS_MAX = 100;

/** The journal, which has the positions of its rows for places. */
export function sqliteJournal(
  { clock, read, readPage, write }: SqliteFile,
  sql: Statements,
  reader: RecordReader,
): Pick<
  Store,
  'cursors' | 'readJournal' | 'journalLength' | 'newestCursor' | 'trimJournal' | 'unshippedErasures'
> {
  return {
    cursors: NUMBER_CURSORS,
    readJournal: (after, limit) =>
      readPage(async () => {
        const position = positionOf(after);
        const rows = sql.journal.all(position, limit);
        // A cursor from before the file was restored to an earlier moment: entries since then have numbers below
        // it.
        if (rows.length === 0 && position > Number(sql.journalEnd.get()?.['seq'] ?? 0))
          throw new UnknownCursor();
        const last = rows.at(-1)?.['position'];
        // A reader that starts with the oldest kept entry misses nothing.
        const pushedOut = after === null ? null : gapAfter(sql, position);
        const all = await wholeEntries(reader, rows);
        const lost = all.filter((entry) => entry.kind === 'lost');
        return {
          entries: all.filter((entry) => entry.kind !== 'lost' && entry.kind !== 'unreadable'),
          ...collectUnreadable(all),
          cursor: last === undefined ? after : String(last),
          gap: joinLostVerdicts(lost, pushedOut),
        };
      }),
    journalLength: () => read(() => Number(sql.journalLength.get()?.['entries'] ?? 0)),
    newestCursor: (entries) =>
      read(() => {
        const row = sql.newestCursor.get(entries);
        return row === undefined ? null : String(row['position']);
      }),
    trimJournal: async (through, kept) => {
      const position = positionOf(through);
      const trim = () => trimShipped(sql, position, kept, clock()) === TRIM_ROWS_MAX;
      while (await write(() => repeatBriefly(trim))) await sleep(LOCK_FREE_MS);
    },
    unshippedErasures: () =>
      read(() =>
        sql.unshippedErasures
          .all()
          .map(({ position, entry }) => ({ ...parseErasure(String(entry)), place: placeOf(position) })),
      ),
  };
}

/** The position that a cursor stands for; 0 before the first entry. Throws UnknownCursor. */
function positionOf(cursor: string | null): number {
  return NUMBER_CURSORS.read(cursor)[0]?.seq ?? 0;
}

function placeOf(position: unknown) {
  return { partition: 0, ms: 0, seq: Number(position) };
}

async function wholeEntries(reader: RecordReader, rows: readonly Row[]): Promise<readonly ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for (const row of rows) {
    const place = placeOf(row['position']);
    const text = String(row['entry']);
    const stored = { place, text, clientHash: String(row['client'] ?? '') };
    entries.push(
      await readOrExplain(stored, async (): Promise<ReadEntry> => {
        const parsed = decodeJournalRecord(text);
        if (!('seq' in parsed)) return { ...parsed, place };
        if (row['record'] === null) return { kind: 'lost', at: parsed.at };
        return { ...toVerdictEntry(await reader.decision(storedRecord(row))), place };
      }),
    );
  }
  return entries;
}

function gapAfter(sql: Statements, position: number) {
  const row = sql.journalLoss.get(position);
  if (row === undefined) return null;
  return { entries: Number(row['entries']), from: Number(row['from_ms']), to: Number(row['to_ms']) };
}

/** Forgets entries that were shipped, some at a time; returns how many. */
function trimShipped(
  sql: Statements,
  through: number,
  { journalEntries, decisionsHotMs }: KeptAfterShipping,
  nowMs: number,
): number {
  const rows = sql.trimJournal.all(through, journalEntries, TRIM_ROWS_MAX);
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
export function trimOverflow(sql: Statements, most: number, hasRoom: boolean): number {
  const kept = hasRoom ? RETENTION.journalEntries : RETENTION.journalEntriesMin;
  const rows = sql.trimJournal.all(Number.MAX_SAFE_INTEGER, kept, most);
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
    return [decodeJournalRecord(text).at];
  } catch {
    return [];
  }
}

/** Decision records: by client and number, and by order. */
export function sqliteDecisions(
  { run }: SqliteFile,
  sql: Statements,
  reader: RecordReader,
): Pick<Store, 'decision' | 'decisionsOfOrder' | 'decisionsOfClient'> {
  const decisionsIn = (rows: readonly Row[]) =>
    searchThrottle.map(rows.map(storedRecord), (some) => reader.decisions(some));
  return {
    decision: async (decisionId) => {
      const parsed = parseDecisionId(decisionId);
      if (parsed === null) return null;
      return run(async () => {
        const row = sql.decision.get(parsed.clientHash, parsed.seq);
        const decision = row === undefined ? null : await reader.decision(storedRecord(row));
        return decision?.decisionId === decisionId ? decision : null;
      });
    },
    decisionsOfOrder: (platform, orderRef) =>
      run(async () => decisionsIn(sql.decisionsOfOrder.all(platform, orderRef, RETENTION.decisionsPerOrder))),
    decisionsOfClient: ({ hash }, limit, beforeSeq = Number.MAX_SAFE_INTEGER) =>
      run(async () => decisionsIn(sql.decisionsOfClient.all(hash, beforeSeq, limit))),
  };
}
