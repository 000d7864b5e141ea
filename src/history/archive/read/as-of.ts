import { count, epochMs, shape, type ValueOf } from '#base/shapes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type ResultRow, toNumberOrNull, toTextsOrNull } from '#history/archive/query-engine.ts';
import type { Snapshot } from '#history/archive/snapshot.ts';

export const erasedSinceMomentSchema = shape(
  'A moment of the past whose knowledge the figures are of; absent: all that is known',
  {
    at: epochMs('What came to the journal later is in no figure'),
    erasedPayers: count(
      'Payers of the platform who were erased since: they were counted then and are no more',
    ),
    erasedRows: count('Rows of all times and tables that went with them'),
  },
);

export type ErasedSinceMoment = ValueOf<typeof erasedSinceMomentSchema>;

/**
 * Returns SQL that sums up rows of `erasures`: the numbers of the erased clients, how many clients have no number any
 * more, and how many rows were removed.
 */
export function erasureSumsSql(rows: string): string {
  return `SELECT list_distinct(list(client_number)) AS payers, count(*) FILTER (client_number IS NULL) AS nameless,
    sum(rows_removed)::DOUBLE AS removed FROM ${rows}`;
}

/**
 * Sums up what was erased since the moment to which figures refer. `rows` are the rows of `erasureSumsSql`. `unshipped`
 * are the numbers of erased clients that the archive does not know of yet.
 */
export function sumErasedSinceMoment(
  at: number,
  rows: readonly ResultRow[],
  unshipped: readonly string[],
): ErasedSinceMoment {
  const payers = new Set([...unshipped, ...rows.flatMap((row) => toTextsOrNull(row['payers']) ?? [])]);
  const sum = (column: string) => rows.reduce((total, row) => total + (toNumberOrNull(row[column]) ?? 0), 0);
  return { at, erasedPayers: payers.size + sum('nameless'), erasedRows: sum('removed') };
}

/**
 * Counts the clients who were erased after a moment of the past. Figures of that moment counted these clients then,
 * and no longer do.
 */
export async function readErasedSinceMoment(
  past: Snapshot,
  at: number,
  platform: PlatformName | null,
): Promise<ErasedSinceMoment> {
  const rows = await past.rows((source) =>
    erasureSumsSql(
      `(SELECT * FROM ${source('erasures', { from: at + 1, platform })} WHERE erased_at > make_timestamp_ms(${at}))`,
    ),
  );
  return sumErasedSinceMoment(at, rows, []);
}
