import { clientNumber } from '../../client/client-key.ts';
import type { DecisionFilter, DecisionPosition } from '../../decision/decision-filter.ts';
import { archiveReadings, NobodyWaits } from '../../state/paced-steps.ts';
import { type Archive, type ErasedClients, withoutThese } from '../archive.ts';
import type { ArchiveState, LeftOut, Segment } from '../archive-log.ts';
import { type Duck, type DuckBatch, type DuckRow, quote } from '../duck.ts';

/** Rows that were asked for, and the segments among those asked that could not be read. */
export interface ReadRows<Row = DuckRow> {
  readonly rows: readonly Row[];
  readonly unreadable: readonly LeftOut[];
}

export type RowsOf<Row = DuckRow> = (
  segments: readonly Segment[],
  sql: (source: string) => string,
) => Promise<ReadRows<Row>>;

/** How the rows of one question are read. */
type Ask<Row> = (duck: Duck, sql: string) => Promise<readonly Row[]>;

export const askRows: Ask<DuckRow> = (duck, sql) => duck.rows(sql);
/** For rows that are made one by one later. */
export const askBatches: Ask<DuckBatch> = (duck, sql) => duck.wholeBatches(sql);

interface Asked {
  readonly archive: Archive;
  readonly duck: () => Promise<Duck>;
}

/** Rows of segments of one state of the archive, but for those of the clients whose numbers are given. */
export async function rowsOfSegments<Row>(
  { archive, duck: open }: Asked,
  ask: Ask<Row>,
  state: ArchiveState,
  wanted: readonly Segment[],
  sql: (source: string) => string,
  erased: ErasedClients,
): Promise<ReadRows<Row>> {
  const replaced = async () => (await archive.refresh()).version !== state.version;
  const missing = await archive.bring(wanted);
  if (missing.length > 0 && (await replaced())) throw new Error('segments were replaced meanwhile');
  const segments = withoutThese(wanted, missing);
  if (segments.length === 0) return { rows: [], unreadable: missing };
  const duck = await open();
  const rowsOf = (some: readonly Segment[]) =>
    archiveReadings.run(() => ask(duck, sql(archive.source(some, erased))));
  try {
    return { rows: await rowsOf(segments), unreadable: missing };
  } catch (cause) {
    if (cause instanceof NobodyWaits || (await replaced())) throw cause;
    const parts = await oneByOne(segments, (segment) => rowsOf([segment]), cause);
    if (await replaced()) throw cause;
    return { ...parts, unreadable: [...missing, ...parts.unreadable] };
  }
}

/** One damaged segment harms only itself. */
async function oneByOne<Row>(
  segments: readonly Segment[],
  rowsOf: (segment: Segment) => Promise<readonly Row[]>,
  cause: unknown,
) {
  const rows: Row[] = [];
  const unreadable: Segment[] = [];
  for (const segment of segments) {
    try {
      rows.push(...(await rowsOf(segment)));
    } catch (error) {
      if (error instanceof NobodyWaits) throw error;
      unreadable.push(segment);
    }
  }
  // Every segment can be read alone, so it was the question that was wrong.
  if (unreadable.length === 0) throw cause;
  return { rows, unreadable };
}

/** SQL: that a decision fits, as `fitsFilter` says. */
export function filterCondition(filter: DecisionFilter): string {
  const { signal, amountMin, amountMax, from, to, after } = filter;
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? [] : [`${column} = ${quote(value)}`];
  return [
    'true',
    ...equals('verdict', filter.verdict),
    ...equals('rule', filter.rule),
    ...equals('rule_version', filter.ruleVersion),
    ...equals('client_group', filter.clientGroup),
    ...(signal === undefined ? [] : [`list_contains(signals, ${quote(signal)})`]),
    ...equals('sell_point_key', filter.sellPointKey),
    ...equals('fact_method', filter.method),
    ...equals('arm', filter.arm),
    ...(amountMin === undefined ? [] : [`fact_amount >= ${amountMin}`]),
    ...(amountMax === undefined ? [] : [`fact_amount <= ${amountMax}`]),
    ...(from === undefined ? [] : [`decided_at >= make_timestamp_ms(${from})`]),
    ...(to === undefined ? [] : [`decided_at < make_timestamp_ms(${to})`]),
    ...(after === undefined ? [] : [afterSql(after)]),
  ].join(' AND ');
}

/** What `isAfter` says, in SQL. */
function afterSql({ at, clientHash, seq }: DecisionPosition): string {
  const [time, client] = [`make_timestamp_ms(${at})`, clientNumber(clientHash)];
  const sameTime = `client_hash < ${client} OR (client_hash = ${client} AND seq < ${seq})`;
  return `(decided_at < ${time} OR (decided_at = ${time} AND (${sameTime})))`;
}
