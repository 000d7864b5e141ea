import {
  type ResultRow,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import {
  type CurrencyAmounts,
  NO_ORDERS,
  ORDER_COUNT_STATUS_PAIRS,
  type OrderAmounts,
  type OrderCounts,
} from '#history/evidence/presentation.ts';
import { addSums, mapSums } from '#history/statistics/sums.ts';

/**
 * The number of clusters of clients. There are enough for an interval, and so few that memory does not grow with the
 * number of clients.
 */
const CLUSTERS = 1000;

/**
 * Renders the SQL for a client's cluster. A client's decisions and orders depend on each other. Clusters do not
 * depend on each other.
 */
export function clusterSql(clientHash: string): string {
  return `(${clientHash} % ${CLUSTERS})::INT`;
}

const DIGITS = 12;

/** Rounds a sum of amounts to 12 digits, which removes the rounding errors of doubles and keeps small amounts. */
export function roundAmountSum(sum: number): number {
  return Number(sum.toPrecision(DIGITS));
}

/** Renders SQL that computes an aggregate for each member of `OrderCounts`. Technical failures have no member. */
export function aggregateByOutcomeSql(aggregate: string, prefix = ''): string {
  return ORDER_COUNT_STATUS_PAIRS.map(
    ([member, status]) => `${aggregate} FILTER (status = '${status}')::DOUBLE AS "${prefix}${member}"`,
  ).join(', ');
}

/**
 * The SQL whose columns `readOrderSums` adds up. Its source has the columns `status`, `reversed`, `orders` and
 * `amount`.
 */
export const ORDER_SUMS_SQL = `${aggregateByOutcomeSql('sum(orders)')}, ${aggregateByOutcomeSql('sum(amount)', 'money_')},
  sum(amount) FILTER (reversed)::DOUBLE AS money_reversed`;

const NO_MONEY: OrderAmounts = { paid: 0, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 };

/** Adds up orders and their money by outcome, from a row for each currency. */
export function readOrderSums(rows: readonly ResultRow[]): {
  readonly orders: OrderCounts;
  readonly amount: CurrencyAmounts;
} {
  const money = rows.map((row): [string, OrderAmounts] => [
    toTextOrNull(row['currency']) ?? '',
    mapSums(NO_MONEY, (_, name) => roundAmountSum(toNumberOrNull(row[`money_${name}`]) ?? 0)),
  ]);
  return {
    orders: rows.map((row) => toNumbersByColumn(row, NO_ORDERS)).reduce(addSums, NO_ORDERS),
    amount: Object.fromEntries(money.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
