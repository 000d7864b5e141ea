import { closeSync, openSync, readSync } from 'node:fs';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { isJsonObject } from '#base/files/json-object.ts';
import { NamedError } from '#base/named-error.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import { type ClientKeys, isClientHash, isPlatformName } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import type { ArchiveGap, Segment } from '#history/archive/archive-log.ts';
import { formatDay, getMonth } from '#history/archive/period.ts';
import { type DuckLimits, QueryEngine, toNumberOrNull } from '#history/archive/query-engine.ts';
import { RowBuffer } from '#history/archive/row-buffer.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import { type ArchiveRow, toUnerasedRows } from '#history/archive/tables.ts';
import type { AnyJournalEntry, ErasureEntry, JournalEntry, PlacedEntry } from '#state/journal.ts';

/** Thrown if a file was not written by `journal export`. `line` counts from 1. */
export class JournalFileError extends NamedError {
  readonly line: number;

  constructor(line: number, what: string) {
    super(what);
    this.line = line;
  }
}

/**
 * An entry with the hash of its client. Whoever reads the file cannot compute the hash, because its salt stays with
 * the installation.
 */
type ExportedEntry = JournalEntry & { readonly clientHash: string };

export type AnyExportedEntry = ExportedEntry | ErasureEntry;

/** Returns an entry in the form in which it becomes a line of the file. */
export function toExportedEntry(entry: AnyJournalEntry, clientKeys: ClientKeys): AnyExportedEntry {
  if (entry.kind === 'erasure') return entry;
  return { ...entry, clientHash: clientKeys.of(entry.platform, entry.clientIdKey).hash };
}

interface JournalLine {
  readonly number: number;
  readonly text: string;
}

interface JournalFilePage {
  readonly lines: readonly JournalLine[];
  /**
   * True only for the last page, if the file's last line has no end. The exporter was stopped in this line, or is
   * still writing it.
   */
  readonly torn: boolean;
}

const CHUNK_BYTES = 1 << 20;

/** The longest line. A journal entry takes a few KB, so a file with a longer line is no journal. */
const LINE_BYTES_MAX = 16 << 20;

const NEWLINE = 10;

/** Reads an exported journal some lines at a time, in constant memory. Blank lines are skipped. */
function* readJournalPages(path: string): Generator<JournalFilePage> {
  const file = openSync(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let held = 0;
    let before = 0;
    for (;;) {
      if (held === buffer.length) buffer = growBuffer(buffer, before + 1);
      const got = readSync(file, buffer, held, buffer.length - held, null);
      if (got === 0) break;
      const end = buffer.lastIndexOf(NEWLINE, held + got - 1) + 1;
      const texts = buffer.toString('utf8', 0, end).split('\n').slice(0, -1);
      const first = before + 1;
      const lines = texts.map((text, index) => ({ number: first + index, text }));
      yield { lines: lines.filter(({ text }) => text !== ''), torn: false };
      before += texts.length;
      buffer.copy(buffer, 0, end, held + got);
      held = held + got - end;
    }
    yield { lines: [], torn: held > 0 };
  } finally {
    closeSync(file);
  }
}

function growBuffer(buffer: Buffer, line: number): Buffer<ArrayBuffer> {
  if (buffer.length >= LINE_BYTES_MAX) {
    throw new JournalFileError(
      line,
      `the line is longer than ${LINE_BYTES_MAX} bytes; this is not a journal`,
    );
  }
  const larger = Buffer.allocUnsafe(2 * buffer.length);
  buffer.copy(larger);
  return larger;
}

const JOURNAL_KINDS = [
  'score',
  'verdict',
  'outcome',
  'binding',
  'override',
  'waitEnded',
  'erasure',
] as const satisfies readonly [...AnyJournalEntry['kind'][]];

/** Parses a line as an entry. Throws JournalFileError. Nested members are not checked. */
function parseEntry(text: string, line: number): AnyExportedEntry {
  let entry: AnyExportedEntry;
  try {
    entry = JSON.parse(text);
  } catch {
    throw new JournalFileError(line, 'the line is not JSON');
  }
  const wrong = explainFault(entry);
  if (wrong === null) return entry;
  throw new JournalFileError(line, `the line is no journal entry: ${wrong}`);
}

function explainFault(value: AnyExportedEntry): string | null {
  const entry: unknown = value;
  if (!isJsonObject(entry)) return 'it must be an object';
  const { kind, at, platform, clientIdKey, clientHash } = entry;
  if (!JOURNAL_KINDS.some((known) => known === kind))
    return `"kind" must be one of ${JOURNAL_KINDS.join(', ')}`;
  if (typeof at !== 'number' || Number.isNaN(new Date(at).getTime()))
    return '"at" must be a number, epoch ms';
  // The platform becomes the name of a folder.
  if (typeof platform !== 'string' || !isPlatformName(platform))
    return '"platform" must be the name of a platform';
  if (value.kind !== 'erasure' && typeof clientIdKey !== 'string') return '"clientIdKey" must be a text';
  const lacks = explainMissingMember(value, entry);
  if (lacks !== null || value.kind === 'erasure' || isClientHash(clientHash)) return lacks;
  return '"clientHash" must be the hash of the client, 22 characters';
}

