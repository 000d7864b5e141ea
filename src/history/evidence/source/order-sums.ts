import { type DuckRow, toNumberOrNull, toNumbers, toTextOrNull } from '#history/archive/duck.ts';
import {
  type Money,
  NO_ORDERS,
  type OrderAmounts,
  type OrderCounts,
  STATUSES,
} from '#history/evidence/presentation.ts';
import { addSums, mapSums } from '#history/statistics/sums.ts';

/** Clients are drawn in so many clusters: enough for an interval, few enough for any number of clients. */
const CLUSTERS = 1000;

/** SQL: the cluster of a client. A client's decisions and orders depend on each other, clusters do not. */
export function clusterSql(clientHash: string): string {
  return `(${clientHash} % ${CLUSTERS})::INT`;
}

const DIGITS = 12;

/** A sum of amounts without the rounding digits of doubles; small amounts keep their own. */
export function roundAmountSum(sum: number): number {
  return Number(sum.toPrecision(DIGITS));
}

/** SQL: an aggregate for each status, by the members of OrderCounts, without technical failures. */
export function byOutcomeSql(aggregate: string, prefix = ''): string {
  return STATUSES.map(
    ([member, status]) => `${aggregate} FILTER (status = '${status}')::DOUBLE AS "${prefix}${member}"`,
  ).join(', ');
}

/** SQL: what `readOrderSums` adds up, of rows with `status`, `reversed`, `orders` and `amount`. */
export const ORDER_SUMS_SQL = `${byOutcomeSql('sum(orders)')}, ${byOutcomeSql('sum(amount)', 'money_')},
  sum(amount) FILTER (reversed)::DOUBLE AS money_reversed`;

const NO_MONEY: OrderAmounts = { paid: 0, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 };

/** Orders and their money by what became of them, out of a row for each currency. */
export function readOrderSums(rows: readonly DuckRow[]): {
  readonly orders: OrderCounts;
  readonly amount: Money;
} {
  const money = rows.map((row): [string, OrderAmounts] => [
    toTextOrNull(row['currency']) ?? '',
    mapSums(NO_MONEY, (_, name) => roundAmountSum(toNumberOrNull(row[`money_${name}`]) ?? 0)),
  ]);
  return {
    orders: rows.map((row) => toNumbers(row, NO_ORDERS)).reduce(addSums, NO_ORDERS),
    amount: Object.fromEntries(money.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
