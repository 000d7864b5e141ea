import { type DuckRow, numberOf, numbersOf, textOf } from '#history/archive/duck.ts';
import {
  type Money,
  NO_ORDERS,
  type OrderAmounts,
  type OrderCounts,
  STATUSES,
} from '#history/evidence/presentation.ts';
import { eachOf, plus } from '#history/statistics/sums.ts';

/** Clients are drawn in so many clusters: enough for an interval, few enough for any number of clients. */
const CLUSTERS = 1000;

/** SQL: the cluster of a client. A client's decisions and orders depend on each other, clusters do not. */
export function clusterOf(clientHash: string): string {
  return `(${clientHash} % ${CLUSTERS})::INT`;
}

const DIGITS = 12;

/** A sum of amounts without the rounding digits of doubles; small amounts keep their own. */
export function amountSum(sum: number): number {
  return Number(sum.toPrecision(DIGITS));
}

/** SQL: an aggregate for each status, by the members of OrderCounts, without technical failures. */
export function byOutcome(aggregate: string, prefix = ''): string {
  return STATUSES.map(
    ([member, status]) => `${aggregate} FILTER (status = '${status}')::DOUBLE AS "${prefix}${member}"`,
  ).join(', ');
}

/** SQL: what `orderSums` adds up, of rows with `status`, `reversed`, `orders` and `amount`. */
export const ORDER_SUMS_SQL = `${byOutcome('sum(orders)')}, ${byOutcome('sum(amount)', 'money_')},
  sum(amount) FILTER (reversed)::DOUBLE AS money_reversed`;

const NO_MONEY: OrderAmounts = { paid: 0, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 };

/** Orders and their money by what became of them, out of a row for each currency. */
export function orderSums(rows: readonly DuckRow[]): {
  readonly orders: OrderCounts;
  readonly amount: Money;
} {
  const money = rows.map((row): [string, OrderAmounts] => [
    textOf(row['currency']) ?? '',
    eachOf(NO_MONEY, (_, name) => amountSum(numberOf(row[`money_${name}`]) ?? 0)),
  ]);
  return {
    orders: rows.map((row) => numbersOf(row, NO_ORDERS)).reduce(plus, NO_ORDERS),
    amount: Object.fromEntries(money.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