function explainMissingMember(
  value: AnyExportedEntry,
  entry: Readonly<Record<string, unknown>>,
): string | null {
  switch (value.kind) {
    case 'verdict':
      return isDecision(entry['decision']) ? null : '"decision" must be a decision with its facts';
    case 'score':
      return isJsonObject(entry['request']) ? null : '"request" must be a score request';
    case 'outcome':
      return typeof entry['orderRef'] === 'string' && isJsonObject(entry['order'])
        ? null
        : '"orderRef" and "order" must tell an outcome';
    case 'binding':
    case 'override':
      return entry[value.kind] === undefined ? `"${value.kind}" is missing` : null;
    case 'waitEnded':
      return typeof entry['decisionId'] === 'string' ? null : '"decisionId" must be a text';
    case 'erasure':
      return typeof entry['clientNumber'] === 'string' ? null : '"clientNumber" must be a text';
    default:
      return value satisfies never;
  }
}

function isDecision(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  if (!['facts', 'ladderBefore', 'ladderAfter'].every((member) => isJsonObject(value[member]))) return false;
  return typeof value['orderRef'] === 'string' && VERDICTS.some((verdict) => verdict === value['verdict']);
}

/** The number of rows that become segments together. Their buffer takes some hundred megabytes. */
const ROWS_AT_ONCE_MAX = 50_000;

/** The number of the line with the last erasure of each erased client, by the client's number. */
type Erasures = ReadonlyMap<string, number>;

/**
 * Makes a temporary archive of an exported journal in an empty folder, in memory that does not grow with the file.
 * The number of its line is the position of an entry in the journal, because the lines of one client are in the
 * sequence of its entries. Returns whether the last line has no end and was left out. Throws JournalFileError if the
 * file is no journal.
 */
export async function importJournalAsArchive(
  path: string,
  folder: string,
  limits: Pick<DuckLimits, 'threads' | 'memoryMiB'>,
): Promise<{ readonly torn: boolean }> {
  const archive = new Archive(folder);
  const erasures = findErasures(path);
  const duck = await QueryEngine.open({ ...limits, temporaryFolder: `${archive.getStagingFolder()}/spill` });
  try {
    const intake = new Intake(archive, new SegmentWriter(archive, duck, true));
    let [lines, torn] = [0, false];
    for (const page of readJournalPages(path)) {
      await intake.add(toLineRows(page.lines, erasures));
      lines += page.lines.length;
      torn = page.torn;
      // Reading a file never yields to the event loop, and signals need the event loop.
      await turnOfOthers();
    }
    if (lines === 0) throw new JournalFileError(1, 'the file has no complete line; this is not a journal');
    const add = await intake.segments();
    const gap = await findMissingDecisions(archive, duck, add);
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

class Intake {
  readonly #drafts: RowBuffer;
  readonly #writer: SegmentWriter;
  readonly #segments: Segment[] = [];
  #drafted = 0;

  /** A segment has the rows of a month, because writing a file takes some milliseconds and a year has many days. */
  constructor(archive: Archive, writer: SegmentWriter) {
    this.#drafts = new RowBuffer(archive, (at) => getMonth(formatDay(at)));
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

function toLineRows(lines: readonly JournalLine[], erasures: Erasures): readonly ArchiveRow[] {
  const entries = lines.map(({ number, text }) => {
    const place = { partition: 0, ms: 0, seq: number };
    return [number, { ...parseEntry(text, number), place }] as const;
  });
  return toUnerasedRows<PlacedEntry<ExportedEntry>>(entries, erasures, ({ clientHash }) => clientHash);
}

/**
 * Finds the erasures in an exported journal. An export writes the member `kind` first, so the other lines need not be
 * parsed.
 */
function findErasures(path: string): Erasures {
  const erasures = new Map<string, number>();
  for (const { lines } of readJournalPages(path))
    for (const { number, text } of lines) {
      const entry = text.startsWith('{"kind":"erasure"') ? parseEntry(text, number) : null;
      if (entry?.kind === 'erasure') erasures.set(entry.clientNumber, number);
    }
  return erasures;
}

/**
 * Finds the decisions that were lost before the export. An export does not name them. But a client's decisions are
 * numbered without gaps, so a missing number is a missing decision.
 */
async function findMissingDecisions(
  archive: Archive,
  duck: QueryEngine,
  segments: readonly Segment[],
): Promise<ArchiveGap | null> {
  const decisions = segments.filter(({ table }) => table === 'decisions');
  if (decisions.length === 0) return null;
  const [row = {}] = await duck.rows(`
    SELECT min(before_at) AS gap_from, max(decided_at) AS gap_to, sum(seq - before_seq - 1) AS missing
    FROM (
      SELECT seq, decided_at, lag(seq) OVER client AS before_seq, lag(decided_at) OVER client AS before_at
      FROM ${archive.createRowsSql(decisions)} WINDOW client AS (PARTITION BY client_hash ORDER BY seq)
    ) WHERE seq > before_seq + 1`);
  const [from, to] = [toNumberOrNull(row['gap_from']), toNumberOrNull(row['gap_to'])];
  return from === null || to === null ? null : { from, to, entries: Number(row['missing'] ?? 0) };
}
