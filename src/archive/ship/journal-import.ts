import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { Placed } from '../../state/journal.ts';
import { Archive } from '../archive.ts';
import type { ArchiveGap, Segment } from '../archive-log.ts';
import { Duck, type DuckLimits, numberOf } from '../duck.ts';
import { type ArchiveRow, rowsOf } from '../rows.ts';
import {
  type ExportedEntry,
  JournalFileError,
  type JournalLine,
  journalPages,
  parseEntry,
} from './journal-file.ts';
import { monthOf, RowDrafts } from './row-drafts.ts';
import { SegmentWriter } from './segment-writer.ts';

/** How many rows become segments together: some hundred megabytes of drafts. */
const ROWS_AT_ONCE_MAX = 50_000;

/** When clients were last erased: by their number, the line that tells. */
type Erasures = ReadonlyMap<string, number>;

/**
 * Makes a temporary archive of an exported journal in an empty folder, in memory that does not grow with the file. A line's
 * number is its entry's place, because the lines of a client follow each other as its entries did. Gives whether
 * the last line has no end and was left out. Throws JournalFileError when the file is no journal.
 */
export async function importJournal(
  path: string,
  folder: string,
  limits: Pick<DuckLimits, 'threads' | 'memoryMiB'>,
): Promise<{ readonly torn: boolean }> {
  const archive = new Archive(folder);
  const erasures = erasuresIn(path);
  const duck = await Duck.open({ ...limits, temporaryFolder: `${archive.staging()}/spill` });
  try {
    const intake = new Intake(archive, new SegmentWriter(archive, duck, true));
    let [lines, torn] = [0, false];
    for (const page of journalPages(path)) {
      await intake.add(rowsIn(page.lines, erasures));
      lines += page.lines.length;
      torn = page.torn;
      // Reading a file takes no turn of the event loop, and a signal wants one.
      await turnOfOthers();
    }
    if (lines === 0) throw new JournalFileError(1, 'the file has no complete line; this is not a journal');
    const add = await intake.segments();
    const gap = await gapBySeq(archive, duck, add);
    await archive.commit(archive.read(), {
      by: 'import',
      at: 0,
      add,
      remove: [],
      ...(gap === null ? {} : { gap }),
    });
    return { torn };
  } finally {
    duck.close();
  }
}

/** Rows on their way into segments, many at once. */
class Intake {
  readonly #drafts: RowDrafts;
  readonly #writer: SegmentWriter;
  readonly #segments: Segment[] = [];
  #drafted = 0;

  /** By month, for a file costs some milliseconds and a year has many days. */
  constructor(archive: Archive, writer: SegmentWriter) {
    this.#drafts = new RowDrafts(archive, monthOf);
    this.#writer = writer;
  }

  async add(rows: readonly ArchiveRow[]): Promise<void> {
    this.#drafts.add(rows);
    this.#drafted += rows.length;
    if (this.#drafted >= ROWS_AT_ONCE_MAX) await this.#write();
  }

  async segments(): Promise<readonly Segment[]> {
    await this.#write();
    return this.#segments;
  }

  async #write(): Promise<void> {
    this.#segments.push(...(await this.#writer.write(this.#drafts)));
    this.#drafts.remove();
    this.#drafted = 0;
  }
}

function rowsIn(lines: readonly JournalLine[], erasures: Erasures): readonly ArchiveRow[] {
  const entries = lines.map(({ number, text }) => {
    const place = { partition: 0, ms: 0, seq: number };
    return [number, { ...parseEntry(text, number), place }] as const;
  });
  return rowsOf<Placed<ExportedEntry>>(entries, erasures, ({ clientHash }) => clientHash);
}

/** An export writes the kind first, so that the other lines need not be parsed for this. */
function erasuresIn(path: string): Erasures {
  const erasures = new Map<string, number>();
  for (const { lines } of journalPages(path))
    for (const { number, text } of lines) {
      const entry = text.startsWith('{"kind":"erasure"') ? parseEntry(text, number) : null;
      if (entry?.kind === 'erasure') erasures.set(entry.clientNumber, number);
    }
  return erasures;
}

/**
 * An export does not tell what was lost before it could be exported, but the decisions of a client are numbered
 * without gaps: a number that is missing in between is a decision that is missing.
 */
async function gapBySeq(
  archive: Archive,
  duck: Duck,
  segments: readonly Segment[],
): Promise<ArchiveGap | null> {
  const decisions = segments.filter(({ table }) => table === 'decisions');
  if (decisions.length === 0) return null;
  const [row = {}] = await duck.rows(`
    SELECT min(before_at) AS gap_from, max(decided_at) AS gap_to, sum(seq - before_seq - 1) AS missing
    FROM (
      SELECT seq, decided_at, lag(seq) OVER client AS before_seq, lag(decided_at) OVER client AS before_at
      FROM ${archive.source(decisions)} WINDOW client AS (PARTITION BY client_hash ORDER BY seq)
    ) WHERE seq > before_seq + 1`);
  const [from, to] = [numberOf(row['gap_from']), numberOf(row['gap_to'])];
  return from === null || to === null ? null : { from, to, entries: Number(row['missing'] ?? 0) };
}
