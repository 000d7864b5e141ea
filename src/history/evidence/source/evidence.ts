import { availableParallelism } from 'node:os';
import { withTemporaryFolder } from '#base/files/folders.ts';
import { createHoldoutDraw, type HoldoutDraw, NO_HOLDOUTS } from '#decision/holdout.ts';
import type { AttributeHmacs } from '#decision/payer/attribute-hmacs.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createAttributeHmacs } from '#decision/pseudonym.ts';
import { Archive, type ErasedClients } from '#history/archive/archive.ts';
import type { ArchiveGap, Segment } from '#history/archive/archive-log.ts';
import { QueryEngine, quote, quoteName, toNumberOrNull, toTextOrNull } from '#history/archive/duck.ts';
import { getColumnType, toFactColumn, toFactLabel } from '#history/archive/fact-columns.ts';
import { whileFrozen } from '#history/archive/frozen-archive.ts';
import { createOrderViews, WAIT_WORTH_MS } from '#history/archive/order-status.ts';
import { describeMoment, erasedSql } from '#history/archive/read/as-of.ts';
import { importJournal } from '#history/archive/ship/journal-file.ts';
import { emptyTableSql, NEEDED_FACTS, TABLES, type TableName } from '#history/archive/tables.ts';
import type { EvidenceSpan } from '#history/evidence/presentation.ts';
import { findSilences } from './silences.ts';

interface ArchivePlace {
  readonly kind: 'archive';
  readonly folder: string;
  /** Erased clients whom the archive may still hold; absent when the folder alone is known. */
  readonly erased?: ErasedClients;
  readonly leftOut?: readonly Segment[];
}

/** Where decisions and outcomes are read from: an archive, or a file of `journal export`, from which one is made. */
export type EvidencePlace = ArchivePlace | { readonly kind: 'journal'; readonly path: string };

export interface EvidenceAsk {
  readonly place: EvidencePlace;
  /** Decisions from this time on and before that one, epoch ms; null for all. */
  readonly from: number | null;
  readonly to: number | null;
  /** Only what had come by then, epoch ms. Absent or null: all that is known. */
  readonly asOf?: number | null;
  /** Null for all platforms. */
  readonly platform: PlatformName | null;
  /** Only decisions that this version made; absent for those of all. */
  readonly decidedBy?: string;
  /** Of the engine: the cores of the machine, unless told otherwise. */
  readonly threads?: number;
  /**
   * The SIGNAL_SECRET of the fleet: what is decided again then holds out the clients that live traffic does. Absent:
   * nobody is held out.
   */
  readonly holdoutSecret?: string;
  /** The SIGNAL_SECRET before, under which attributes may have been kept. */
  readonly formerSecret?: string | null;
}

/** The same of an archive, which a journal has become by then. */
export type ArchiveAsk = EvidenceAsk & { readonly place: ArchivePlace };

/** What the engine may keep in memory; what does not fit goes to a temporary folder. */
const ENGINE_MIB_MAX = 512;

/**
 * Decisions, outcomes and orders of an archive as views of one engine:
 *
 * - `decisions`: the columns of the archive's table (archive/README.md) and one for each recorded fact, by
 *   `toFactColumn`, in the type of its domain; at least amount, currency and method;
 * - `outcomes`: the archive's table until `asOf`: all reports from `from` on, because what became of an order is reported later,
 *   and earlier ones of orders that these decisions are about;
 * - `orders`: the orders that these decisions are about, see order-status.ts.
 */
export class Evidence {
  readonly ask: ArchiveAsk;
  readonly duck: QueryEngine;
  readonly span: EvidenceSpan;
  /** Who is held out where decisions are made again. */
  readonly holdoutDraw: HoldoutDraw;
  /** How the pseudonyms were kept that rules compare with constants. */
  readonly attributeHmacs: AttributeHmacs;

  constructor(ask: ArchiveAsk, duck: QueryEngine, span: EvidenceSpan) {
    this.ask = ask;
    this.duck = duck;
    this.span = span;
    const { holdoutSecret, formerSecret } = ask;
    this.holdoutDraw = holdoutSecret === undefined ? NO_HOLDOUTS : createHoldoutDraw(holdoutSecret);
    const secrets = [holdoutSecret, formerSecret].filter((secret) => typeof secret === 'string');
    this.attributeHmacs = createAttributeHmacs(secrets);
  }

