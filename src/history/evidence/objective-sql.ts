import type { Objective } from '#decision/objective.ts';

/** Renders the SQL that converts an amount to the main currency. An amount without a rate becomes 0. */
export function toMainCurrencySql(
  { rates }: Objective,
  main: string,
  amount: string,
  currency: string,
): string {
  const known = Object.entries({ ...rates, [main]: 1 });
  const cases = known.map(([name, rate]) => `WHEN '${name}' THEN ${rate}`).join(' ');
  return `coalesce(${amount} * CASE ${currency} ${cases} ELSE 0 END, 0)`;
}

/** Renders the SQL that computes a client's value from its sums. */
export function clientValueSql(
  { margin, reversalCost, requisiteCost }: Objective,
  { lasting, reversals, requisites }: Readonly<Record<'lasting' | 'reversals' | 'requisites', string>>,
): string {
  return `(${margin} * (${lasting}) - ${reversalCost} * (${reversals}) - ${requisiteCost} * (${requisites}))`;
}
