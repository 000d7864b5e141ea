import { type Duck, numberOf } from '../../archive/duck.ts';

/** Conditions that part the rows of a view by their "at", one span after the other, each with about as many as are wanted. */
export async function timeSpans(duck: Duck, view: string, rowsMax: number): Promise<readonly string[]> {
  const [{ n } = { n: 0 }] = await duck.rows(`SELECT count(*) AS n FROM ${view}`);
  const spans = Math.ceil((numberOf(n) ?? 0) / rowsMax);
  if (spans <= 1) return ['true'];
  const shares = Array.from({ length: spans - 1 }, (_, span) => (span + 1) / spans);
  const rows = await duck.rows(
    `SELECT DISTINCT unnest(quantile_disc("at", [${shares.join(', ')}])) AS border FROM ${view} ORDER BY border`,
  );
  const borders = rows.map(({ border }) => numberOf(border) ?? 0);
  return [Number.NEGATIVE_INFINITY, ...borders].map((from, span) => {
    const to = borders[span];
    const since = Number.isFinite(from) ? `"at" >= ${from}` : 'true';
    return `${since}${to === undefined ? '' : ` AND "at" < ${to}`}`;
  });
}
