import { type Duck, numberOf } from '../../archive/duck.ts';

/** Conditions that split the rows of a view by their "at" into spans of about the wanted size, in order. */
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

/** How many bits of a client's number, which is evenly spread over 64 bits, choose its pass. */
const PASS_BITS = 16;

/**
 * Conditions that split the clients evenly, so that no pass has many more decisions than `decisionsMax` and its
 * orders fit into memory. Everything of a client is in the same pass.
 */
export function clientPasses(decisions: number, decisionsMax: number): readonly string[] {
  const passes = Math.max(1, Math.ceil(decisions / decisionsMax));
  if (passes === 1) return ['true'];
  const border = (pass: number) =>
    BigInt(Math.floor((pass * 2 ** PASS_BITS) / passes)) << BigInt(64 - PASS_BITS);
  // As a range, because row groups that are out of it are then not read.
  return Array.from(
    { length: passes },
    (_, pass) => `client_hash BETWEEN ${border(pass)} AND ${border(pass + 1) - 1n}`,
  );
}
