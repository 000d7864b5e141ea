import { type QueryEngine, toTextOrNull } from '#history/archive/query-engine.ts';

/** The name under which orders without a currency are reported. */
export const NO_CURRENCY = '-';

/** Finds the currency that most decisions of a view have. Returns null if no decision has a currency. */
export async function findMainCurrency(duck: QueryEngine, decisions: string): Promise<string | null> {
  const [row = {}] = await duck.rows(
    `SELECT fact_currency AS currency FROM ${decisions} WHERE fact_currency IS NOT NULL
    GROUP BY currency ORDER BY count(*) DESC, currency LIMIT 1`,
  );
  return toTextOrNull(row['currency']);
}
