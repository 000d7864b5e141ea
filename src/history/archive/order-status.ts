import { DAY_MS } from '#base/duration.ts';
import type { QueryEngine } from './query-engine.ts';

/** The status of an order. TECHNICAL says nothing about the payer, so figures about payers leave such orders out. */
export type OrderStatus = 'PAID' | 'UNPAID' | 'TECHNICAL' | 'UNKNOWN';

/** The results that a report can state, by the number that `REPORTED_RESULT_SQL` gives. */
const RESULTS = ['UNPAID', 'TECHNICAL', 'PAID', 'REVERSED', 'TURNED_AWAY'] as const;

/**
 * The columns by which reports are sorted. The last report of an order decides, because each row of `outcomes` has
 * the result that holds after its report.
 */
const REPORT_ORDER_SQL = '(reported_at, journal_ms, journal_seq)';

/**
 * SQL over the reports of an order: the result by the last report, as a number. Null if there is no report. A
 * reversal whose payment is not known yet counts as TECHNICAL.
 */
export const REPORTED_RESULT_SQL = `arg_max(CASE WHEN outcome = 'PAID' THEN 2 WHEN cause = 'TECHNICAL' OR awaits_payment THEN 1
  WHEN cause = 'REVERSED' THEN 3 WHEN turned_away THEN 4 ELSE 0 END, ${REPORT_ORDER_SQL})`;

/**
 * SQL over the reports of an order: PAID, or the cause for which the order is not paid. The cause is UNSTATED if none
 * was reported.
 */
export const CAUSE_SQL = `replace(arg_max(if(awaits_payment, 'TECHNICAL', coalesce(cause, outcome)), ${REPORT_ORDER_SQL}), 'UNPAID', 'UNSTATED')`;

/** SQL for one report: whether it says that the order was paid. Another report may have changed the outcome since. */
export const SAYS_PAID_SQL = `(outcome = 'PAID' OR report_outcome = 'PAID')`;

const SETTLED_SQL = `arg_max_null(settled_amount, ${REPORT_ORDER_SQL})`;

/**
 * SQL over the reports of an order: the settled money, as a number and a currency, if it differs from the requested
 * money. Null otherwise.
 */
export const SETTLED_AMOUNT_SQL = `try_cast(split_part(${SETTLED_SQL}, ' ', 1) AS DOUBLE)`;
export const SETTLED_CURRENCY_SQL = `nullif(split_part(${SETTLED_SQL}, ' ', 2), '')`;

/** Returns the result for a number of `REPORTED_RESULT_SQL`. */
export function toReportedResult(report: number): (typeof RESULTS)[number] {
  return RESULTS[report] ?? 'UNPAID';
}

/** Returns SQL: whether an order with this report was paid and taken back. */
export function isReversedSql(report: string): string {
  return `coalesce(${report} = 3, false)`;
}

/** Returns SQL: the status of an order, by the number of `REPORTED_RESULT_SQL`. Null if there is no report. */
export function reportedStatusSql(report: string): string {
  return `CASE WHEN ${report} IS NULL THEN 'UNKNOWN'
    ELSE ['UNPAID', 'TECHNICAL', 'PAID', 'UNPAID', 'UNPAID'][(${report} + 1)::INT] END`;
}

/**
 * Returns SQL: the status of an order about which a decision was made. An order that has no attempt and is not paid
 * is TURNED_AWAY, even if UNPAID was reported: nobody could pay it, so that report says nothing about the payer. If
 * an attempt follows such a report, the order is UNKNOWN again.
 */
export function orderStatusSql(report: string, granted: string): string {
  const status = reportedStatusSql(report);
  return `CASE WHEN NOT ${granted} AND ${status} IN ('UNPAID', 'UNKNOWN') THEN 'TURNED_AWAY'
    WHEN ${report} = 4 THEN 'UNKNOWN' ELSE ${status} END`;
}

