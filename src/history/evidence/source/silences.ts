import { PLATFORM_SILENCE_LIMITS } from '#decision/payer/platform-silence.ts';
import { IS_ATTEMPT_SQL, ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import { type QueryEngine, toNumberOrNull, toTextOrNull } from '#history/archive/query-engine.ts';
import type { EvidenceSpan } from '#history/evidence/presentation.ts';

/**
 * Finds the times in which a platform reported no outcome, by the same limits (`PLATFORM_SILENCE_LIMITS`) as in live
 * traffic.
 */
const SILENCES_SQL = `
  WITH granted AS (
    SELECT platform, ${ORDER_KEY_SQL} AS order_key, min(decided_at) AS granted_at
    FROM decisions WHERE ${IS_ATTEMPT_SQL} GROUP BY ALL
  ), told AS (
    SELECT ${ORDER_KEY_SQL} AS order_key, min(reported_at) AS told_at FROM outcomes GROUP BY ALL
  ), usual AS (
    SELECT platform, count(*) AS granted, count(told_at) FILTER (told_at >= granted_at) AS told,
      quantile_cont(epoch_ms(told_at) - epoch_ms(granted_at), 0.95) FILTER (told_at >= granted_at) AS usual_ms
    FROM granted LEFT JOIN told USING (order_key) GROUP BY platform
  ), happened AS (
    SELECT platform, granted_at AS moment, 0 AS report FROM granted
    UNION ALL SELECT platform, reported_at, 1 FROM outcomes
  ), numbered AS (
    SELECT *, sum(report) OVER (PARTITION BY platform ORDER BY moment, report ROWS UNBOUNDED PRECEDING) AS reports FROM happened
  ), between_reports AS (
    SELECT platform, reports, min(moment) FILTER (report = 1) AS began, count(*) FILTER (report = 0) AS orders,
      min(moment) FILTER (report = 0) AS since, max(moment) FILTER (report = 0) AS newest
    FROM numbered GROUP BY ALL
  ), silences AS (
    SELECT *, lead(began) OVER (PARTITION BY platform ORDER BY reports) AS after FROM between_reports
  )
  SELECT platform, since, after, orders FROM silences JOIN usual USING (platform)
  WHERE orders >= ${PLATFORM_SILENCE_LIMITS.ordersMin} AND told >= greatest(${PLATFORM_SILENCE_LIMITS.ordersMin}, ${PLATFORM_SILENCE_LIMITS.usualShareMin} * (granted - orders))
    AND epoch_ms(coalesce(after, newest)) - epoch_ms(since) > ${PLATFORM_SILENCE_LIMITS.times} * greatest(usual_ms, ${PLATFORM_SILENCE_LIMITS.finestMs})
  ORDER BY since, platform`;

/** Finds when platforms that usually report outcomes reported nothing, from the views of evidence. */
export async function findSilences(duck: QueryEngine): Promise<EvidenceSpan['silences']> {
  const rows = await duck.rows(SILENCES_SQL);
  return rows.map((row) => ({
    platform: toTextOrNull(row['platform']) ?? '',
    from: toNumberOrNull(row['since']) ?? 0,
    to: toNumberOrNull(row['after']),
    orders: toNumberOrNull(row['orders']) ?? 0,
  }));
}
