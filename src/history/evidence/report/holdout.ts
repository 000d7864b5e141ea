import { DAY_MS } from '#base/duration.ts';
import { choice, count, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { HOLDOUT_PERIOD_MS, mapHoldoutShares } from '#decision/holdout.ts';
import type { Objective } from '#decision/objective.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { IS_ATTEMPT_SQL, ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import {
  type QueryEngine,
  type ResultRow,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { clientValueSql, toMainCurrencySql } from '#history/evidence/objective-sql.ts';
import {
  createNullableIntervalSchema,
  createNumberSchema,
  NO_ORDERS,
  ORDER_COUNT_STATUS_PAIRS,
  orderCountsSchema,
} from '#history/evidence/presentation.ts';
import { NO_CURRENCY } from '#history/evidence/source/currency.ts';
import { collectDeviceRuleNames, createDevicesTempTable } from '#history/evidence/source/device-clusters.ts';
import { type Evidence, rowsAsOfSql } from '#history/evidence/source/evidence.ts';
import { aggregateByOutcomeSql, clusterSql } from '#history/evidence/source/order-sums.ts';
import { findUnratedMoney, type UnratedMoney } from '#history/evidence/unrated-money.ts';
import {
  type Estimate,
  estimateShareByClusterIfEnough,
  findStudentQuantile,
} from '#history/statistics/intervals.ts';

const SIDE = {
  clients: count('Who entered, each once in a period of the draw'),
  young: count(
    'Of these, those of whom the net counts nothing yet: less than a period of the draw and the time of reversals is over since they entered',
  ),
  orders: orderCountsSchema,
  paidShare: createNullableIntervalSchema(
    'Of all orders that they asked for, by client; null for fewer than 30',
  ),
} as const;

export const HoldoutFiguresSchema = shape(
  'What came of clients whom the rule would have hit, by the draw: all their orders from then until the period of the draw ends, whatever decided them',
  {
    share: createNumberSchema('Of the clients, 0 to 1: the newest'),
    ...SIDE,
    others: shape('Those to whom the rule applied', SIDE),
  },
);

export type HoldoutSideFigures = ValueOf<typeof HoldoutFiguresSchema>['others'];

export const RuleEffectSchema = nullable(
  shape(
    'What did not happen because of the rule, by its holdout, or else by a trial of a version that differs in it alone; null where it is not known yet: it takes 50 clients on both sides of whom nothing changes any more',
    {
      currency: plainText('Of amounts and value'),
      by: choice(['holdout', 'trial'], 'From what it is known'),
      clients: count('To whom the rule applied, and who count: without the young'),
      payments: createNullableIntervalSchema('Lasting payments that did not happen'),
      amount: createNullableIntervalSchema('Their money'),
      reversals: createNullableIntervalSchema('Reversals that did not happen'),
      requisites: createNullableIntervalSchema('Unpaid requisites that were not shown'),
      value: createNullableIntervalSchema(
        'What the rule brought in, by the objective; below 0 it cost that much',
      ),
    },
  ),
);

export type RuleEffect = ValueOf<typeof RuleEffectSchema>;

export interface HoldoutResult {
  readonly holdout: ValueOf<typeof HoldoutFiguresSchema>;
  readonly net: RuleEffect;
  readonly unrated: UnratedMoney;
}

interface HoldoutAsk {
  readonly rules: RuleSet;
  readonly objective: Objective;
  /** The currency of the value. */
  readonly currency: string;
  /** A payment counts as lasting after this many days. */
  readonly reversalDays: number;
}

/**
 * Measures the effect of every rule that has a holdout. The keys are file and name, like
 * `groups/blocked-by-unpaid-chain`. It is a triggered analysis by intention to treat (Deng and Hu, Diluted treatment
 * effect estimation for trigger analysis, 2015).
 *
 * In each period of its draw, a client enters at the first score or verdict in which the rule was reached, matched
 * and could be skipped. Nothing before that moment depends on the draw. All the client's orders after it count for
 * the side into which the client was drawn. Clients are stratified by the share of the holdout. For the net effect, a
 * client counts when a whole period and the time of reversals have passed since it entered. So all clients had the
 * same time, and their figures do not change any more.
 */
export async function computeHoldoutResults(
  evidence: Evidence,
  { rules, ...ask }: HoldoutAsk,
): Promise<ReadonlyMap<string, HoldoutResult>> {
  const shares = mapHoldoutShares(rules);
  const results = new Map<string, HoldoutResult>();
  if (shares.size === 0) return results;
  await makeEntries(evidence);
  await createDevicesTempTable(evidence);
  const byDevice = collectDeviceRuleNames(rules);
  for (const [rule, share] of shares) {
    const cluster = byDevice.has(rule) ? 'coalesce(device, client_hash)' : 'client_hash';
    await makeUnits(evidence.duck, rule, cluster, ask);
    results.set(rule, await readResult(evidence.duck, share, ask));
  }
  return results;
}

/** Creates the table `entries`: which client entered with which draw, and from when to when, by rule and period. */
async function makeEntries({ duck, ask, span }: Evidence): Promise<void> {
  // Draws of the period before the span are read too. A client who entered before the span must not seem to enter
  // within it.
  const before = { ...ask, from: ask.from === null ? null : ask.from - HOLDOUT_PERIOD_MS };
  const drawn = (table: 'decisions' | 'scores', time: string, order: string) => `
    SELECT client_hash, epoch_ms(${time}) AS drawn_at, ${order} AS order_key, unnest(holdout_rule) AS rule,
      unnest(holdout_share)::DOUBLE AS share, unnest(holdout_held_out) AS held_out
    FROM ${rowsAsOfSql(ask.place, table, before)} WHERE holdout_rule IS NOT NULL`;
  // The offset is the same as in `createHoldoutDraw`.
  const offset = `(client_hash % ${HOLDOUT_PERIOD_MS})::BIGINT`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE entries AS
    WITH draws AS (
      ${drawn('decisions', 'decided_at', ORDER_KEY_SQL)} UNION ALL ${drawn('scores', 'scored_at', 'NULL')}
    ), draws_by_period AS (
      SELECT *, (drawn_at + ${offset}) // ${HOLDOUT_PERIOD_MS} AS period FROM draws
    ), first_draws AS (
      SELECT rule, client_hash, period, min(drawn_at) AS entered_at, arg_min(share, drawn_at) AS share,
        arg_min(held_out, drawn_at) AS held_out, arg_min(order_key, drawn_at) AS order_key
      FROM draws_by_period GROUP BY rule, client_hash, period
    )
    SELECT *, (period + 1) * ${HOLDOUT_PERIOD_MS} - ${offset} AS ends_at FROM first_draws
    WHERE entered_at >= ${ask.from ?? span.from ?? 0} OR ${ask.from === null}`);
}

/**
 * Creates two tables. `unit_orders` has a row for each order that a client asked for after it entered in a period. If
 * there is no such order, it has a single row without an order. `units` has a row for each client and period.
 */
async function makeUnits(
  duck: QueryEngine,
  rule: string,
  cluster: string,
  { objective, currency, reversalDays }: Omit<HoldoutAsk, 'rules'>,
): Promise<void> {
  await duck.run(
    (bind) => `CREATE OR REPLACE TEMP TABLE unit_orders AS
    WITH newest_decision AS (
      SELECT epoch_ms(max(decided_at)) AS newest FROM decisions
    ), entered AS (
      SELECT *, entered_at + ${HOLDOUT_PERIOD_MS + reversalDays * DAY_MS} <= newest AS counts
      FROM entries, newest_decision WHERE rule = ${bind(rule)}
    ), shown_requisites AS (
      SELECT ${ORDER_KEY_SQL} AS order_key, count(*) FILTER (${IS_ATTEMPT_SQL}) AS shown FROM decisions GROUP BY ALL
    ), asked AS (
      SELECT orders.*, shown FROM orders JOIN shown_requisites USING (order_key) WHERE status <> 'TECHNICAL'
    )
    SELECT entered.client_hash, period, hash(${cluster}) AS cluster, share, held_out, counts, status, reversed, shown, amount,
      coalesce(currency, '${NO_CURRENCY}') AS currency
    FROM entered LEFT JOIN devices USING (client_hash)
    LEFT JOIN asked ON asked.client_hash = entered.client_hash AND epoch_ms(first_at) < ends_at
      AND (epoch_ms(first_at) >= entered_at OR asked.order_key = entered.order_key)`,
  );
  const sums = { lasting: 'amount', reversals: 'reversals', requisites: 'requisites' };
  await duck.run(`CREATE OR REPLACE TEMP TABLE units AS
    WITH sums AS (
      SELECT cluster, share, held_out, counts,
        ${aggregateByOutcomeSql('count(*)')},
        count(*) FILTER (status = 'PAID')::DOUBLE AS payments,
        coalesce(sum(${toMainCurrencySql(objective, currency, 'amount', 'currency')}) FILTER (status = 'PAID'), 0)::DOUBLE AS amount,
        count(*) FILTER (reversed)::DOUBLE AS reversals,
        coalesce(sum(shown - (status = 'PAID' OR reversed)::INT) FILTER (status IN ('PAID', 'UNPAID')), 0)::DOUBLE AS requisites
      FROM unit_orders GROUP BY client_hash, period, cluster, share, held_out, counts
    )
    SELECT *, ${clientValueSql(objective, sums)} AS value FROM sums`);
}

/** Finds the money in currencies without a rate in the objective, of the clients who count. */
async function readUnratedMoney(
  duck: QueryEngine,
  { objective, currency }: Omit<HoldoutAsk, 'rules'>,
): Promise<UnratedMoney> {
  const rows =
    await duck.rows(`SELECT currency, coalesce(sum(amount) FILTER (status = 'PAID'), 0)::DOUBLE AS paid,
    coalesce(sum(amount) FILTER (reversed), 0)::DOUBLE AS reversed FROM unit_orders WHERE counts GROUP BY currency ORDER BY currency`);
  const money = rows.map(
    (row) => [toTextOrNull(row['currency']) ?? '', toNumbersByColumn(row, { paid: 0, reversed: 0 })] as const,
  );
  return findUnratedMoney(Object.fromEntries(money), objective, currency);
}

async function readResult(
  duck: QueryEngine,
  share: number,
  ask: Omit<HoldoutAsk, 'rules'>,
): Promise<HoldoutResult> {
  const [held, others] = [await readSide(duck, 'held_out'), await readSide(duck, 'NOT held_out')];
  const figures = { share, ...held, others };
  const unrated = await readUnratedMoney(duck, ask);
  const { currency } = ask;
  const counting = (side: HoldoutSideFigures) => side.clients - side.young;
  if (Math.min(counting(held), counting(others)) < SIDE_CLIENTS_MIN)
    return { holdout: figures, net: null, unrated };
  const [row = {}] = await duck.rows(DIFFERENCES_SQL);
  const clients = counting(others);
  const prevented = (metric: Metric) => estimateTotal(row, metric, clients);
  return {
    holdout: figures,
    unrated,
    net: {
      by: 'holdout',
      currency,
      clients,
      payments: prevented('payments'),
      amount: prevented('amount'),
      reversals: prevented('reversals'),
      requisites: prevented('requisites'),
      // The value that the rule brought in is the value of the prevented orders with the opposite sign.
      value: multiplyEstimate(prevented('value'), -1),
    },
  };
}

/**
 * Multiplies an estimate. Swaps its ends if the factor is negative. Never returns -0, because it would be printed as
 * "-0".
 */
export function multiplyEstimate(estimate: Estimate | null | undefined, times: number): Estimate | null {
  if (estimate === null || estimate === undefined) return null;
  const [value, one, other] = [estimate.value, estimate.low, estimate.high].map((end) => 0 + times * end);
  return { value: value ?? 0, low: Math.min(one ?? 0, other ?? 0), high: Math.max(one ?? 0, other ?? 0) };
}

/** The fewest clients that each side needs for a difference. */
const SIDE_CLIENTS_MIN = 50;

/**
 * The fewest clients with a figure other than 0. With fewer, the interval says nothing, because it is only correct
 * for many such clients.
 */
const NON_ZERO_MIN = 20;

async function readSide(duck: QueryEngine, where: string): Promise<HoldoutSideFigures> {
  const sums = ORDER_COUNT_STATUS_PAIRS.map(([member]) => `sum("${member}") AS "${member}"`).join(', ');
  const whole = ORDER_COUNT_STATUS_PAIRS.map(([member]) => `"${member}"`).join(' + ');
  const [row = {}] = await duck.rows(
    `SELECT count(*)::DOUBLE AS clients, count(*) FILTER (NOT counts)::DOUBLE AS young, ${sums} FROM units WHERE ${where}`,
  );
  const clusters =
    await duck.rows(`SELECT ${clusterSql('cluster')} AS cluster, sum(paid) AS part, sum(${whole}) AS whole
    FROM units WHERE ${where} GROUP BY ALL ORDER BY ALL`);
  return {
    ...toNumbersByColumn(row, { clients: 0, young: 0 }),
    orders: toNumbersByColumn(row, NO_ORDERS),
    paidShare: estimateShareByClusterIfEnough(
      clusters.map((one) => toNumbersByColumn(one, { part: 0, whole: 0 })),
    ),
  };
}

const METRICS = ['payments', 'amount', 'reversals', 'requisites', 'value'] as const;
type Metric = (typeof METRICS)[number];

const each = (sql: (metric: Metric) => string) => METRICS.map(sql).join(', ');

/**
 * SQL for the means of the held-out clients minus the means of the others. Strata are weighted by their clients. The
 * variance is computed between clusters (Liang and Zeger, 1986), which is also valid for clients who enter in several
 * periods.
 */
const DIFFERENCES_SQL = `
  WITH counting AS (SELECT * FROM units WHERE counts), sides AS (
    SELECT share, held_out, count(*)::DOUBLE AS n, ${each((metric) => `avg(${metric}) AS ${metric}_mean`)} FROM counting GROUP BY ALL
  ), strata AS (
    SELECT share, sum(n) AS n FROM sides GROUP BY share HAVING count(*) = 2
  ), weights AS (SELECT share, n / sum(n) OVER () AS weight FROM strata),
  influences AS (
    SELECT cluster, held_out, ${each((metric) => `if(held_out, 1, -1) * weight / n * (${metric} - ${metric}_mean) AS ${metric}`)},
      ${each((metric) => `counting.${metric} <> 0 AS ${metric}_seen`)}
    FROM counting JOIN sides USING (share, held_out) JOIN weights USING (share)
  ), of_clusters AS (
    SELECT cluster, ${each((metric) => `sum(${metric}) AS ${metric}`)} FROM influences GROUP BY cluster
  ), variances AS (
    SELECT count(*)::DOUBLE AS clusters, ${each((metric) => `sum(${metric} ** 2) AS ${metric}_variance`)} FROM of_clusters
  ), seen AS (
    SELECT least(count(DISTINCT cluster) FILTER (held_out), count(DISTINCT cluster) FILTER (NOT held_out))::DOUBLE AS fewest,
      ${each((metric) => `count(*) FILTER (${metric}_seen)::DOUBLE AS ${metric}_seen`)}
    FROM influences
  ), differences AS (
    SELECT ${each((metric) => `sum(if(held_out, 1, -1) * weight * ${metric}_mean) AS ${metric}_value`)}
    FROM sides JOIN weights USING (share)
  )
  SELECT * FROM variances, seen, differences`;

/** Estimates the difference in a metric, in total over this number of clients. Returns null if there are too few. */
function estimateTotal(row: ResultRow, metric: Metric, clients: number): Estimate | null {
  const of = (name: string) => toNumberOrNull(row[name]) ?? 0;
  const [fewest, variance] = [of('fewest'), of(`${metric}_variance`)];
  if (of(`${metric}_seen`) < NON_ZERO_MIN || fewest < 2 || variance === 0) return null;
  const value = clients * of(`${metric}_value`);
  const half = clients * findStudentQuantile(fewest - 1) * Math.sqrt((variance * fewest) / (fewest - 1));
  return { value, low: value - half, high: value + half };
}
