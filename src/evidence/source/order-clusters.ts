import type { ClusterCount } from '../../statistics/intervals.ts';
import { eachOf } from '../../statistics/sums.ts';
import { type Money, type OrderAmounts, statusMember } from '../presentation.ts';

/** Orders with a known outcome by the cluster of their clients: the orders of one client depend on each other. */
export class OrderClusters {
  readonly #paid = new Map<number, number>();
  readonly #unpaid = new Map<number, number>();

  add(cluster: number, paid: number, unpaid: number): void {
    this.#paid.set(cluster, (this.#paid.get(cluster) ?? 0) + paid);
    this.#unpaid.set(cluster, (this.#unpaid.get(cluster) ?? 0) + unpaid);
  }

  /** Of each cluster, which part of the orders was paid, or was not. */
  counts(status: 'paid' | 'unpaid'): readonly ClusterCount[] {
    const parts = status === 'paid' ? this.#paid : this.#unpaid;
    // In order, so that sums come out the same to the last digit.
    const inOrder = [...this.#paid].toSorted(([a], [b]) => a - b);
    return inOrder.map(([cluster, paid]) => ({
      part: parts.get(cluster) ?? 0,
      whole: paid + (this.#unpaid.get(cluster) ?? 0),
    }));
  }
}

/** Clients are drawn in so many clusters: enough for an interval, few enough for any number of clients. */
const CLUSTERS = 1000;

/** SQL: the cluster of a client. A client's decisions and orders depend on each other, clusters do not. */
export function clusterOf(clientHash: string): string {
  return `(${clientHash} % ${CLUSTERS})::INT`;
}

const DIGITS = 12;

/** A sum of amounts without the rounding digits of doubles; small amounts keep their own. */
export function amountSum(sum: number): number {
  return Number(sum.toPrecision(DIGITS));
}

export interface StatusMoney {
  readonly status: unknown;
  /** It was paid and taken back. */
  readonly reversed: boolean;
  readonly currency: string;
  readonly amount: number;
}

const NO_MONEY: OrderAmounts = { paid: 0, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 };

/** Sums up money by currency and by what became of the orders; a technical failure is in none of the sums. */
export class MoneySums {
  readonly #sums = new Map<string, OrderAmounts>();

  add({ status, reversed, currency, amount }: StatusMoney): void {
    if (status === 'TECHNICAL') return;
    const before = this.#sums.get(currency) ?? NO_MONEY;
    const member = statusMember(status);
    const after = { ...before, [member]: before[member] + amount };
    this.#sums.set(currency, reversed ? { ...after, reversed: before.reversed + amount } : after);
  }

  get money(): Money {
    const inOrder = [...this.#sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(inOrder.map(([currency, sums]) => [currency, eachOf(sums, amountSum)]));
  }
}
