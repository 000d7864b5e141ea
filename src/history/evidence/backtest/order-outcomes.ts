import {
  type DuckAppender,
  type QueryEngine,
  quoteName,
  quoteSql,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { isCodeOfVerdictsSql } from '#history/evidence/comparison.ts';
import { NO_ORDERS } from '#history/evidence/presentation.ts';
import { aggregateByOutcomeSql, ORDER_SUMS_SQL, readOrderSums } from '#history/evidence/source/order-sums.ts';
import {
  type ClusterCount,
  type Estimate,
  estimateByBootstrap,
  estimateShareByCluster,
} from '#history/statistics/intervals.ts';
import type {
  AffectedOrderFigures,
  CandidateEffects,
  HistoryPart,
  HistoryPartOrders,
  OrderSums,
} from './backtest-report.ts';

/**
 * Creates the table `answers`. It has a row for each request, with the answers of several sides: the base and the
 * candidates. The table is in DuckDB, which moves data to disk that does not fit into its memory. Therefore outcomes
 * can be joined to the table whatever its length.
 *
 * Its columns are `client_hash`, `order_key` (see order-status.ts), `at` (epoch ms), and for each side a column like
 * `answer_0` with a code of `AnswerCodec`. Side 0 is the base.
 */
export async function createAnswersTable(duck: QueryEngine, sides: number): Promise<DuckAppender> {
  const answers = Array.from({ length: sides }, (_, side) => `answer_${side} INTEGER`);
  const columns = ['client_hash UBIGINT', 'order_key UBIGINT', '"at" DOUBLE', ...answers];
  await duck.run(`CREATE OR REPLACE TABLE answers (${columns.join(', ')})`);
  return duck.openAppender('answers');
}

/**
 * Creates the table `answered_orders`, which joins the answers to the outcomes of the orders. It has a row for each
 * order, with the answer of each side. An order whose last outcome is a technical failure says nothing about the
 * payer, and is left out.
 */
export async function joinOutcomes(duck: QueryEngine, sides: number): Promise<void> {
  const ofSide = (side: number) => [
    `bool_or(${isCodeOfVerdictsSql(`answer_${side}`, 'WAIT', 'BLOCK')}) AS delayed_${side}`,
    `bool_or(${isCodeOfVerdictsSql(`answer_${side}`, 'GET_NEW', 'GET_SAME_STICKY')}) AS granted_${side}`,
  ];
  const answered = Array.from({ length: sides }, (_, side) => ofSide(side)).flat();
  await duck.run(`CREATE OR REPLACE TABLE answered_orders AS
    SELECT answered.*, status, reversed, amount, currency FROM (
      SELECT order_key, any_value(client_hash) AS client_hash, min("at") AS first_at, ${answered.join(', ')}
      FROM answers GROUP BY order_key
    ) answered JOIN (SELECT order_key, status, reversed, amount, currency FROM orders WHERE status <> 'TECHNICAL') USING (order_key)`);
}

/** Renders the SQL condition for the orders that a side grants and the base does not. */
export function isOpenedBySql(side: number): string {
  return `granted_${side} AND NOT granted_0`;
}

/** Renders the SQL condition for the orders that the base grants and a side does not. */
export function isClosedBySql(side: number): string {
  return `granted_0 AND NOT granted_${side}`;
}

/**
 * Reads the sums of orders and their money by outcome and currency, over the rows of `answered_orders` that meet the
 * SQL condition `which`.
 */
export async function readOrderSumsWhere(duck: QueryEngine, which: string): Promise<OrderSums> {
  return readOrderSums(
    await duck.rows(`SELECT currency, ${ORDER_SUMS_SQL} FROM (SELECT *, 1 AS orders FROM answered_orders WHERE ${which})
      GROUP BY currency`),
  );
}

/**
 * Finds the time, in epoch ms, by which half of all orders had been asked for. A backtest that tries several values
 * of a rule's constant chooses by the orders before that time, and checks the choice with the orders after it.
 */
export async function readMedianOrderTime(duck: QueryEngine): Promise<number> {
  const [row = {}] = await duck.rows(
    'SELECT epoch_ms(quantile_disc(first_at, 0.5))::DOUBLE AS split_at FROM orders',
  );
  return Number(row['split_at'] ?? 0);
}

/**
 * Renders the SQL condition for the orders of one part. An order belongs to the part in which it was first asked for.
 */
function partConditionSql(part: HistoryPart, splitAt: number): string {
  return part === 'earlier' ? `first_at < ${splitAt}` : `first_at >= ${splitAt}`;
}

/**
 * Reads how many orders of one part of the history had which outcome, and the times of its first and last order.
 * `splitAt` (epoch ms) divides the earlier part from the later.
 */
export async function countOrdersOfHistoryPart(
  duck: QueryEngine,
  part: HistoryPart,
  splitAt: number,
): Promise<HistoryPartOrders> {
  const [row = {}] = await duck.rows(
    `SELECT min(first_at) AS first, max(first_at) AS last, ${aggregateByOutcomeSql('count(*)')}
     FROM answered_orders WHERE ${partConditionSql(part, splitAt)}`,
  );
  return {
    from: toNumberOrNull(row['first']),
    to: toNumberOrNull(row['last']),
    orders: toNumbersByColumn(row, NO_ORDERS),
  };
}

const EFFECTS = {
  unpaidClosed: ['UNPAID', isClosedBySql],
  paidClosed: ['PAID', isClosedBySql],
  paidHeldBack: ['PAID', (side: number) => `granted_${side} AND delayed_${side} AND NOT delayed_0`],
} as const satisfies Record<keyof CandidateEffects, readonly [string, (side: number) => string]>;

/**
 * Computes, for each side except the base, what the side does to the orders of a part and the base does not. The
 * intervals are computed from the sums of each client.
 */
export async function computeCandidateEffects(
  duck: QueryEngine,
  part: HistoryPart,
  splitAt: number,
  sides: number,
): Promise<readonly CandidateEffects[]> {
  const sums = await readClientSums(duck, part, splitAt, sides);
  return Array.from({ length: sides - 1 }, (_, place) => ({
    unpaidClosed: computeEffect(sums, 'unpaidClosed', place + 1),
    paidClosed: computeEffect(sums, 'paidClosed', place + 1),
    paidHeldBack: computeEffect(sums, 'paidHeldBack', place + 1),
  }));
}

type ClientSums = Awaited<ReturnType<typeof readClientSums>>;

/**
 * Reads sums for each client. Each column holds one value for each client: `NAME_SIDE` counts orders, and
 * `NAME_SIDE_INDEX` sums money in the currency with that index.
 */
async function readClientSums(duck: QueryEngine, part: HistoryPart, splitAt: number, sides: number) {
  const where = partConditionSql(part, splitAt);
  const known = await duck.rows('SELECT DISTINCT currency FROM answered_orders WHERE currency IS NOT NULL');
  const currencies = known.map((row) => toTextOrNull(row['currency']) ?? '').toSorted();
  const sums = listClientSums(sides, currencies);
  const [counted = {}] = await duck.rows(
    `SELECT count(DISTINCT client_hash) AS clients FROM answered_orders WHERE ${where}`,
  );
  const { clients } = toNumbersByColumn(counted, { clients: 0 });
  const columns = new Map(sums.map(([name]) => [name, new Float64Array(clients)]));
  const select = sums.map(([name, sql]) => `coalesce(${sql}, 0)::DOUBLE AS ${quoteName(name)}`);
  const sql = `SELECT ${select.join(', ')} FROM answered_orders WHERE ${where} GROUP BY client_hash ORDER BY client_hash`;
  let client = 0;
  for await (const batch of duck.batches(sql)) {
    for (const [name, column] of columns)
      for (const [row, value] of batch.numbers(name).entries()) column[client + row] = value ?? 0;
    client += batch.rowCount;
  }
  return { clients, currencies, columns };
}

function listClientSums(
  sides: number,
  currencies: readonly string[],
): readonly (readonly [string, string])[] {
  const sums: (readonly [string, string])[] = [
    ['PAID', `count(*) FILTER (status = 'PAID')`],
    ['UNPAID', `count(*) FILTER (status = 'UNPAID')`],
  ];
  for (let side = 1; side < sides; side++)
    for (const [name, [status, holds]] of Object.entries(EFFECTS)) {
      const which = `status = '${status}' AND ${holds(side)}`;
      sums.push([`${name}_${side}`, `count(*) FILTER (${which})`]);
      for (const [place, currency] of currencies.entries())
        sums.push([
          `${name}_${side}_${place}`,
          `sum(amount) FILTER (${which} AND currency = ${quoteSql(currency)})`,
        ]);
    }
  return sums;
}

function computeEffect(
  { clients, currencies, columns }: ClientSums,
  name: keyof CandidateEffects,
  side: number,
): AffectedOrderFigures {
  const column = (of: string) => columns.get(of) ?? new Float64Array(clients);
  const [orders, all] = [column(`${name}_${side}`), column(EFFECTS[name][0])];
  const money = currencies.map((_, place) => column(`${name}_${side}_${place}`));
  const amounts = estimateByBootstrap(clients, (drawn) => money.map((sums) => sumDrawn(sums, drawn)));
  const amount = currencies.flatMap((currency, place): [string, Estimate][] => {
    const estimate = amounts[place];
    return estimate === null || estimate === undefined ? [] : [[currency, estimate]];
  });
  return {
    orders: orders.reduce((sum, value) => sum + value, 0),
    share: estimateShareByCluster(iterateClusters(orders, all)),
    amount: Object.fromEntries(amount),
  };
}

function* iterateClusters(orders: Float64Array, all: Float64Array): Generator<ClusterCount> {
  for (const [client, part] of orders.entries()) yield { part, whole: all[client] ?? 0 };
}

function sumDrawn(column: Float64Array, drawn: Uint32Array): number {
  let sum = 0;
  for (let client = 0; client < column.length; client++) sum += (column[client] ?? 0) * (drawn[client] ?? 0);
  return sum;
}

/**
 * Returns, for each candidate's trade-off, whether no other trade-off beats it. One beats another if it is at least
 * as good in unpaid orders closed, paid orders closed and paid orders held back, and better in at least one of them.
 */
export function computeParetoFrontMembership(all: readonly CandidateEffects[]): readonly boolean[] {
  const costs = all.map(({ unpaidClosed, paidClosed, paidHeldBack }) => [
    -unpaidClosed.orders,
    paidClosed.orders,
    paidHeldBack.orders,
  ]);
  return costs.map((one) => !costs.some((other) => isBetter(other, one)));
}

function isBetter(one: readonly number[], other: readonly number[]): boolean {
  const differences = one.map((cost, place) => cost - (other[place] ?? 0));
  return (
    differences.every((difference) => difference <= 0) && differences.some((difference) => difference < 0)
  );
}
