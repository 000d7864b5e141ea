import type { Objective } from '#decision/objective.ts';

/** SQL: what an amount in a currency is worth in the main one. */
export function worthSql({ rates }: Objective, main: string, amount: string, currency: string): string {
  const known = Object.entries({ ...rates, [main]: 1 });
  const cases = known.map(([name, rate]) => `WHEN '${name}' THEN ${rate}`).join(' ');
  return `coalesce(${amount} * CASE ${currency} ${cases} ELSE 0 END, 0)`;
}

/** SQL: the value of sums of a client. */
export function valueSql(
  { margin, reversalCost, requisiteCost }: Objective,
  { lasting, reversals, requisites }: Readonly<Record<'lasting' | 'reversals' | 'requisites', string>>,
): string {
  return `(${margin} * (${lasting}) - ${reversalCost} * (${reversals}) - ${requisiteCost} * (${requisites}))`;
}
