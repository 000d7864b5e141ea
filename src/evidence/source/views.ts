import { Archive } from '../../archive/archive.ts';
import type { ArchiveGap, Segment } from '../../archive/archive-log.ts';
import { type Duck, quote, quoteName, textOf } from '../../archive/duck.ts';
import { factColumn, factLabel } from '../../archive/record-columns.ts';
import { emptyTable, type TableName } from '../../archive/tables.ts';
import type { PlatformName } from '../../client/client-key.ts';
import { FACTS } from '../../facts/catalogue.ts';
import type { ArchivePlace } from './evidence.ts';

/** Which decisions are looked at. */
interface ViewFilter {
  /** Epoch ms; null for all. */
  readonly from: number | null;
  readonly to: number | null;
  readonly asOf?: number | null;
  readonly platform: PlatformName | null;
}

/** The tables that figures are taken from. */
const EVIDENCE: ReadonlySet<TableName> = new Set(['decisions', 'outcomes']);

/** Whether rows of a segment may belong to what is looked at. */
export function isEvidence({ from, to, platform }: ViewFilter): (segment: Segment) => boolean {
  return (segment) =>
    EVIDENCE.has(segment.table) &&
    (platform ?? segment.platform) === segment.platform &&
    (from === null || segment.to >= from) &&
    (to === null || segment.from <= to || segment.table === 'outcomes');
}

/**
 * Makes the views of evidence over the segments of an archive, each file read only as far as it is asked for. Gives what
 * they leave out that was there once.
 */
export async function makeArchiveViews(
  duck: Duck,
  { folder, erased = [], leftOut = [] }: ArchivePlace,
  filter: ViewFilter,
): Promise<readonly ArchiveGap[]> {
  const archive = new Archive(folder);
  const state = archive.read();
  const where = {
    ...(filter.platform === null ? {} : { platform: filter.platform }),
    ...(filter.from === null ? {} : { from: filter.from }),
  };
  const until = filter.to === null ? {} : { to: filter.to };
  const decided = archive.segments(state, { table: 'decisions', ...where, ...until });
  const reported = archive.segments(state, { table: 'outcomes', ...where });
  await makeDecisionsView(duck, decided.length === 0 ? null : archive.source(decided, erased), filter);
  await makeOutcomesView(duck, reported.length === 0 ? null : archive.source(reported, erased), filter);
  const lost = leftOut
    .filter(({ table, platform }) => EVIDENCE.has(table) && (filter.platform ?? platform) === platform)
    .map(({ from, to, rows }) => ({ from, to, entries: rows }));
  return [...state.gaps, ...lost].filter(
    ({ from, to }) => (filter.to === null || from < filter.to) && (filter.from === null || to >= filter.from),
  );
}

/** Facts that every view of decisions has, recorded or not: orders and payment scores are read from them. */
const NEEDED_FACTS = ['amount', 'currency', 'method', 'paidCount', 'finalCount'] as const;

/** Makes the view `decisions` over rows that have the columns of the archive's table. */
async function makeDecisionsView(
  duck: Duck,
  source: string | null,
  { from, to, platform }: ViewFilter,
): Promise<void> {
  const rows = source ?? emptyTable('decisions');
  const columns = await columnsOf(duck, rows);
  const facts = columns.filter((name) => factLabel(name) !== null);
  const missing = NEEDED_FACTS.map(factColumn).filter((name) => !facts.includes(name));
  const typed = facts.map((name) => `${quoteName(name)}::${typeOfFact(name)} AS ${quoteName(name)}`);
  const nulls = missing.map((name) => `, NULL::${typeOfFact(name)} AS ${quoteName(name)}`).join('');
  const replaced = typed.length === 0 ? '' : `REPLACE (${typed.join(', ')})`;
  const where = [...between('decided_at', from, to), ...onPlatform(platform)].join(' AND ');
  await duck.run(`CREATE VIEW decisions AS SELECT * ${replaced}${nulls} FROM ${rows} WHERE ${where}`);
}

/** Makes the view `outcomes`, not until the last decision but until now, or `asOf`: what became of an order is reported later. */
async function makeOutcomesView(
  duck: Duck,
  source: string | null,
  { from, asOf = null, platform }: ViewFilter,
): Promise<void> {
  const where = [...between('reported_at', from, asOf), ...onPlatform(platform)].join(' AND ');
  await duck.run(`CREATE VIEW outcomes AS SELECT * FROM ${source ?? emptyTable('outcomes')} WHERE ${where}`);
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

export function onPlatform(platform: PlatformName | null): readonly string[] {
  return platform === null ? [] : [`platform = ${quote(platform)}`];
}
