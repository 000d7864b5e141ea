import { NORMAL_975, type ShareInterval, shareInterval } from './share-interval.ts';

/** What one client's orders came to. */
export interface ClusterCount {
  readonly part: number;
  readonly whole: number;
}

/** Below so many orders with an outcome a share says nothing: "too few". */
const CLUSTERED_ORDERS_MIN = 30;

/**
 * A share of orders with its 95 % interval when the orders of one client hang together: Wilson's interval for as many
 * independent orders as tell as much (Korn and Graubard, Confidence intervals for proportions with small expected
 * number of positive counts, 1998), by the variance of the ratio between clients. That variance is itself uncertain where
 * there are few clients, for which they count fewer orders still. Null for too few orders.
 */
export function clusteredShare(clusters: readonly ClusterCount[]): ShareInterval | null {
  const whole = clusters.reduce((sum, cluster) => sum + cluster.whole, 0);
  return whole < CLUSTERED_ORDERS_MIN ? null : clusteredInterval(clusters);
}

/** The same however few orders there are; null without one. */
export function clusteredInterval(clusters: Iterable<ClusterCount>): ShareInterval | null {
  const all = [...clusters];
  let [part, whole, spread] = [0, 0, 0];
  for (const cluster of all) {
    part += cluster.part;
    whole += cluster.whole;
  }
  if (whole === 0) return null;
  const share = part / whole;
  for (const cluster of all) spread += (cluster.part - share * cluster.whole) ** 2;
  const counted = all.filter((cluster) => cluster.whole > 0).length;
  const variance = counted < 2 ? 0 : (spread * counted) / (counted - 1) / whole ** 2;
  if (variance === 0) return shareInterval(share * counted, counted);
  // Never more than there are orders: clients that happen to be alike do not make more of them.
  const asMany = Math.min(whole, (share * (1 - share)) / variance);
  const told = asMany * (NORMAL_975 / student975(counted - 1)) ** 2;
  return shareInterval(share * told, told);
}

/** The 97.5 % points for one and two degrees of freedom, which the expansion does not meet. */
const FIRST = [12.706204736174698, 4.302652729749462];

/**
 * The 97.5 % point of Student's t: the expansion by powers of 1 / degrees (Abramowitz and Stegun, Handbook of mathematical
 * functions, 26.7.5), which is right to 1 in 800 from three degrees of freedom on.
 */
export function student975(degrees: number): number {
  const x = NORMAL_975;
  const terms = [
    x,
    (x ** 3 + x) / 4,
    (5 * x ** 5 + 16 * x ** 3 + 3 * x) / 96,
    (3 * x ** 7 + 19 * x ** 5 + 17 * x ** 3 - 15 * x) / 384,
    (79 * x ** 9 + 776 * x ** 7 + 1482 * x ** 5 - 1920 * x ** 3 - 945 * x) / 92160,
  ];
  return FIRST[degrees - 1] ?? terms.reduce((sum, term, power) => sum + term / degrees ** power, 0);
}
