import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { searchThrottle } from '#base/work/step-throttle.ts';
import { parseDecisionId } from '#decision/payer/client-key.ts';
import {
  addLostVerdictsToGap,
  createUnreadableMember,
  decodeJournalEntry,
  type JournalGap,
  NUMBER_CURSORS,
  parseErasureEntry,
  type ReadEntry,
  readOrExplain,
  toVerdictEntry,
} from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import type { RecordReader } from '#state/stored-parts.ts';
import { toStoredDecision } from './client-rows.ts';
import { LOCK_FREE_MS, repeatWithinLockTime } from './group-commit.ts';
import type { JournalRow, JournalTable } from './journal-table.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** Creates the access to the journal. The position of a row in the table is the position of the entry. */
export function createSqliteJournal(
  { read, readPage, write }: SqliteFileAccess,
  table: JournalTable,
  losses: JournalLossesAndErasures,
  reader: RecordReader,
): Pick<
  Store,
  'cursors' | 'readJournal' | 'journalLength' | 'newestCursor' | 'trimJournal' | 'unshippedErasures'
> {
  return {
    cursors: NUMBER_CURSORS,
    readJournal: (after, limit) =>
      readPage(async () => {
        const position = parsePosition(after);
        const rows = table.entriesAfter(position, limit);
        // The cursor is from before the file was restored to an earlier moment. Entries since then have lower
        // numbers.
        if (rows.length === 0 && position > table.newest()) throw new UnknownCursor();
        const last = rows.at(-1)?.['position'];
        // A reader that begins with the oldest kept entry misses nothing.
        const pushedOut = after === null ? null : losses.findGapAfter(position);
        const all = await readWholeEntries(reader, rows);
        const lost = all.filter((entry) => entry.kind === 'lost');
        return {
          entries: all.filter((entry) => entry.kind !== 'lost' && entry.kind !== 'unreadable'),
          ...createUnreadableMember(all),
          cursor: last === undefined ? after : String(last),
          gap: addLostVerdictsToGap(lost, pushedOut),
        };
      }),
    journalLength: () => read(() => table.length()),
    newestCursor: (entries) =>
      read(() => (table.length() > entries ? String(table.newest() - entries) : null)),
    trimJournal: async (through, kept) => {
      const position = parsePosition(through);
      const trim = () => {
        const isMore = table.forgetShipped(position, kept);
        losses.forget(position);
        // The archive no longer names these clients, so nothing here may lead to an erased client.
        for (const erasure of losses.takeErasures(position)) table.removeEntry(erasure);
        return isMore;
      };
      while (await write(() => repeatWithinLockTime(trim))) await sleep(LOCK_FREE_MS);
    },
    unshippedErasures: () =>
      read(() =>
        losses
          .unshippedErasures()
          .map(({ position, entry }) => ({ ...parseErasureEntry(String(entry)), place: toPlace(position) })),
      ),
  };
}

/** Returns the position of a cursor. Returns 0 before the first entry. Throws UnknownCursor. */
function parsePosition(cursor: string | null): number {
  return NUMBER_CURSORS.parse(cursor)[0]?.seq ?? 0;
}

function toPlace(position: unknown) {
  return { partition: 0, ms: 0, seq: Number(position) };
}

async function readWholeEntries(
  reader: RecordReader,
  rows: readonly JournalRow[],
): Promise<readonly ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for (const row of rows) {
    const place = toPlace(row['position']);
    const text = String(row['entry']);
    const stored = { place, text, clientHash: String(row['client'] ?? '') };
    entries.push(
      await readOrExplain(stored, async (): Promise<ReadEntry> => {
        if (text === '') return { kind: 'lost', at: Number(row['at']) };
        if (row['seq'] !== null)
          return { ...toVerdictEntry(await reader.decodeRecord(toStoredDecision(row))), place };
        const parsed = decodeJournalEntry(text);
        if ('seq' in parsed) throw new TypeError(`no journal entry is stored as ${text}`);
        return { ...parsed, place };
      }),
    );
  }
  return entries;
}

/** The entries that the journal lost before they were read, and the erasures that the archive does not know of yet. */
export class JournalLossesAndErasures {
  readonly #sql: ReturnType<typeof prepareLossStatements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareLossStatements(db);
  }

  findGapAfter(position: number): JournalGap | null {
    const row = this.#sql.loss.get(position);
    if (row === undefined) return null;
    return { entries: Number(row['entries']), from: Number(row['from_ms']), to: Number(row['to_ms']) };
  }

  add({ entries, from, to, position }: JournalGap & { readonly position: number }): void {
    this.#sql.addLoss.run(entries, from, to, position);
  }

  forget(through: number): void {
    this.#sql.forgetLoss.run(through);
  }

  unshippedErasures(): readonly JournalRow[] {
    return this.#sql.unshippedErasures.all();
  }

  /** Notes an erasure. If too many wait, the oldest are forgotten. */
  addErasure(position: number, entry: string): void {
    this.#sql.putErasure.run(position, entry);
    this.#sql.trimErasures.run(RETENTION.unshippedErasures);
  }

  /** Forgets the erasures up to a position, and returns their positions. */
  takeErasures(through: number): readonly number[] {
    return this.#sql.takeErasures.all(through).map(({ position }) => Number(position));
  }
}

function prepareLossStatements(db: DatabaseSync) {
  const sql = (source: string) => db.prepare(source);
  return {
    loss: sql('SELECT entries, from_ms, to_ms FROM journal_loss WHERE last_position > ?'),
    addLoss: sql(
      'INSERT INTO journal_loss (only, entries, from_ms, to_ms, last_position) VALUES (1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, to_ms = max(to_ms, excluded.to_ms), last_position = excluded.last_position',
    ),
    forgetLoss: sql('DELETE FROM journal_loss WHERE last_position <= ?'),
    unshippedErasures: sql('SELECT position, entry FROM unshipped_erasures'),
    putErasure: sql('INSERT INTO unshipped_erasures (position, entry) VALUES (?, ?)'),
    takeErasures: sql('DELETE FROM unshipped_erasures WHERE position <= ? RETURNING position'),
    trimErasures: sql(
      'DELETE FROM unshipped_erasures WHERE position <= (SELECT position FROM unshipped_erasures ORDER BY position DESC LIMIT 1 OFFSET ?)',
    ),
  };
}

/** Creates the access to decision records: by client and number, and by order. */
export function createSqliteDecisions(
  { run }: SqliteFileAccess,
  table: JournalTable,
  reader: RecordReader,
): Pick<Store, 'decision' | 'decisionsOfOrder' | 'decisionsOfClient'> {
  const decisionsIn = (rows: readonly JournalRow[]) =>
    searchThrottle.mapInSteps(rows.map(toStoredDecision), (some) => reader.decodeRecords(some));
  return {
    decision: async (decisionId) => {
      const parsed = parseDecisionId(decisionId);
      if (parsed === null) return null;
      return run(async () => {
        const [row] = table.decisionsOfClient(parsed.clientHash, parsed.seq + 1, 1);
        const decision = row === undefined ? null : await reader.decodeRecord(toStoredDecision(row));
        return decision?.decisionId === decisionId ? decision : null;
      });
    },
    decisionsOfOrder: (platform, orderRef) =>
      run(async () => decisionsIn(table.decisionsOfOrder(platform, orderRef, RETENTION.decisionsPerOrder))),
    decisionsOfClient: ({ hash }, limit, beforeSeq = Number.MAX_SAFE_INTEGER) =>
      run(async () => decisionsIn(table.decisionsOfClient(hash, beforeSeq, limit))),
  };
}
