/** What a figure must stay below or reach. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

/** One measured number. */
export interface Figure {
  /** Where in the terms it belongs: `cost`, `rules`, `growth`. */
  readonly part: string;
  readonly name: string;
  readonly value: number;
  /** Of the value; `x` is a ratio. */
  readonly unit: string;
  readonly target: Target | null;
  /** What each of several runs gave; the value is their median then. Absent after a single run. */
  readonly runs?: readonly number[];
}

export type Judgement = 'pass' | 'MISS' | '';

export function judge({ value, target }: Figure): Judgement {
  if (target === null) return '';
  const met = 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
  return met ? 'pass' : 'MISS';
}

/** Ratios first, then the rest; each in the order in which it was measured. */
export function ratiosFirst(figures: readonly Figure[]): readonly Figure[] {
  return [...figures.filter(({ unit }) => unit === 'x'), ...figures.filter(({ unit }) => unit !== 'x')];
}

/** The middle one of some measurements, the mean of two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * The median over rounds of `a` divided by `b`. Round by round, because two measurements of one round met
 * the same machine, and the medians of each may come from different ones.
 */
export function medianRatio(a: readonly number[], b: readonly number[]): number {
  return median(a.flatMap((value, round) => (b[round] === undefined ? [] : [value / b[round]])));
}

/** One figure for each of those that several runs measured: the median, with what each run gave. */
export function joinRuns(runs: readonly (readonly Figure[])[]): readonly Figure[] {
  const [first = []] = runs;
  if (runs.length === 1) return first;
  return first.map((figure) => {
    const values = runs.flatMap((figures) => figures.find((other) => isSame(other, figure))?.value ?? []);
    return { ...figure, value: median(values), runs: values };
  });
}

function isSame(one: Figure, other: Figure): boolean {
  return one.part === other.part && one.name === other.name;
}
