interface PartOfWhole {
  readonly part: number;
  readonly whole: number;
}

/** The cases that count, and all cases, in an earlier and in a later time. */
export interface CountsOfTwoTimes {
  readonly before: PartOfWhole;
  readonly after: PartOfWhole;
}

/** The counts of one value of a dimension, for example of one rule. */
export interface DimensionValueCounts extends CountsOfTwoTimes {
  readonly dimension: string;
  readonly value: string;
}

/** How much one value of a dimension contributes to the difference between two times. */
export interface ChangeContribution extends DimensionValueCounts {
  /** How many more cases there are than expected. It is negative if there are fewer. */
  readonly difference: number;
  /** The value's share of the whole difference. 1 is all of it. */
  readonly share: number;
}

interface RankingParts {
  readonly all: CountsOfTwoTimes;
  /**
   * Dimensions that only divide the traffic, as a rollout does. More traffic for one of their values is not a cause.
   */
  readonly divided: ReadonlySet<string>;
}

/**
 * The smallest share of the later traffic that the other values of a dimension need. With a smaller share, there are
 * too few cases to compare with.
 */
const OTHERS_MIN = 0.05;

/**
 * Finds how much each value contributes to the difference between two times, and lists the most likely cause first.
 * The list is empty when the whole difference may be chance. A value's rank is its share of the difference, minus
 * chance (one standard deviation of its counts), minus its earlier share of all cases. The last is subtracted because
 * a large value takes part in every rise (explanatory power and surprise, as in Adtributor, NSDI 2014). Only the
 * first value of each dimension is returned.
 */
export function rankContributionsToChange(
  counted: readonly DimensionValueCounts[],
  parts: RankingParts,
): readonly ChangeContribution[] {
  const { all } = parts;
  const more = computeGrowth(all);
  const whole = all.after.part - more * all.before.part;
  if (all.before.whole === 0 || Math.abs(whole) <= computeDeviation(all, more)) return [];
  const values = Map.groupBy(counted, ({ dimension }) => dimension);
  const ranked = counted
    // A dimension in which all decisions have the same value explains nothing.
    .filter(({ dimension }) => (values.get(dimension)?.length ?? 0) > 1)
    .map((one) => {
      const difference = one.after.part - computeExpected(one, parts);
      const share = difference / whole;
      const usual = all.before.part === 0 ? 0 : one.before.part / all.before.part;
      const chance = computeDeviation(one, more) / Math.abs(whole);
      return { ...one, difference, share, rank: Math.min(1, share - chance) - usual };
    })
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank);
  const first = new Map<string, (typeof ranked)[number]>();
  for (const one of ranked) if (!first.has(one.dimension)) first.set(one.dimension, one);
  return [...first.values()].map(({ rank: _, ...contribution }) => contribution);
}

/** Computes one standard deviation of a difference that is chance alone. */
function computeDeviation({ before, after }: CountsOfTwoTimes, more: number): number {
  return Math.sqrt(after.part + more ** 2 * before.part);
}

/** Computes by what factor the number of all decisions grew. Such growth does not count as a change of the mix. */
function computeGrowth({ before, after }: CountsOfTwoTimes): number {
  return after.whole / before.whole;
}

/** Computes how many cases the later time would have if the value's share had not changed. */
function computeExpected(
  { dimension, before, after }: DimensionValueCounts,
  { all, divided }: RankingParts,
): number {
  if (!divided.has(dimension)) return computeGrowth(all) * before.part;
  const others = { part: all.after.part - after.part, whole: all.after.whole - after.whole };
  const usual = others.whole >= OTHERS_MIN * all.after.whole ? others : all.before;
  return usual.whole === 0 ? 0 : (after.whole * usual.part) / usual.whole;
}

interface PopulationStability {
  /** The index is 0 when the shares are the same. */
  readonly index: number;
  /** The value that two samples of these sizes from one population exceed in 5 of 100 cases. */
  readonly byChance: number;
}

/** The 95 % point of the normal distribution. */
const NORMAL_95 = 1.6448536269514722;

/** The count that is added to every bin, so that no bin has a share of 0. */
const EMPTY_BIN = 0.5;

/**
 * Computes the population stability index over bins that are listed in the same sequence (Siddiqi, Credit risk
 * scorecards, 2006). If there is no true change, the index is distributed about as chi-squared times 1 / sizes[0] + 1
 * / sizes[1], with one degree of freedom less than there are bins (Yurdakul and Naranjo, Statistical properties of
 * the population stability index, 2020). `sizes` are the numbers of independent units. For counts of decisions, they
 * are the numbers of clients.
 */
export function computeStabilityIndexWithChance(
  before: readonly number[],
  after: readonly number[],
  sizes: readonly [number, number],
): PopulationStability {
  const [a, b] = [smoothShares(before), smoothShares(after)];
  const index = a.reduce((sum, share, bin) => {
    const other = b[bin] ?? share;
    return sum + (other - share) * Math.log(other / share);
  }, 0);
  const byChance =
    (1 / Math.max(1, sizes[0]) + 1 / Math.max(1, sizes[1])) * computeChiSquared95(before.length - 1);
  return { index, byChance };
}

function smoothShares(counts: readonly number[]): readonly number[] {
  const total = counts.reduce((sum, count) => sum + count + EMPTY_BIN, 0);
  return counts.map((count) => (count + EMPTY_BIN) / total);
}

/**
 * Computes the 95 % point of chi-squared by the cube root (Wilson and Hilferty, The distribution of chi-square,
 * 1931).
 */
function computeChiSquared95(degrees: number): number {
  if (degrees <= 0) return 0;
  const spread = 2 / (9 * degrees);
  return degrees * (1 - spread + NORMAL_95 * Math.sqrt(spread)) ** 3;
}
