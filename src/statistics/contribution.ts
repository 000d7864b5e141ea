/** How often something was, and of how many. */
export interface PartOfWhole {
  readonly part: number;
  readonly whole: number;
}

/** Of an earlier and a later time. */
export interface TwoTimes {
  readonly before: PartOfWhole;
  readonly after: PartOfWhole;
}

/** What was counted under one value of a dimension, like a rule. */
export interface CountedValue extends TwoTimes {
  readonly dimension: string;
  readonly value: string;
}

export interface Contribution extends CountedValue {
  /** How many more there are than with its share of everything before; fewer are negative. */
  readonly difference: number;
  /** That of the whole difference: 1 is all of it. */
  readonly share: number;
}

export interface RankingParts {
  /** What was counted whatever the value. */
  readonly all: TwoTimes;
  /** Dimensions by which the same traffic is divided, as by a rollout: a value that has more of it causes nothing by that. */
  readonly divided: ReadonlySet<string>;
}

/** Below this share of the later traffic the others are too few to compare a value with. */
const OTHERS_MIN = 0.05;

/**
 * How much each value contributes to the difference between two times, the likely cause first; nothing where all of it may be chance. A value ranks by its share of the
 * difference, less what chance alone may be (one standard deviation of its counts), less the share that it had of everything
 * before: what always had most of it has most of any rise (explanatory power and surprise, as in Adtributor, NSDI 2014). Of each dimension only the first value is given.
 */
export function contributions(
  counted: readonly CountedValue[],
  parts: RankingParts,
): readonly Contribution[] {
  const { all } = parts;
  const more = growth(all);
  const whole = all.after.part - more * all.before.part;
  if (all.before.whole === 0 || Math.abs(whole) <= deviation(all, more)) return [];
  const ranked = counted
    .map((one) => {
      const difference = one.after.part - expected(one, parts);
      const share = difference / whole;
      const usual = all.before.part === 0 ? 0 : one.before.part / all.before.part;
      const chance = deviation(one, more) / Math.abs(whole);
      return { ...one, difference, share, rank: Math.min(1, share - chance) - usual };
    })
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.rank - a.rank);
  const first = new Map<string, (typeof ranked)[number]>();
  for (const one of ranked) if (!first.has(one.dimension)) first.set(one.dimension, one);
  return [...first.values()].map(({ rank: _, ...contribution }) => contribution);
}

/** One standard deviation of a difference by chance alone. */
function deviation({ before, after }: TwoTimes, more: number): number {
  return Math.sqrt(after.part + more ** 2 * before.part);
}

/** The later time has so many times as many decisions: that more is asked changes no mix. */
function growth({ before, after }: TwoTimes): number {
  return after.whole / before.whole;
}

/** How many there would be in the later time if nothing were the matter with the value. */
function expected({ dimension, before, after }: CountedValue, { all, divided }: RankingParts): number {
  if (!divided.has(dimension)) return growth(all) * before.part;
  const others = { part: all.after.part - after.part, whole: all.after.whole - after.whole };
  const usual = others.whole >= OTHERS_MIN * all.after.whole ? others : all.before;
  return usual.whole === 0 ? 0 : (after.whole * usual.part) / usual.whole;
}
