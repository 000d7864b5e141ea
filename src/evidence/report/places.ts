import { type Duck, type DuckRow, numberOf, quote, textOf } from '../../archive/duck.ts';
import type { SliceName } from './rule-report.ts';

/** A currency within a slice of the decisions. */
export interface ReportPlace {
  readonly currency: string;
  /** Null when the report has no slices. */
  readonly slice: string | null;
}

/** Where each decision belongs: SQL for the number of its place, and what each number stands for. */
export interface Places {
  readonly sql: string;
  readonly join: string;
  readonly of: (number: number) => ReportPlace;
  /** In the order in which they are shown. */
  readonly slices: readonly string[];
}

/** More slices than these are shown together as the others: nobody reads a table of a thousand points of sale. */
const SLICES_MAX = 60;

const OTHER_SLICES = '(others)';

const NO_CURRENCY = '-';

const SLICE_SQL = {
  day: "strftime(decided_at, '%Y-%m-%d')",
  week: "strftime(date_trunc('week', decided_at), '%Y-%m-%d')",
  method: "coalesce(fact_method, '-')",
  currency: `coalesce(fact_currency, '${NO_CURRENCY}')`,
  sellPoint: 'sell_point_key',
  platform: 'platform',
} as const satisfies Record<SliceName, string>;

/** Numbers the currencies, and the slices when there are any: the most frequent ones get a number of their own. */
export async function numberPlaces(duck: Duck, by: SliceName | null): Promise<Places> {
  const currency = SLICE_SQL.currency;
  const slice = by === null ? "''" : SLICE_SQL[by];
  await duck.run(`CREATE OR REPLACE TEMP TABLE places AS
    WITH pairs AS (SELECT ${currency} AS currency, ${slice} AS slice, count(*) AS n FROM decisions GROUP BY ALL),
    kept AS (SELECT slice FROM pairs GROUP BY slice ORDER BY ${isTime(by) ? 'slice' : 'sum(n)'} DESC, slice LIMIT ${SLICES_MAX})
    SELECT (row_number() OVER (ORDER BY currency, slice))::INT AS place, currency, slice,
      CASE WHEN slice IN (FROM kept) THEN slice ELSE ${quote(OTHER_SLICES)} END AS shown, n FROM pairs`);
  const rows = await duck.rows('SELECT place, currency, shown, n::DOUBLE AS n FROM places');
  const places = new Map(rows.map((row) => [numberOf(row['place']) ?? 0, placeOf(row, by)]));
  const join = `JOIN places ON places.currency = ${currency} AND places.slice = ${slice}`;
  const [only = 0] = places.keys();
  return {
    ...(places.size <= 1 ? { sql: String(only), join: '' } : { sql: 'places.place', join }),
    of: (number) => places.get(number) ?? placeOf({}, by),
    slices: by === null ? [] : inOrder(rows, by),
  };
}

function placeOf(row: DuckRow, by: SliceName | null): ReportPlace {
  const currency = textOf(row['currency']) ?? NO_CURRENCY;
  return { currency, slice: by === null ? null : (textOf(row['shown']) ?? OTHER_SLICES) };
}

/** Times in their order, others by their size, and what is not shown one by one at the end. */
function inOrder(rows: readonly DuckRow[], by: SliceName): readonly string[] {
  const sizes = new Map<string, number>();
  for (const row of rows) {
    const name = textOf(row['shown']) ?? OTHER_SLICES;
    sizes.set(name, (sizes.get(name) ?? 0) + (numberOf(row['n']) ?? 0));
  }
  const own = [...sizes].filter(([name]) => name !== OTHER_SLICES);
  const sorted = own.toSorted(([a, m], [b, n]) => (isTime(by) ? 0 : n - m) || (a < b ? -1 : 1));
  return [...sorted.map(([name]) => name), ...(sizes.has(OTHER_SLICES) ? [OTHER_SLICES] : [])];
}

function isTime(by: SliceName | null): boolean {
  return by === 'day' || by === 'week';
}
