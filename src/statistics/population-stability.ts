/** How far the shares of bins lie apart in two populations. */
export interface PopulationStability {
  /** 0 where the shares are the same. */
  readonly index: number;
  /** What two samples of these sizes from one population exceed in 5 of 100 cases. */
  readonly byChance: number;
}

/** The 95 % point of the normal distribution. */
const NORMAL_95 = 1.6448536269514722;

/** Added to every bin, so that an empty one has a share, too. */
const EMPTY_BIN = 0.5;

/**
 * The population stability index over bins that are counted in the same order (Siddiqi, Credit risk scorecards,
 * 2006). By chance it is about chi-squared with one degree of freedom less than there are bins, times
 * 1 / sizes[0] + 1 / sizes[1] (Yurdakul and Naranjo, Statistical properties of the population stability index,
 * 2020). `sizes` are how many of each are independent of each other: clients, where decisions are counted.
 */
export function populationStability(
  before: readonly number[],
  after: readonly number[],
  sizes: readonly [number, number],
): PopulationStability {
  const [a, b] = [smoothed(before), smoothed(after)];
  const index = a.reduce((sum, share, bin) => {
    const other = b[bin] ?? share;
    return sum + (other - share) * Math.log(other / share);
  }, 0);
  const byChance = (1 / Math.max(1, sizes[0]) + 1 / Math.max(1, sizes[1])) * chiSquared95(before.length - 1);
  return { index, byChance };
}

function smoothed(counts: readonly number[]): readonly number[] {
  const total = counts.reduce((sum, count) => sum + count + EMPTY_BIN, 0);
  return counts.map((count) => (count + EMPTY_BIN) / total);
}

/** The 95 % point of chi-squared, by the cube root (Wilson and Hilferty, The distribution of chi-square, 1931). */
function chiSquared95(degrees: number): number {
  if (degrees <= 0) return 0;
  const spread = 2 / (9 * degrees);
  return degrees * (1 - spread + NORMAL_95 * Math.sqrt(spread)) ** 3;
}
