import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { drawCount } from './drawn-counts.ts';

/** An estimate with its 95 % interval; of a share all are from 0 to 1. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % point of the normal distribution: between it and its negative lie 95 % of all draws. */
const NORMAL_975 = 1.959963984540054;

/**
 * The share `part / whole` with its interval by Wilson's score method, which stays within 0 and 1 and also holds for
 * few cases (Wilson, Probable inference, the law of succession, and statistical inference, 1927; Brown, Cai and
 * DasGupta, Interval estimation for a binomial proportion, 2001). Null without anybody to count.
 */
export function estimateShare(part: number, whole: number): Estimate | null {
  if (whole === 0) return null;
  const [value, z] = [part / whole, NORMAL_975];
  const shrink = 1 + z ** 2 / whole;
  const middle = (value + z ** 2 / (2 * whole)) / shrink;
  const half = (z / shrink) * Math.sqrt((value * (1 - value)) / whole + z ** 2 / (4 * whole ** 2));
  // At the ends the two terms cancel out except for rounding.
  return { value, low: part === 0 ? 0 : middle - half, high: part === whole ? 1 : middle + half };
}

export interface ClusterCount {
  readonly part: number;
  readonly whole: number;
}

/** Below so many orders with an outcome a share says nothing: "too few". */
const CLUSTERED_ORDERS_MIN = 30;

/**
 * A share of orders with its 95 % interval when the orders of one client depend on each other: Wilson's interval for
 * the effective number of independent orders (Korn and Graubard, Confidence intervals for proportions with small
 * expected number of positive counts, 1998), by the variance of the ratio between clients. With few clients that
 * variance is uncertain itself, which lowers the effective number further. Null for too few orders.
 */
export function estimateClusteredShare(clusters: readonly ClusterCount[]): Estimate | null {
  const whole = clusters.reduce((sum, cluster) => sum + cluster.whole, 0);
  return whole < CLUSTERED_ORDERS_MIN ? null : estimateClusteredShares(clusters);
}

/** The same for any number of orders; null without one. */
export function estimateClusteredShares(clusters: Iterable<ClusterCount>): Estimate | null {
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
  if (variance === 0) return estimateShare(share * counted, counted);
  // At most the number of orders, also when clients happen to be alike.
  const effectiveOrders = Math.min(whole, (share * (1 - share)) / variance);
  const effectiveSize = effectiveOrders * (NORMAL_975 / student975(counted - 1)) ** 2;
  return estimateShare(share * effectiveSize, effectiveSize);
}

/** The 97.5 % points for one and two degrees of freedom, where the expansion is too inexact. */
const FIRST = [12.706204736174698, 4.302652729749462];

/**
 * The 97.5 % point of Student's t: the expansion by powers of 1 / degrees (Abramowitz and Stegun, Handbook of
 * mathematical functions, 26.7.5), which is exact to 1 in 800 from three degrees of freedom on.
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

/** Of 400 resamples, 10 lie below the interval and 10 above it. */
const RESAMPLES = 400;

/**
 * Draws as many clusters as there are, with replacement, again and again, and gives the percentile interval of each of
 * some statistics over the draws (Efron and Tibshirani, An introduction to the bootstrap, 1993; with clients as
 * clusters, because the orders of one client depend on each other: Field and Welsh, Bootstrapping clustered data,
 * 2007). `statistics` is given how often each cluster was drawn; draws for which one is null are left out of it. The
 * same seed gives the same intervals. Null where the statistic of all clusters, each once, is null.
 */
export function estimateByBootstrap(
  clusters: number,
  statistics: (drawn: Uint32Array) => readonly (number | null)[],
  seed = 1,
): readonly (Estimate | null)[] {
  const values = statistics(new Uint32Array(clusters).fill(1));
  const chance = xoroshiro128plus(seed);
  const again: number[][] = values.map(() => []);
  for (const drawn of resamples(clusters, chance))
    for (const [place, value] of statistics(drawn).entries()) if (value !== null) again[place]?.push(value);
  return values.map((value, place) => {
    if (value === null) return null;
    const sorted = (again[place] ?? []).toSorted((a, b) => a - b);
    return { value, low: quantile(sorted, 0.025), high: quantile(sorted, 0.975) };
  });
}

/** How often each of some clusters was drawn, in each of the resamples. */
function* resamples(clusters: number, chance: RandomGenerator): Generator<Uint32Array> {
  for (let resample = 0; resample < RESAMPLES; resample++) {
    const drawn = new Uint32Array(clusters);
    for (let draw = 0; draw < clusters; draw++) {
      const cluster = uniformInt(chance, 0, clusters - 1);
      drawn[cluster] = (drawn[cluster] ?? 0) + 1;
    }
    yield drawn;
  }
}

/** How a count that is yet to come varies around its expectation. */
interface CountScatter {
  /** The variance of the count beyond that of independent cases, over the square of its expectation. */
  readonly beyondChance: number;
  /** The highest count that can be. */
  readonly most: number;
}

/**
 * The interval in which a count of the future lies in 95 of 100 cases. A bootstrap says how uncertain its expectation is, and
 * the count varies around that by a negative binomial. The value is the expectation; the ends are counts. Null when the
 * expectation of all clusters, each once, is null.
 */
export function predictInterval(
  clusters: number,
  expectation: (drawn: Uint32Array) => number | null,
  { beyondChance, most }: CountScatter,
  seed = 1,
): Estimate | null {
  const value = expectation(new Uint32Array(clusters).fill(1));
  if (value === null) return null;
  const chance = xoroshiro128plus(seed);
  const counts: number[] = [];
  for (const drawn of resamples(clusters, chance)) {
    const expected = expectation(drawn);
    if (expected === null) continue;
    // Several for each, so that the ends do not hang on the chance of a few draws.
    for (let draw = 0; draw < COUNTS_A_RESAMPLE; draw++)
      counts.push(Math.min(most, drawCount(chance, expected, beyondChance)));
  }
  const sorted = counts.toSorted((a, b) => a - b);
  return {
    value,
    low: Math.min(Math.floor(quantile(sorted, 0.025)), Math.floor(value)),
    high: Math.min(most, Math.max(Math.ceil(quantile(sorted, 0.975)), Math.ceil(value))),
  };
}

const COUNTS_A_RESAMPLE = 10;

/** Of sorted values, by linear interpolation. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? below) - below);
}
