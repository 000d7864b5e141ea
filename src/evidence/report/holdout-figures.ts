import { ORDER_KEY_SQL } from '../../archive/read/order-views.ts';
import { holdoutShares } from '../../decision/holdout.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { clusteredShare } from '../../statistics/clustered-share.ts';
import { amountSum } from '../source/amount-sum.ts';
import { clusterOf } from '../source/client-clusters.ts';
import type { Evidence } from '../source/evidence.ts';
import { OrderClusters } from '../source/order-clusters.ts';
import type { OrderTally } from './order-tally.ts';
import type { HoldoutReport, ReportOrders } from './rule-report.ts';

/** By file and name, like `groups/blocked-by-unpaid-chain`, of every rule that holds clients out. */
export async function holdoutFigures(
  { duck }: Evidence,
  rules: RuleSet,
): Promise<ReadonlyMap<string, HeldOrders>> {
  const shares = [...holdoutShares(rules)];
  const tallies = new Map(shares.map(([rule, share]) => [rule, new HeldOrders(share)]));
  if (shares.length > 0)
    for (const row of await duck.rows(HELD_ORDERS_SQL)) tallies.get(String(row['rule']))?.add(row);
  return tallies;
}

const HELD_ORDERS_SQL = `SELECT rule, ${clusterOf('client_hash')} AS cluster, currency, fate, granted, count(*)::DOUBLE AS orders,
    sum(amount)::DOUBLE AS amount
  FROM (SELECT DISTINCT unnest(holdout_rule) AS rule, ${ORDER_KEY_SQL} AS order_key FROM decisions
    WHERE holdout_rule IS NOT NULL)
  JOIN orders USING (order_key) WHERE fate <> 'TECHNICAL' GROUP BY ALL`;

const NOBODY: ReportOrders = { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 };

function kindOf({ fate, granted }: Readonly<Record<string, unknown>>): keyof ReportOrders {
  if (fate === 'PAID') return 'paid';
  if (granted === false) return 'turnedAway';
  return fate === 'UNPAID' ? 'unpaid' : 'unknown';
}

/** Orders for which one rule was skipped. */
export class HeldOrders {
  readonly #share: number;
  readonly #orders = { ...NOBODY };
  readonly #amount: Record<string, ReportOrders> = {};
  readonly #clusters = new OrderClusters();

  /** Of the clients, as the rule has it. */
  constructor(share: number) {
    this.#share = share;
  }

  add(row: Readonly<Record<string, unknown>>): void {
    const { cluster, currency, orders, amount } = row;
    const kind = kindOf(row);
    this.#orders[kind] += Number(orders);
    const sums = this.#amount[String(currency)] ?? NOBODY;
    this.#amount[String(currency)] = { ...sums, [kind]: amountSum(sums[kind] + Number(amount)) };
    if (kind === 'paid') this.#clusters.add(Number(cluster), Number(orders), 0);
    if (kind === 'unpaid') this.#clusters.add(Number(cluster), 0, Number(orders));
  }

  /** `matched` are all orders that the rule matched, held out or not. */
  besideOthers(matched: OrderTally): HoldoutReport {
    const held = this.#orders;
    const others = (fate: keyof ReportOrders) => Math.max(0, matched.orders[fate] - held[fate]);
    return {
      share: this.#share,
      orders: held,
      paidShare: clusteredShare(this.#clusters.counts('paid')),
      amount: this.#amount,
      others: {
        orders: {
          paid: others('paid'),
          unpaid: others('unpaid'),
          turnedAway: others('turnedAway'),
          unknown: others('unknown'),
        },
        paidShare: clusteredShare(matched.clusters.without(this.#clusters).counts('paid')),
      },
    };
  }
}