/** Returns SQL: whether an order has this status, by the reports that can be read. */
export function hasStatusSql(reports: string, status: OrderStatus): string {
  const reported = `SELECT client_hash, order_ref, ${REPORTED_RESULT_SQL} AS report FROM ${reports} GROUP BY ALL`;
  const order = 'row(client_hash, order_ref)';
  if (status === 'UNKNOWN') return `${order} NOT IN (SELECT ${order} FROM (${reported}))`;
  return `${order} IN (SELECT ${order} FROM (${reported}) WHERE ${reportedStatusSql('report')} = '${status}')`;
}

/**
 * SQL for the 64-bit key of a client's order. The chance that two of ten million orders share a key is 3 in a
 * million.
 */
export const ORDER_KEY_SQL = 'hash(client_hash, order_ref)';

/** SQL for one decision: whether it is an attempt. */
export const IS_ATTEMPT_SQL = "verdict IN ('GET_NEW', 'GET_SAME_STICKY')";

/** The time after a wait, in ms, during which the client's actions count as the result of the wait. */
export const WAIT_EFFECT_MS = DAY_MS;

/** Returns SQL: the time until which actions count as the result of a wait that was answered at `waitedAt`. */
export function waitEffectEndSql(waitedAt: string): string {
  return `${waitedAt} + INTERVAL ${WAIT_EFFECT_MS} MILLISECONDS`;
}

/**
 * Returns SQL: whether an order was paid between `grantedAt`, the time of an attempt after a wait, and the end of the
 * time in which actions count as the result of that wait.
 */
export function paidAfterWaitSql(waitedAt: string, grantedAt: string): string {
  return `${reportedStatusSql('report')} = 'PAID' AND paid_at BETWEEN ${grantedAt} AND ${waitEffectEndSql(waitedAt)}`;
}

/**
 * Creates the view `orders`, with one row for each order of a client in `decisions`.
 *
 * Its columns are order_key, platform, client_hash and order_ref; the number of decisions, and first_at and last_at
 * of them; amount and currency (of the settled money, otherwise of the last decision); method and sell_point_key (of
 * the last decision); has_history (whether the client had final outcomes at the first decision); granted, waited and
 * blocked (whether any decision was an attempt, a WAIT or a BLOCK).
 *
 * The column `status` is PAID, UNPAID, TURNED_AWAY, TECHNICAL or UNKNOWN, by the last report. `cause` is the reported
 * cause, see `CAUSE_SQL`. `reversed` says whether the order was paid and taken back.
 */
export async function createOrderViews(duck: QueryEngine): Promise<void> {
  await duck.run(`CREATE VIEW statuses AS
    SELECT ${ORDER_KEY_SQL} AS order_key, ${REPORTED_RESULT_SQL} AS report, ${CAUSE_SQL} AS cause,
      ${SETTLED_AMOUNT_SQL} AS settled_amount, ${SETTLED_CURRENCY_SQL} AS settled_currency
    FROM outcomes GROUP BY order_key`);
  await duck.run(`CREATE VIEW orders AS
    SELECT asked.* REPLACE (coalesce(settled_amount, amount) AS amount, coalesce(settled_currency, currency) AS currency),
      status, if(status = 'UNKNOWN', NULL, cause) AS cause,
      coalesce(status = 'UNPAID' AND cause = 'REVERSED', false) AS reversed
    FROM (
      SELECT ${ORDER_KEY_SQL} AS order_key, any_value(platform) AS platform, any_value(client_hash) AS client_hash,
        any_value(order_ref) AS order_ref, count(*) AS decisions, min(decided_at) AS first_at, max(decided_at) AS last_at,
        arg_max(fact_amount, seq) AS amount, arg_max(fact_currency, seq) AS currency,
        coalesce(arg_min(fact_finalCount, seq), 0) > 0 AS has_history, arg_max(fact_method, seq) AS method, arg_max(sell_point_key, seq) AS sell_point_key,
        bool_or(${IS_ATTEMPT_SQL}) AS granted, bool_or(verdict = 'WAIT') AS waited, bool_or(verdict = 'BLOCK') AS blocked
      FROM decisions GROUP BY order_key
    ) asked
    LEFT JOIN statuses USING (order_key), LATERAL (SELECT ${orderStatusSql('report', 'granted')} AS status)`);
}
