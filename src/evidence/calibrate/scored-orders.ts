import { type DuckRow, numberOf, textOf } from '../../archive/duck.ts';
import { ORDER_KEY_SQL } from '../../archive/read/order-views.ts';
import { clusterOf } from '../source/client-clusters.ts';
import { clientPasses } from '../source/client-passes.ts';
import type { Evidence } from '../source/evidence.ts';
import type { JudgedOrders } from './score-figures.ts';

/** Orders of the same kind: what was known of their clients when they were first asked for, and what they came to. */
export interface ScoredGroup extends JudgedOrders {
  /** First asked for at the split or after it. */
  readonly later: boolean;
  /** The version that decided, and the paymentScore that it gave. */
  readonly ruleVersion: string;
  readonly recordedScore: number;
  /** The client's outcomes at that time. */
  readonly paidBefore: number;
  readonly finalBefore: number;
}

/** Orders whose outcome nobody knows, and what the others are. */
export interface ScoredEvidence {
  readonly groups: readonly ScoredGroup[];
  /** How many, first asked for before the split and from it on. */
  readonly unknown: { readonly earlier: number; readonly later: number };
}

/** Decisions of a pass over the evidence. */
const PASS_DECISIONS_MAX = 1_000_000;

/**
 * The orders that ended paid or unpaid, by what their first decision knew of the client. An order of whose
 * decisions the first lies before the evidence counts from the first one within it.
 */
export async function scoredOrders(
  { duck, span }: Evidence,
  splitAt: number,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<ScoredEvidence> {
  const groups: ScoredGroup[] = [];
  const unknown = { earlier: 0, later: 0 };
  const passes = clientPasses(span.decisions, PASS_DECISIONS_MAX);
  for (const [pass, clients] of passes.entries()) {
    onProgress(pass, passes.length);
    const rows = await duck.rows(`
      SELECT cluster, first_at >= make_timestamp_ms(${splitAt}) AS later, rule_version, recorded_score, paid_before,
        final_before, granted, count(*) FILTER (fate = 'PAID') AS paid, count(*) FILTER (fate = 'UNPAID' AND granted) AS unpaid,
        count(*) FILTER (fate = 'UNKNOWN') AS unknown
      FROM (
        SELECT ${ORDER_KEY_SQL} AS order_key, ${clusterOf('any_value(client_hash)')} AS cluster,
          min(decided_at) AS first_at, arg_min(rule_version, seq) AS rule_version,
          arg_min(payment_score, seq)::DOUBLE AS recorded_score,
          arg_min(fact_paidCount, seq) AS paid_before, arg_min(fact_finalCount, seq) AS final_before
        FROM decisions WHERE ${clients} GROUP BY order_key
      ) JOIN (SELECT order_key, fate, granted FROM orders WHERE ${clients}) USING (order_key)
      GROUP BY ALL ORDER BY ALL`);
    for (const row of rows) {
      const group = groupOf(row);
      unknown[group.later ? 'later' : 'earlier'] += numberOf(row['unknown']) ?? 0;
      if (group.paid + group.unpaid > 0) groups.push(group);
    }
  }
  return { groups, unknown };
}

function groupOf(row: DuckRow): ScoredGroup {
  return {
    cluster: numberOf(row['cluster']) ?? 0,
    later: row['later'] === true,
    ruleVersion: textOf(row['rule_version']) ?? '',
    recordedScore: numberOf(row['recorded_score']) ?? 0,
    paidBefore: numberOf(row['paid_before']) ?? 0,
    finalBefore: numberOf(row['final_before']) ?? 0,
    hasHistory: (numberOf(row['final_before']) ?? 0) > 0,
    granted: row['granted'] === true,
    paid: numberOf(row['paid']) ?? 0,
    unpaid: numberOf(row['unpaid']) ?? 0,
  };
}
