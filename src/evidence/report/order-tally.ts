import { clusteredInterval } from '../../statistics/clustered-share.ts';
import type { ShareInterval } from '../../statistics/share-interval.ts';
import { amountSum } from '../source/amount-sum.ts';
import { OrderClusters } from '../source/order-clusters.ts';
import type { ReportFate } from './order-passes.ts';
import type { ReportOrders, RuleFigures } from './rule-report.ts';

/** Sums up decisions and orders of one rule. */
export class OrderTally {
  /** Of those with a known outcome. */
  readonly clusters = new OrderClusters();
  readonly #decisions = { matched: 0, decided: 0, sole: 0 };
  readonly #orders = new FateSums();
  readonly #amounts = new Map<string, FateSums>();

  addDecisions(what: 'matched' | 'decided' | 'sole', decisions: number): void {
    this.#decisions[what] += decisions;
  }

  addOrders(fate: ReportFate, currency: string, orders: number, amount: number): void {
    this.#orders.add(fate, orders);
    const sums = this.#amounts.get(currency) ?? new FateSums();
    this.#amounts.set(currency, sums);
    sums.add(fate, amount);
  }

  get orders(): ReportOrders {
    return this.#orders.counts();
  }

  /** Of the orders with a known outcome. */
  get unpaidShare(): ShareInterval | null {
    return clusteredInterval(this.clusters.counts('unpaid'));
  }

  /** `baseShare` is that of all orders, with which the rule's is compared; `otherwise` cannot be left out. */
  figures(baseShare: ShareInterval | null, isOtherwise: boolean): RuleFigures {
    const { orders, unpaidShare: share } = this;
    return {
      matched: this.#decisions.matched,
      decided: this.#decisions.decided,
      sole: isOtherwise ? null : this.#decisions.sole,
      orders,
      unpaidShare: share,
      lift:
        share === null || baseShare === null || baseShare.value === 0 ? null : share.value / baseShare.value,
      amount: Object.fromEntries(
        [...this.#amounts]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, sums]) => [name, sums.amounts()]),
      ),
    };
  }
}

class FateSums {
  #paid = 0;
  #unpaid = 0;
  #turnedAway = 0;
  #unknown = 0;

  add(fate: ReportFate, value: number): void {
    switch (fate) {
      case 'PAID':
        this.#paid += value;
        return;
      case 'UNPAID':
        this.#unpaid += value;
        return;
      case 'TURNED_AWAY':
        this.#turnedAway += value;
        return;
      case 'UNKNOWN':
        this.#unknown += value;
        return;
      case 'TECHNICAL':
        return;
      default:
        fate satisfies never;
    }
  }

  counts(): ReportOrders {
    return { paid: this.#paid, unpaid: this.#unpaid, turnedAway: this.#turnedAway, unknown: this.#unknown };
  }

  amounts(): ReportOrders {
    return {
      paid: amountSum(this.#paid),
      unpaid: amountSum(this.#unpaid),
      turnedAway: amountSum(this.#turnedAway),
      unknown: amountSum(this.#unknown),
    };
  }
}
