import { Archive } from '../../archive/archive.ts';
import type { ArchiveGap, Segment } from '../../archive/archive-log.ts';
import { type Duck, quote, quoteName, textOf } from '../../archive/duck.ts';
import { factColumn, factLabel } from '../../archive/record-columns.ts';
import { emptyTable, isAboutClients, TABLES, type TableName } from '../../archive/tables.ts';
import type { PlatformName } from '../../client/client-key.ts';
import { FACTS } from '../../facts/catalogue.ts';
import type { ArchivePlace } from './evidence.ts';

/** Which rows are looked at. Times are epoch ms; null for all. */
export interface RowFilter {
  readonly from: number | null;
  readonly to: number | null;
  /** What came to the journal later was not known then; absent is null. */
  readonly asOf?: number | null;
  readonly platform: PlatformName | null;
}

/** The tables that figures are taken from. */
const EVIDENCE: ReadonlySet<TableName> = new Set(['decisions', 'outcomes']);

/** What became of an order is reported after the time that is looked at, and so are erasures. */
const OF_ALL_TIMES: ReadonlySet<TableName> = new Set(['outcomes', 'erasures']);

/** Whether rows of a segment may belong to what is looked at, of whichever table: a replay needs all that came in. */
export function isEvidence({ from, to, platform }: RowFilter): (segment: Segment) => boolean {
  return (segment) =>
    (platform ?? segment.platform) === segment.platform &&
    (OF_ALL_TIMES.has(segment.table) ||
      ((from === null || segment.to >= from) && (to === null || segment.from <= to)));
}

/**
 * Makes the views of evidence over the segments of an archive, each file read only as far as it is asked for. Gives what
 * they leave out that was there once.
 */
export async function makeArchiveViews(
  duck: Duck,
  place: ArchivePlace,
  filter: RowFilter,
): Promise<readonly ArchiveGap[]> {
  const { folder, leftOut = [] } = place;
  await makeDecisionsView(duck, knownRows(place, 'decisions', filter));
  // Without an end: what became of an order is reported later.
  const reported = knownRows(place, 'outcomes', { ...filter, to: null });
  await duck.run(`CREATE VIEW outcomes AS FROM ${reported}`);
  const lost = leftOut
    .filter(({ table, platform }) => EVIDENCE.has(table) && (filter.platform ?? platform) === platform)
    .map(({ from, to, rows }) => ({ from, to, entries: rows }));
  const until = endOf(filter);
  return [...new Archive(folder).read().gaps, ...lost].filter(
    ({ from, to }) => (until === null || from < until) && (filter.from === null || to >= filter.from),
  );
}

/**
 * SQL: the rows of a table that had come by `asOf`, by the clock of the node that took them. This is the one place where
 * evidence reads rows, so that nothing it tells is of later.
 */
export function knownRows(
  { folder, erased = [] }: ArchivePlace,
  table: TableName,
  filter: RowFilter,
): string {
  const { from, platform } = filter;
  const to = endOf(filter);
  const archive = new Archive(folder);
  const segments = archive.segments(archive.read(), {
    table,
    ...(platform === null ? {} : { platform }),
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
  });
  const leftOut = isAboutClients(table) ? erased : [];
  const source = segments.length === 0 ? emptyTable(table) : archive.source(segments, leftOut);
  const where = [
    ...between(TABLES[table].time, from, to),
    ...(platform === null ? [] : [`platform = ${quote(platform)}`]),
  ];
  return `(SELECT * FROM ${source} WHERE ${where.join(' AND ')})`;
}

/** Before which time rows are looked at, epoch ms: what came at `asOf` itself was known then. */
function endOf({ to, asOf = null }: RowFilter): number | null {
  if (asOf === null) return to;
  return Math.min(to ?? Number.POSITIVE_INFINITY, asOf + 1);
}

/** Facts that every view of decisions has, recorded or not: orders and payment scores are read from them. */
const NEEDED_FACTS = ['amount', 'currency', 'method', 'paidCount', 'finalCount'] as const;

/** Makes the view `decisions` over rows that have the columns of the archive's table. */
async function makeDecisionsView(duck: Duck, rows: string): Promise<void> {
  const columns = await columnsOf(duck, rows);
  const facts = columns.filter((name) => factLabel(name) !== null);
  const missing = NEEDED_FACTS.map(factColumn).filter((name) => !facts.includes(name));
  const typed = facts.map((name) => `${quoteName(name)}::${typeOfFact(name)} AS ${quoteName(name)}`);
  const nulls = missing.map((name) => `, NULL::${typeOfFact(name)} AS ${quoteName(name)}`).join('');
  const replaced = typed.length === 0 ? '' : `REPLACE (${typed.join(', ')})`;
  await duck.run(`CREATE VIEW decisions AS SELECT * ${replaced}${nulls} FROM ${rows}`);
}

/** DuckDB's type for the column of a fact; a fact that the catalogue does not know any more is a text. */
export function typeOfFact(column: string): 'BOOLEAN' | 'BIGINT' | 'DOUBLE' | 'VARCHAR' {
  const [name = ''] = (factLabel(column) ?? '').split('(');
  const domain = FACTS.get(name)?.domain;
  switch (domain?.type) {
    case 'number':
      return domain.integer ? 'BIGINT' : 'DOUBLE';
    case 'boolean':
      return 'BOOLEAN';
    case 'enum':
    case 'text':
    case undefined:
      return 'VARCHAR';
    default:
      return domain satisfies never;
  }
}

/** DuckDB's type of these texts as numbers. */
export function enumOf(values: readonly string[]): string {
  return `ENUM(${values.map(quote).join(', ')})`;
}

/** The names of the columns that a source of rows has. */
export async function columnsOf(duck: Duck, source: string): Promise<readonly string[]> {
  const rows = await duck.rows(`DESCRIBE SELECT * FROM ${source}`);
  return rows.map((row) => textOf(row['column_name']) ?? '');
}

/** SQL: conditions that a time lies in the span. */
export function between(column: string, from: number | null, to: number | null): readonly string[] {
  return [
    'true',
    ...(from === null ? [] : [`${column} >= make_timestamp_ms(${from})`]),
    ...(to === null ? [] : [`${column} < make_timestamp_ms(${to})`]),
  ];
}
