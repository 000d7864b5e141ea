import { DAY_MS } from '../rules/duration.ts';
import type { Duck } from './duck.ts';

/** What became of an order. TECHNICAL says nothing about the payer, so figures about payers leave it out. */
export type OrderStatus = 'PAID' | 'UNPAID' | 'TECHNICAL' | 'UNKNOWN';

/**
 * A report as one number; an order's largest number is the report that counts: the last one, and of two at the same
 * moment the one that usually comes to light later (see client/order.ts).
 */
export const REPORT_NUMBER_SQL = `epoch_ms(reported_at) * 4 +
  CASE WHEN outcome = 'PAID' THEN 2 WHEN cause = 'REVERSED' THEN 3 WHEN cause = 'TECHNICAL' THEN 1 ELSE 0 END`;

export function reportedResult(number: number): 'UNPAID' | 'TECHNICAL' | 'PAID' | 'REVERSED' {
  return (['UNPAID', 'TECHNICAL', 'PAID', 'REVERSED'] as const)[number % 4] ?? 'UNPAID';
}

/**
 * SQL: why an order is not paid, over its reports: the cause of the one that counts, UNSTATED without one, or PAID. Unpaid
 * after it was paid is REVERSED.
 */
export const CAUSE_SQL = `replace(arg_max(coalesce(cause, outcome), ${REPORT_NUMBER_SQL}), 'UNPAID',
  if(bool_or(outcome = 'PAID'), 'REVERSED', 'UNSTATED'))`;

/** The status for the largest report number of an order; null is an order without a report. */
export function statusSql(reportNumber: string): string {
  return `CASE WHEN ${reportNumber} IS NULL THEN 'UNKNOWN'
    ELSE ['UNPAID', 'TECHNICAL', 'PAID', 'UNPAID'][(${reportNumber} % 4 + 1)::INT] END`;
}

/**
 * The same of an order that was asked for. One that was never granted and not paid was TURNED_AWAY, whatever was
 * reported of it: nobody could pay it, which proves nothing.
 */
export function askedStatusSql(reportNumber: string, granted: string): string {
  const status = statusSql(reportNumber);
  return `CASE WHEN NOT ${granted} AND ${status} IN ('UNPAID', 'UNKNOWN') THEN 'TURNED_AWAY' ELSE ${status} END`;
}

/** SQL: that an order has this status, by the reports that can be read. */
export function statusCondition(reports: string, status: OrderStatus): string {
  const reported = `SELECT client_hash, order_ref, max(${REPORT_NUMBER_SQL}) AS report FROM ${reports} GROUP BY ALL`;
  const order = 'row(client_hash, order_ref)';
  if (status === 'UNKNOWN') return `${order} NOT IN (SELECT ${order} FROM (${reported}))`;
  return `${order} IN (SELECT ${order} FROM (${reported}) WHERE ${statusSql('report')} = '${status}')`;
}

/** Of an order of a client, 64 bits: two different orders among ten million share one with a chance of 3 in a million. */
export const ORDER_KEY_SQL = 'hash(client_hash, order_ref)';

export const GRANTED_SQL = "verdict IN ('GET_NEW', 'GET_SAME_STICKY')";

/** How long after a wait the client's actions count as its result. */
export const WAIT_WORTH_MS = DAY_MS;

/** SQL: until when that is, of a wait that was told at a time. */
export function waitWorthUntil(waitedAt: string): string {
  return `${waitedAt} + INTERVAL ${WAIT_WORTH_MS} MILLISECONDS`;
}

/** SQL: that an order which was granted after a wait was paid after that, within the time that counts for the wait. */
export function paidAfterWait(waitedAt: string, grantedAt: string): string {
  return `${statusSql('report')} = 'PAID' AND paid_at BETWEEN ${grantedAt} AND ${waitWorthUntil(waitedAt)}`;
}

/**
 * Makes the view `orders`, one row for each order of a client that `decisions` are about: order_key, platform,
 * client_hash, order_ref, decisions, first_at, last_at (of its decisions), amount, currency, method and
 * sell_point_key (of the last of them), has_history (final outcomes, at the first), granted, waited, blocked (at least once), its `status`: PAID, UNPAID,
 * TURNED_AWAY, TECHNICAL or UNKNOWN, the reported `cause` (see order-status.ts), and whether it was paid and taken back (`reversed`). Of several outcomes the last one holds.
 */
export async function makeOrderViews(duck: Duck): Promise<void> {
  await duck.run(`CREATE VIEW statuses AS
    SELECT ${ORDER_KEY_SQL} AS order_key, max(${REPORT_NUMBER_SQL}) AS report, ${CAUSE_SQL} AS cause
    FROM outcomes GROUP BY order_key`);
  await duck.run(`CREATE VIEW orders AS
    SELECT asked.*, status, cause, coalesce(status = 'UNPAID' AND cause = 'REVERSED', false) AS reversed
    FROM (
      SELECT ${ORDER_KEY_SQL} AS order_key, any_value(platform) AS platform, any_value(client_hash) AS client_hash,
        any_value(order_ref) AS order_ref, count(*) AS decisions, min(decided_at) AS first_at, max(decided_at) AS last_at,
        arg_max(fact_amount, seq) AS amount, arg_max(fact_currency, seq) AS currency,
        coalesce(arg_min(fact_finalCount, seq), 0) > 0 AS has_history, arg_max(fact_method, seq) AS method, arg_max(sell_point_key, seq) AS sell_point_key,
        bool_or(${GRANTED_SQL}) AS granted, bool_or(verdict = 'WAIT') AS waited, bool_or(verdict = 'BLOCK') AS blocked
      FROM decisions GROUP BY order_key
    ) asked
    LEFT JOIN statuses USING (order_key), LATERAL (SELECT ${askedStatusSql('report', 'granted')} AS status)`);
}
