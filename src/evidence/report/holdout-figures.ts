import { ORDER_KEY_SQL } from '../../archive/read/order-views.ts';
import { holdoutShares } from '../../decision/holdout.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { CLUSTERED_ORDERS_MIN, type ClusterCount, clusteredShare } from '../../statistics/clustered-share.ts';
import { type ShareInterval, shareInterval } from '../../statistics/share-interval.ts';
import type { Evidence } from '../source/evidence.ts';
import { columnsOf } from '../source/views.ts';
import type { OrderCounts } from './rule-report.ts';

/** What became of the orders for which a rule matched and was skipped: what it costs and saves elsewhere, as seen. */
export interface HoldoutFigures {
  /** Of the clients, as the rule has it. */
  readonly share: number;
  readonly orders: OrderCounts;
  /** Of those with a known outcome, with an interval for orders that hang together by client; null for too few. */
  readonly paidShare: ShareInterval | null;
  /** Sums of their amounts, by currency. */
  readonly amount: Readonly<Record<string, OrderCounts>>;
}

/** The same beside those of the rule's orders for which it was not skipped. */
export interface HoldoutReport extends HoldoutFigures {
  readonly others: {
    readonly orders: OrderCounts;
    /** Of those with a known outcome, each order counted once; null for too few. */
    readonly paidShare: ShareInterval | null;
  };
}

/** `matched` are all orders that the rule matched, held out or not. */
export function besideOthers(held: HoldoutFigures, matched: OrderCounts): HoldoutReport {
  const others = (fate: keyof OrderCounts) => Math.max(0, matched[fate] - held.orders[fate]);
  const orders = { paid: others('paid'), unpaid: others('unpaid'), unknown: others('unknown') };
  const known = orders.paid + orders.unpaid;
  const paidShare = known < CLUSTERED_ORDERS_MIN ? null : shareInterval(orders.paid, known);
  return { ...held, others: { orders, paidShare } };
}

/** By file and name, like `groups/blocked-by-unpaid-chain`, of every rule that holds clients out. */
export async function holdoutFigures(
  { duck }: Evidence,
  rules: RuleSet,
): Promise<ReadonlyMap<string, HoldoutFigures>> {
  const shares = [...holdoutShares(rules)];
  const tallies = new Map<string, HeldOrders>(shares.map(([rule]) => [rule, new HeldOrders()]));
  if (shares.length > 0 && (await columnsOf(duck, 'decisions')).includes('held_out'))
    for (const row of await duck.rows(HELD_ORDERS_SQL)) tallies.get(String(row['rule']))?.add(row);
  return new Map(
    shares.map(([rule, share]) => [rule, (tallies.get(rule) ?? new HeldOrders()).figures(share)]),
  );
}

const HELD_ORDERS_SQL = `SELECT rule, client_hash::VARCHAR AS client, currency, fate, count(*)::DOUBLE AS orders,
    sum(amount)::DOUBLE AS amount
  FROM (SELECT DISTINCT unnest(held_out) AS rule, ${ORDER_KEY_SQL} AS order_key FROM decisions
    WHERE held_out IS NOT NULL)
  JOIN orders USING (order_key) WHERE fate <> 'TECHNICAL' GROUP BY ALL`;

const FATES = { PAID: 'paid', UNPAID: 'unpaid', UNKNOWN: 'unknown' } as const;

class HeldOrders {
  readonly #orders = { paid: 0, unpaid: 0, unknown: 0 };
  readonly #amount: Record<string, { paid: number; unpaid: number; unknown: number }> = {};
  readonly #clients = new Map<string, ClusterCount>();

  add({ client, currency, fate, orders, amount }: Readonly<Record<string, unknown>>): void {
    const kind = fate === 'PAID' || fate === 'UNPAID' ? FATES[fate] : FATES.UNKNOWN;
    this.#orders[kind] += Number(orders);
    const sums = this.#amount[String(currency)] ?? { paid: 0, unpaid: 0, unknown: 0 };
    this.#amount[String(currency)] = { ...sums, [kind]: sums[kind] + Number(amount) };
    if (kind === 'unknown') return;
    const { part, whole } = this.#clients.get(String(client)) ?? { part: 0, whole: 0 };
    const paid = kind === 'paid' ? Number(orders) : 0;
    this.#clients.set(String(client), { part: part + paid, whole: whole + Number(orders) });
  }

  figures(share: number): HoldoutFigures {
    const paidShare = clusteredShare([...this.#clients.values()]);
    return { share, orders: this.#orders, paidShare, amount: this.#amount };
  }
}
