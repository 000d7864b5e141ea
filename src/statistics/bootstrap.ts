import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** An estimate with the interval that 95 % of its resamples fall into. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Of 400 resamples, 10 lie below the interval and 10 above it. */
const RESAMPLES = 400;

/**
 * Draws as many clusters as there are, with replacement, again and again, and gives the percentile interval of
 * a statistic over the draws (Efron and Tibshirani, An introduction to the bootstrap, 1993; with clients as
 * clusters, because the orders of one client hang together: Field and Welsh, Bootstrapping clustered data,
 * 2007). `statistic` is given how often each cluster was drawn; draws for which it is null are left out. The
 * same seed gives the same interval. Null when the statistic of all clusters, each once, is null.
 */
export function bootstrapInterval(
  clusters: number,
  statistic: (drawn: Uint32Array) => number | null,
  seed = 1,
): Estimate | null {
  const [estimate = null] = bootstrapIntervals(clusters, (drawn) => [statistic(drawn)], seed);
  return estimate;
}

/** The same of several statistics over the same draws. */
export function bootstrapIntervals(
  clusters: number,
  statistics: (drawn: Uint32Array) => readonly (number | null)[],
  seed = 1,
): readonly (Estimate | null)[] {
  const values = statistics(new Uint32Array(clusters).fill(1));
  const chance = xoroshiro128plus(seed);
  const again: number[][] = values.map(() => []);
  for (let resample = 0; resample < RESAMPLES; resample++) {
    const drawn = new Uint32Array(clusters);
    for (let draw = 0; draw < clusters; draw++) {
      const cluster = uniformInt(chance, 0, clusters - 1);
      drawn[cluster] = (drawn[cluster] ?? 0) + 1;
    }
    for (const [place, value] of statistics(drawn).entries()) if (value !== null) again[place]?.push(value);
  }
  return values.map((value, place) => {
    if (value === null) return null;
    const sorted = (again[place] ?? []).toSorted((a, b) => a - b);
    return { value, low: quantile(sorted, 0.025), high: quantile(sorted, 0.975) };
  });
}

/** Of values in order; between two of them it is where the line between them says. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? below) - below);
}