  /** The rule sets that decided, the last one first. */
  async decidingRules() {
    const rows = await this.duck.rows(
      'SELECT rule_version, digest, count(*) AS decisions FROM decisions GROUP BY ALL ORDER BY max(decided_at) DESC, rule_version',
    );
    return rows.map((row) => ({
      ruleVersion: toTextOrNull(row['rule_version']) ?? '',
      digest: toTextOrNull(row['digest']) ?? '',
      decisions: toNumberOrNull(row['decisions']) ?? 0,
    }));
  }
}

/**
 * Opens the evidence for as long as `work` takes, and returns its result. When a client is erased meanwhile, `work`
 * is done once more, without the client. Throws JournalFileError when the file is not a journal.
 */
export function withEvidence<T>(ask: EvidenceAsk, work: (evidence: Evidence) => Promise<T>): Promise<T> {
  const { place } = ask;
  if (place.kind === 'archive')
    return whileFrozen(place.folder, (folder, unreadable) => {
      const leftOut = [...(place.leftOut ?? []), ...unreadable];
      return workOnce({ ...ask, place: { ...place, folder, leftOut } }, false, work);
    });
  return withTemporaryFolder('scoring-journal-', async (folder) => {
    const { torn } = await importJournal(place.path, folder, limitsOf(ask));
    return workOnce({ ...ask, place: { kind: 'archive', folder } }, torn, work);
  });
}

function workOnce<T>(ask: ArchiveAsk, torn: boolean, work: (evidence: Evidence) => Promise<T>): Promise<T> {
  return withTemporaryFolder('scoring-evidence-', async (temporaryFolder) => {
    const duck = await QueryEngine.open({ ...limitsOf(ask), temporaryFolder });
    try {
      // Nothing here goes by the order of rows in a file, and keeping it costs memory.
      await duck.run('SET preserve_insertion_order = false');
      const gaps = await makeArchiveViews(duck, ask);
      await createOrderViews(duck);
      const silences = await findSilences(duck);
      const span = { ...(await spanOf(duck)), gaps, silences, torn, ...(await asOfIn(duck, ask)) };
      return await work(new Evidence(ask, duck, span));
    } finally {
      duck.close();
    }
  });
}

function limitsOf({ threads = availableParallelism() }: EvidenceAsk) {
  return { threads, memoryMiB: ENGINE_MIB_MAX };
}

async function spanOf(duck: QueryEngine): Promise<Pick<EvidenceSpan, 'from' | 'to' | 'decisions'>> {
  const [row = {}] = await duck.rows(
    'SELECT count(*) AS n, min(decided_at) AS oldest, max(decided_at) AS newest FROM decisions',
  );
  const [from, to] = [toNumberOrNull(row['oldest']), toNumberOrNull(row['newest'])];
  return { from, to, decisions: toNumberOrNull(row['n']) ?? 0 };
}

async function asOfIn(
  duck: QueryEngine,
  { asOf = null, place, platform }: ArchiveAsk,
): Promise<Pick<EvidenceSpan, 'asOf'>> {
  if (asOf === null) return {};
  const rows = await duck.rows(
    erasedSql(knownRowsSql(place, 'erasures', { from: asOf + 1, to: null, platform })),
  );
  return { asOf: describeMoment(asOf, rows, place.erased ?? []) };
}

/** The rows in question. Times are epoch ms; null for all. */
interface RowFilter {
  readonly from: number | null;
  readonly to: number | null;
  /** Entries that came later were not known then; absent is null. */
  readonly asOf?: number | null;
  readonly platform: PlatformName | null;
}

/** The tables that figures are taken from. */
const EVIDENCE: ReadonlySet<TableName> = new Set(['decisions', 'outcomes']);

/** Outcomes are reported after the span, and so are erasures. */
const OF_ALL_TIMES: ReadonlySet<TableName> = new Set(['outcomes', 'erasures']);

/** Whether a segment of any table may have rows of the span: a replay needs all inputs. */
export function isEvidence({ from, to, platform }: RowFilter): (segment: Segment) => boolean {
  return (segment) =>
    (platform ?? segment.platform) === segment.platform &&
    (OF_ALL_TIMES.has(segment.table) ||
      ((from === null || segment.to >= from) && (to === null || segment.from <= to)));
}

/**
 * Whether a question about a span reads a segment. Many also look at what came before the span or after it: a trial counts
 * from its start, a client is held out since before.
 */
export function isReadFor(reads: EvidenceReach, filter: RowFilter): (segment: Segment) => boolean {
  switch (reads) {
    case 'span':
      // With the day after the end, in which it shows whether somebody who was told to wait came back.
      return isEvidence({ ...filter, to: filter.to === null ? null : filter.to + WAIT_WORTH_MS });
    case 'allTimes':
      return isEvidence({ ...filter, from: null, to: null });
    default:
      return reads satisfies never;
  }
}

