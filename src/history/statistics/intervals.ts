import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { drawCount } from './drawn-counts.ts';

/** An estimate with its 95 % interval. For a share, all three numbers are from 0 to 1. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % point of the normal distribution. 95 % of all draws lie between this number and its negative. */
const NORMAL_975 = 1.959963984540054;

/**
 * Estimates the share `part / whole` with Wilson's score interval, which stays within 0 and 1 and is valid for few
 * cases, too (Wilson, Probable inference, the law of succession, and statistical inference, 1927; Brown, Cai and
 * DasGupta, Interval estimation for a binomial proportion, 2001). Returns null if `whole` is 0.
 */
export function estimateShare(part: number, whole: number): Estimate | null {
  if (whole === 0) return null;
  const [value, z] = [part / whole, NORMAL_975];
  const shrink = 1 + z ** 2 / whole;
  const middle = (value + z ** 2 / (2 * whole)) / shrink;
  const half = (z / shrink) * Math.sqrt((value * (1 - value)) / whole + z ** 2 / (4 * whole ** 2));
  // For the shares 0 and 1 the end of the interval is exact. The computed value would differ from it by a rounding
  // error.
  return { value, low: part === 0 ? 0 : middle - half, high: part === whole ? 1 : middle + half };
}

/**
 * The counts of one cluster, usually the orders of one client: all of them, and those that have the counted property.
 */
export interface ClusterCount {
  readonly part: number;
  readonly whole: number;
}

/** The fewest orders with an outcome from which a share is reported. If there are fewer, reports say "too few". */
const CLUSTERED_ORDERS_MIN = 30;

/**
 * Estimates a share of orders with its 95 % interval. The orders of one client depend on each other, so the interval
 * is Wilson's for the effective number of independent orders (Korn and Graubard, Confidence intervals for proportions
 * with small expected number of positive counts, 1998). That number follows from the variance of the ratio between
 * clients. With few clients the variance itself is uncertain, so the effective number is lowered further. Returns
 * null for fewer than 30 orders.
 */
export function estimateShareByClusterIfEnough(clusters: readonly ClusterCount[]): Estimate | null {
  const whole = clusters.reduce((sum, cluster) => sum + cluster.whole, 0);
  return whole < CLUSTERED_ORDERS_MIN ? null : estimateShareByCluster(clusters);
}

/**
 * Estimates a share as `estimateShareByClusterIfEnough` does, for any number of orders. Returns null if there are no orders.
 */
export function estimateShareByCluster(clusters: Iterable<ClusterCount>): Estimate | null {
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
  // The effective number is never above the number of orders, even if clients happen to be alike.
  const effectiveOrders = Math.min(whole, (share * (1 - share)) / variance);
  const effectiveSize = effectiveOrders * (NORMAL_975 / findStudentQuantile(counted - 1)) ** 2;
  return estimateShare(share * effectiveSize, effectiveSize);
}

/** The 97.5 % points for one and two degrees of freedom, for which the expansion is not exact enough. */
const STUDENT_975_FIRST = [12.706204736174698, 4.302652729749462];

/**
 * Computes the 97.5 % point of Student's t by the expansion in powers of 1 / degrees (Abramowitz and Stegun, Handbook
 * of mathematical functions, 26.7.5). The error is at most 1 in 800 from three degrees of freedom on.
 */
export function findStudentQuantile(degrees: number): number {
  const x = NORMAL_975;
  const terms = [
    x,
    (x ** 3 + x) / 4,
    (5 * x ** 5 + 16 * x ** 3 + 3 * x) / 96,
    (3 * x ** 7 + 19 * x ** 5 + 17 * x ** 3 - 15 * x) / 384,
    (79 * x ** 9 + 776 * x ** 7 + 1482 * x ** 5 - 1920 * x ** 3 - 945 * x) / 92160,
  ];
  return (
    STUDENT_975_FIRST[degrees - 1] ?? terms.reduce((sum, term, power) => sum + term / degrees ** power, 0)
  );
}

/** The number of resamples. 10 of them lie below the interval and 10 above it. */
const RESAMPLES = 400;

/**
 * Estimates each statistic with its percentile interval by the cluster bootstrap: it draws as many clusters as there
 * are, with replacement, 400 times (Efron and Tibshirani, An introduction to the bootstrap, 1993). Clients are the
 * clusters, because the orders of one client depend on each other (Field and Welsh, Bootstrapping clustered data,
 * 2007). `statistics` receives how often each cluster was drawn. A resample for which a statistic is null is left out
 * for that statistic. The same seed gives the same intervals. An estimate is null if its statistic over all clusters,
 * each counted once, is null.
 */
export function estimateByBootstrap(
  clusters: number,
  statistics: (drawn: Uint32Array) => readonly (number | null)[],
  seed = 1,
): readonly (Estimate | null)[] {
  const values = statistics(new Uint32Array(clusters).fill(1));
  const chance = xoroshiro128plus(seed);
  const again: number[][] = values.map(() => []);
  for (const drawn of drawResamples(clusters, chance))
    for (const [place, value] of statistics(drawn).entries()) if (value !== null) again[place]?.push(value);
  return values.map((value, place) => {
    if (value === null) return null;
    const sorted = (again[place] ?? []).toSorted((a, b) => a - b);
    return { value, low: interpolateQuantile(sorted, 0.025), high: interpolateQuantile(sorted, 0.975) };
  });
}

/** Yields for each resample how often each cluster was drawn. */
function* drawResamples(clusters: number, chance: RandomGenerator): Generator<Uint32Array> {
  for (let resample = 0; resample < RESAMPLES; resample++) {
    const drawn = new Uint32Array(clusters);
    for (let draw = 0; draw < clusters; draw++) {
      const cluster = uniformInt(chance, 0, clusters - 1);
      drawn[cluster] = (drawn[cluster] ?? 0) + 1;
    }
    yield drawn;
  }
}

/** How a future count varies around its expectation. */
interface CountScatter {
  /** The variance of the count in excess of independent cases, divided by the square of the expectation. */
  readonly beyondChance: number;
  /** The highest possible count. */
  readonly most: number;
}

/**
 * Predicts the interval in which a future count lies in 95 of 100 cases. A bootstrap gives the uncertainty of the
 * expectation, and the count varies around the expectation by a negative binomial distribution. `value` is the
 * expectation; the ends are whole counts. Returns null if the expectation over all clusters, each counted once, is
 * null.
 */
export function predictCountInterval(
  clusters: number,
  expectation: (drawn: Uint32Array) => number | null,
  { beyondChance, most }: CountScatter,
  seed = 1,
): Estimate | null {
  const value = expectation(new Uint32Array(clusters).fill(1));
  if (value === null) return null;
  const chance = xoroshiro128plus(seed);
  const counts: number[] = [];
  for (const drawn of drawResamples(clusters, chance)) {
    const expected = expectation(drawn);
    if (expected === null) continue;
    // Several counts are drawn for each resample, so that the ends do not depend on a few counts.
    for (let draw = 0; draw < COUNTS_A_RESAMPLE; draw++)
      counts.push(Math.min(most, drawCount(chance, expected, beyondChance)));
  }
  const sorted = counts.toSorted((a, b) => a - b);
  return {
    value,
    low: Math.min(Math.floor(interpolateQuantile(sorted, 0.025)), Math.floor(value)),
    high: Math.min(most, Math.max(Math.ceil(interpolateQuantile(sorted, 0.975)), Math.ceil(value))),
  };
}

const COUNTS_A_RESAMPLE = 10;

/** Interpolates linearly between sorted values. */
function interpolateQuantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? below) - below);
}
