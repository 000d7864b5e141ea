/** What became of an order. TECHNICAL says nothing about the payer, so figures about payers leave it out. */
export type OrderFate = 'PAID' | 'UNPAID' | 'TECHNICAL' | 'UNKNOWN';

/**
 * A report in one number, so that the largest of an order is the one that holds: the last one, and of two of the
 * same moment the one that is found out later, as a rule (see client/order.ts).
 */
export const REPORT_NUMBER_SQL = `epoch_ms(reported_at) * 4 +
  CASE WHEN outcome = 'PAID' THEN 2 WHEN cause = 'REVERSED' THEN 3 WHEN cause = 'TECHNICAL' THEN 1 ELSE 0 END`;

/** The fate behind the largest report number of an order; null is an order that nothing was reported about. */
export function fateSql(reportNumber: string): string {
  return `CASE WHEN ${reportNumber} IS NULL THEN 'UNKNOWN'
    ELSE ['UNPAID', 'TECHNICAL', 'PAID', 'UNPAID'][(${reportNumber} % 4 + 1)::INT] END`;
}