/** What a question reads of the archive: the rows of the span, or also those of before and after. */
export type EvidenceReach = 'span' | 'allTimes';

/**
 * Makes the views of evidence over the segments of an archive; each file is read only as far as needed. Returns what
 * was lost.
 */
async function makeArchiveViews(
  duck: QueryEngine,
  { place, decidedBy, ...filter }: ArchiveAsk,
): Promise<readonly ArchiveGap[]> {
  const { folder, leftOut = [] } = place;
  const decided = knownRowsSql(place, 'decisions', filter);
  const ofVersion = `(SELECT * FROM ${decided} WHERE rule_version = ${quote(decidedBy ?? '')})`;
  await createDecisionsView(duck, decidedBy === undefined ? decided : ofVersion);
  const reported = knownRowsSql(place, 'outcomes', { ...filter, from: null, to: null });
  const inTime = betweenSql('reported_at', filter.from, null).join(' AND ');
  const isAsked = '(client_hash, order_ref) IN (SELECT (client_hash, order_ref) FROM decisions)';
  await duck.run(
    `CREATE VIEW outcomes AS FROM ${reported}${filter.from === null ? '' : ` WHERE ${inTime} OR ${isAsked}`}`,
  );
  const lost = leftOut
    .filter(({ table, platform }) => EVIDENCE.has(table) && (filter.platform ?? platform) === platform)
    .map(({ from, to, rows }) => ({ from, to, entries: rows }));
  const until = endOf(filter);
  return [...new Archive(folder).read().gaps, ...lost].filter(
    ({ from, to }) => (until === null || from < until) && (filter.from === null || to >= filter.from),
  );
}

/**
 * SQL: the rows of a table that had come by `asOf`, by the clock of the node that took them. This is the one place
 * where evidence reads rows, so that nothing later gets in.
 */
export function knownRowsSql(
  { folder, erased = [] }: ArchivePlace,
  table: TableName,
  filter: RowFilter,
): string {
  const { from, platform } = filter;
  const to = endOf(filter);
  const archive = new Archive(folder);
  const segments = archive.segments(archive.read(), { table, platform, from, to });
  const source = segments.length === 0 ? emptyTableSql(table) : archive.source(segments, erased);
  const where = [
    ...betweenSql(TABLES[table].time, from, to),
    ...(platform === null ? [] : [`platform = ${quote(platform)}`]),
  ];
  return `(SELECT * FROM ${source} WHERE ${where.join(' AND ')})`;
}

/** The end of the rows that count, epoch ms: what came at `asOf` itself was known then. */
function endOf({ to, asOf = null }: RowFilter): number | null {
  if (asOf === null) return to;
  return Math.min(to ?? Number.POSITIVE_INFINITY, asOf + 1);
}

/** Makes a view like `decisions` over rows that have the columns of the archive's table. */
export async function createDecisionsView(
  duck: QueryEngine,
  rows: string,
  name = 'decisions',
): Promise<void> {
  const columns = await listColumns(duck, rows);
  const facts = columns.filter((name) => toFactLabel(name) !== null);
  const missing = [...NEEDED_FACTS.keys()].map(toFactColumn).filter((name) => !facts.includes(name));
  const typed = facts.map((name) => `${quoteName(name)}::${getColumnType(name)} AS ${quoteName(name)}`);
  const nulls = missing.map((name) => `, NULL::${getColumnType(name)} AS ${quoteName(name)}`).join('');
  const replaced = typed.length === 0 ? '' : `REPLACE (${typed.join(', ')})`;
  await duck.run(`CREATE OR REPLACE VIEW ${name} AS SELECT * ${replaced}${nulls} FROM ${rows}`);
}

/** DuckDB's type of these texts as numbers. */
export function enumSql(values: readonly string[]): string {
  return `ENUM(${values.map(quote).join(', ')})`;
}

export async function listColumns(duck: QueryEngine, source: string): Promise<readonly string[]> {
  const rows = await duck.rows(`DESCRIBE SELECT * FROM ${source}`);
  return rows.map((row) => toTextOrNull(row['column_name']) ?? '');
}

/** SQL: conditions that a time lies in the span. */
export function betweenSql(column: string, from: number | null, to: number | null): readonly string[] {
  return [
    'true',
    ...(from === null ? [] : [`${column} >= make_timestamp_ms(${from})`]),
    ...(to === null ? [] : [`${column} < make_timestamp_ms(${to})`]),
  ];
}
