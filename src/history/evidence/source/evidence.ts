import { availableParallelism } from 'node:os';
import { withTemporaryFolder } from '#base/files/temporary-folder.ts';
import { createHoldoutDraw, type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { Archive, type ErasedClientNumbers } from '#history/archive/archive.ts';
import type { ArchiveGap, Segment } from '#history/archive/archive-log.ts';
import {
  getTypeOfFactColumn,
  parseLabelOfFactColumn,
  toColumnOfFactKey,
} from '#history/archive/fact-columns.ts';
import { createOrderViews, WAIT_EFFECT_MS } from '#history/archive/order-status.ts';
import {
  QueryEngine,
  quoteName,
  quoteSql,
  toNumberOrNull,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { erasureSumsSql, sumErasedSinceMoment } from '#history/archive/read/as-of.ts';
import { importJournalAsArchive } from '#history/archive/ship/journal-file.ts';
import { createSnapshotOpener, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { emptyTableSql, SEARCHED_FACT_TYPES, TABLES, type TableName } from '#history/archive/tables.ts';
import type { EvidenceSpan } from '#history/evidence/presentation.ts';
import { findSilences } from './silences.ts';

interface ArchivePlace {
  readonly kind: 'archive';
  readonly folder: string;
  /** Erased clients whose rows the archive may still contain. Missing if only the folder is known. */
  readonly erased?: ErasedClientNumbers;
  readonly leftOut?: readonly Segment[];
}

/**
 * The source of decisions and outcomes: an archive, or a file of `journal export`. Such a file is converted to an
 * archive.
 */
export type EvidencePlace = ArchivePlace | { readonly kind: 'journal'; readonly path: string };

export interface EvidenceAsk {
  readonly place: EvidencePlace;
  /** The span in epoch ms: decisions from `from` on and before `to`. Null if there is no limit. */
  readonly from: number | null;
  readonly to: number | null;
  /** Only entries that had come by this time are read, in epoch ms. Null or missing if all entries are read. */
  readonly asOf?: number | null;
  /** The platform. Null for all platforms. */
  readonly platform: PlatformName | null;
  /** Only decisions of this version are read. If missing, decisions of all versions are read. */
  readonly decidedBy?: string;
  /** The number of threads of the query engine. The default is the number of cores. */
  readonly threads?: number;
  /**
   * The SIGNAL_SECRET of the fleet. With it, repeated decisions hold out the same clients as the live service does.
   * If missing, nobody is held out.
   */
  readonly holdoutSecret?: string;
  /** The former SIGNAL_SECRET, under which attributes may have been kept. */
  readonly formerSecret?: string | null;
}

/** A question about an archive. A journal file has been converted to an archive before. */
export type ArchiveEvidenceAsk = EvidenceAsk & { readonly place: ArchivePlace };

/** The memory of the query engine, in MiB. Data that does not fit goes to a temporary folder. */
const ENGINE_MIB_MAX = 512;

/**
 * Decisions, outcomes and orders of an archive as views of one engine:
 *
 * - `decisions` has the columns of the archive's table (archive/README.md), and a column for each recorded fact,
 * named by `toColumnOfFactKey`, in the type of its domain. Amount, currency and method always have a column.
 * - `outcomes` is the archive's table until `asOf`. It has all reports from `from` on, also those after `to`, because
 * outcomes are reported later. It also has earlier reports on orders of these decisions.
 * - `orders` are the orders of these decisions, see order-status.ts.
 */
export class Evidence {
  readonly ask: ArchiveEvidenceAsk;
  readonly duck: QueryEngine;
  readonly span: EvidenceSpan;
  /** Draws which clients are held out when recorded decisions are made again. */
  readonly holdoutDraw: DrawHoldouts;
  /** Computes the HMACs of constants in rules, so that they can be compared with stored pseudonyms. */
  readonly attributeHmacs: AttributePseudonymizer;

  constructor(ask: ArchiveEvidenceAsk, duck: QueryEngine, span: EvidenceSpan) {
    this.ask = ask;
    this.duck = duck;
    this.span = span;
    const { holdoutSecret, formerSecret } = ask;
    this.holdoutDraw = holdoutSecret === undefined ? NO_HOLDOUTS : createHoldoutDraw(holdoutSecret);
    const secrets = [holdoutSecret, formerSecret].filter((secret) => typeof secret === 'string');
    this.attributeHmacs = createAttributePseudonymizer(secrets);
  }

  /** Reads which rule sets made the decisions. The rule set that decided last comes first. */
  async readDecidingRules() {
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
 * Opens the evidence, runs `work` and returns its result. If a client is erased in the meantime, `work` runs once
 * more without the client. Throws `JournalFileError` if the file is not a journal.
 */
export function withEvidence<T>(ask: EvidenceAsk, work: (evidence: Evidence) => Promise<T>): Promise<T> {
  const { place } = ask;
  if (place.kind === 'archive')
    return withSnapshotFiles(createSnapshotOpener(place.folder), ALL, ({ folder, leftOut: unreadable }) => {
      const leftOut = [...(place.leftOut ?? []), ...unreadable];
      return runOnce({ ...ask, place: { ...place, folder, leftOut } }, false, work);
    });
  return withTemporaryFolder('scoring-journal-', async (folder) => {
    const { torn } = await importJournalAsArchive(place.path, folder, getEngineLimits(ask));
    return runOnce({ ...ask, place: { kind: 'archive', folder } }, torn, work);
  });
}

const ALL = () => true;

function runOnce<T>(
  ask: ArchiveEvidenceAsk,
  torn: boolean,
  work: (evidence: Evidence) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder('scoring-evidence-', async (temporaryFolder) => {
    const duck = await QueryEngine.open({ ...getEngineLimits(ask), temporaryFolder });
    try {
      // Nothing here depends on the sequence of rows in a file, and keeping the sequence costs memory.
      await duck.run('SET preserve_insertion_order = false');
      const gaps = await makeArchiveViews(duck, ask);
      await createOrderViews(duck);
      const silences = await findSilences(duck);
      const span = { ...(await readSpan(duck)), gaps, silences, torn, ...(await readAsOf(duck, ask)) };
      return await work(new Evidence(ask, duck, span));
    } finally {
      duck.close();
    }
  });
}

function getEngineLimits({ threads = availableParallelism() }: EvidenceAsk) {
  return { threads, memoryMiB: ENGINE_MIB_MAX };
}

async function readSpan(duck: QueryEngine): Promise<Pick<EvidenceSpan, 'from' | 'to' | 'decisions'>> {
  const [row = {}] = await duck.rows(
    'SELECT count(*) AS n, min(decided_at) AS oldest, max(decided_at) AS newest FROM decisions',
  );
  const [from, to] = [toNumberOrNull(row['oldest']), toNumberOrNull(row['newest'])];
  return { from, to, decisions: toNumberOrNull(row['n']) ?? 0 };
}

async function readAsOf(
  duck: QueryEngine,
  { asOf = null, place, platform }: ArchiveEvidenceAsk,
): Promise<Pick<EvidenceSpan, 'asOf'>> {
  if (asOf === null) return {};
  const rows = await duck.rows(
    erasureSumsSql(rowsAsOfSql(place, 'erasures', { from: asOf + 1, to: null, platform })),
  );
  return { asOf: sumErasedSinceMoment(asOf, rows, place.erased ?? []) };
}

/** Selects the rows to read. Times are in epoch ms, and null means no limit. */
interface RowFilter {
  readonly from: number | null;
  readonly to: number | null;
  /** Entries that came after this time are left out. Null or missing if no entry is left out. */
  readonly asOf?: number | null;
  readonly platform: PlatformName | null;
}

/** The tables from which figures are computed. */
const EVIDENCE: ReadonlySet<TableName> = new Set(['decisions', 'outcomes']);

/**
 * The tables that are read for all times, because outcomes are reported after the span, and payers are erased after
 * it.
 */
const OF_ALL_TIMES: ReadonlySet<TableName> = new Set(['outcomes', 'erasures']);

/**
 * Creates a filter for segments that may have rows of the span. It lets segments of every table pass, because a
 * replay needs all kinds of inputs.
 */
export function createSpanSegmentFilter({ from, to, platform }: RowFilter): (segment: Segment) => boolean {
  return (segment) =>
    (platform ?? segment.platform) === segment.platform &&
    (OF_ALL_TIMES.has(segment.table) ||
      ((from === null || segment.to >= from) && (to === null || segment.from <= to)));
}

/**
 * Creates a filter for the segments that a question about a span reads. Many questions also need segments from before
 * or after the span. For example, a trial is counted from its start, and a client may be held out since an earlier
 * time.
 */
export function createReadSegmentFilter(
  reads: SpanOrAllTimes,
  filter: RowFilter,
): (segment: Segment) => boolean {
  switch (reads) {
    case 'span':
      // The day after the end is included, because it shows whether clients who were told to wait came back.
      return createSpanSegmentFilter({
        ...filter,
        to: filter.to === null ? null : filter.to + WAIT_EFFECT_MS,
      });
    case 'allTimes':
      return createSpanSegmentFilter({ ...filter, from: null, to: null });
    default:
      return reads satisfies never;
  }
}

/** The part of the archive that a question reads: the rows of the span, or the rows of all times. */
export type SpanOrAllTimes = 'span' | 'allTimes';

/**
 * Creates the views `decisions` and `outcomes` over the segments of an archive. Each file is read only as far as
 * needed. Returns the parts of the archive that are lost or were not read.
 */
async function makeArchiveViews(
  duck: QueryEngine,
  { place, decidedBy, ...filter }: ArchiveEvidenceAsk,
): Promise<readonly ArchiveGap[]> {
  const { folder, leftOut = [] } = place;
  const decided = rowsAsOfSql(place, 'decisions', filter);
  const ofVersion = `(SELECT * FROM ${decided} WHERE rule_version = ${quoteSql(decidedBy ?? '')})`;
  await createDecisionsView(duck, decidedBy === undefined ? decided : ofVersion);
  const reported = rowsAsOfSql(place, 'outcomes', { ...filter, from: null, to: null });
  const inTime = listSpanConditions('reported_at', filter.from, null).join(' AND ');
  const isAsked = '(client_hash, order_ref) IN (SELECT (client_hash, order_ref) FROM decisions)';
  await duck.run(
    `CREATE VIEW outcomes AS FROM ${reported}${filter.from === null ? '' : ` WHERE ${inTime} OR ${isAsked}`}`,
  );
  const lost = leftOut
    .filter(({ table, platform }) => EVIDENCE.has(table) && (filter.platform ?? platform) === platform)
    .map(({ from, to, rows }) => ({ from, to, entries: rows }));
  const until = findEnd(filter);
  return [...new Archive(folder).read().gaps, ...lost].filter(
    ({ from, to }) => (until === null || from < until) && (filter.from === null || to >= filter.from),
  );
}

/**
 * Renders the SQL for the rows of a table that had come by `asOf`, by the clock of the node that took them. Evidence
 * reads rows only through this function, so that no later row gets in.
 */
export function rowsAsOfSql(
  { folder, erased = [] }: ArchivePlace,
  table: TableName,
  filter: RowFilter,
): string {
  const { from, platform } = filter;
  const to = findEnd(filter);
  const archive = new Archive(folder);
  const segments = archive.listSegments(archive.read(), { table, platform, from, to });
  const source = segments.length === 0 ? emptyTableSql(table) : archive.createRowsSql(segments, erased);
  const where = [
    ...listSpanConditions(TABLES[table].time, from, to),
    ...(platform === null ? [] : [`platform = ${quoteSql(platform)}`]),
  ];
  return `(SELECT * FROM ${source} WHERE ${where.join(' AND ')})`;
}

/**
 * Returns the exclusive end of the time whose rows are read, in epoch ms. A row that came exactly at `asOf` is read.
 */
function findEnd({ to, asOf = null }: RowFilter): number | null {
  if (asOf === null) return to;
  return Math.min(to ?? Number.POSITIVE_INFINITY, asOf + 1);
}

/** Creates a view like `decisions` over rows that have the columns of the archive's table. */
export async function createDecisionsView(
  duck: QueryEngine,
  rows: string,
  name = 'decisions',
): Promise<void> {
  const columns = await readColumnNames(duck, rows);
  const facts = columns.filter((name) => parseLabelOfFactColumn(name) !== null);
  const missing = [...SEARCHED_FACT_TYPES.keys()]
    .map(toColumnOfFactKey)
    .filter((name) => !facts.includes(name));
  const typed = facts.map((name) => `${quoteName(name)}::${getTypeOfFactColumn(name)} AS ${quoteName(name)}`);
  const nulls = missing.map((name) => `, NULL::${getTypeOfFactColumn(name)} AS ${quoteName(name)}`).join('');
  const replaced = typed.length === 0 ? '' : `REPLACE (${typed.join(', ')})`;
  await duck.run(`CREATE OR REPLACE VIEW ${name} AS SELECT * ${replaced}${nulls} FROM ${rows}`);
}

/** Renders a DuckDB ENUM type, which stores these texts as numbers. */
export function enumSql(values: readonly string[]): string {
  return `ENUM(${values.map(quoteSql).join(', ')})`;
}

export async function readColumnNames(duck: QueryEngine, source: string): Promise<readonly string[]> {
  const rows = await duck.rows(`DESCRIBE SELECT * FROM ${source}`);
  return rows.map((row) => toTextOrNull(row['column_name']) ?? '');
}

/** Lists SQL conditions. They all hold for a time that is at or after `from` and before `to`. */
export function listSpanConditions(
  column: string,
  from: number | null,
  to: number | null,
): readonly string[] {
  return [
    'true',
    ...(from === null ? [] : [`${column} >= make_timestamp_ms(${from})`]),
    ...(to === null ? [] : [`${column} < make_timestamp_ms(${to})`]),
  ];
}
