import type { OrderOutcome } from '../client/order.ts';

/** What became of an order. TECHNICAL says nothing about the payer, so figures about payers leave it out. */
export type OrderFate = 'PAID' | 'UNPAID' | 'TECHNICAL' | 'UNKNOWN';

/**
 * A report as one number; an order's largest number is the report that counts: the last one, and of two at the same
 * moment the one that usually comes to light later (see client/order.ts).
 */
export const REPORT_NUMBER_SQL = `epoch_ms(reported_at) * 4 +
  CASE WHEN outcome = 'PAID' THEN 2 WHEN cause = 'REVERSED' THEN 3 WHEN cause = 'TECHNICAL' THEN 1 ELSE 0 END`;

/** The same of a report that is not archived yet. */
export function reportNumber(reportedAt: number, { outcome, cause }: OrderOutcome): number {
  const rank = outcome === 'PAID' ? 2 : cause === 'REVERSED' ? 3 : cause === 'TECHNICAL' ? 1 : 0;
  return reportedAt * 4 + rank;
}

/** The report that a number stands for. */
export function reportedResult(number: number): 'UNPAID' | 'TECHNICAL' | 'PAID' | 'REVERSED' {
  return (['UNPAID', 'TECHNICAL', 'PAID', 'REVERSED'] as const)[number % 4] ?? 'UNPAID';
}

/**
 * SQL: why an order is not paid, over its reports: the cause of the one that counts, UNSTATED without one, or PAID. Unpaid
 * after it was paid is REVERSED.
 */
export const CAUSE_SQL = `replace(arg_max(coalesce(cause, outcome), ${REPORT_NUMBER_SQL}), 'UNPAID',
  if(bool_or(outcome = 'PAID'), 'REVERSED', 'UNSTATED'))`;

/** The fate for the largest report number of an order; null is an order without a report. */
export function fateSql(reportNumber: string): string {
  return `CASE WHEN ${reportNumber} IS NULL THEN 'UNKNOWN'
    ELSE ['UNPAID', 'TECHNICAL', 'PAID', 'UNPAID'][(${reportNumber} % 4 + 1)::INT] END`;
}

export type AskedFate = OrderFate | 'TURNED_AWAY';

/**
 * The same of an order that was asked for. One that was never granted and not paid was TURNED_AWAY, whatever was
 * reported of it: nobody could pay it, which proves nothing.
 */
export function askedFateSql(reportNumber: string, granted: string): string {
  const fate = fateSql(reportNumber);
  return `CASE WHEN NOT ${granted} AND ${fate} IN ('UNPAID', 'UNKNOWN') THEN 'TURNED_AWAY' ELSE ${fate} END`;
}

/** SQL: that an order has this fate, by the reports that can be read; null without any. */
export function fateCondition(reports: string | null, fate: OrderFate): string {
  if (reports === null) return String(fate === 'UNKNOWN');
  const reported = `SELECT client_hash, order_ref, max(${REPORT_NUMBER_SQL}) AS report FROM ${reports} GROUP BY ALL`;
  const order = 'row(client_hash, order_ref)';
  if (fate === 'UNKNOWN') return `${order} NOT IN (SELECT ${order} FROM (${reported}))`;
  return `${order} IN (SELECT ${order} FROM (${reported}) WHERE ${fateSql('report')} = '${fate}')`;
}
