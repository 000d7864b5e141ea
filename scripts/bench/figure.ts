import { formatTable } from '#workbench/commands/print.ts';

export type FigureTarget = { readonly atMost: number } | { readonly atLeast: number };

/** One measured number. */
export interface Figure {
  /** The part of the bench, like `cost`, `rules` or `growth`. */
  readonly part: string;
  readonly name: string;
  readonly value: number;
  /** The unit of the value. `x` means a ratio. */
  readonly unit: string;
  readonly target: FigureTarget | null;
  /** The values of several runs, whose median is `value`. Absent after a single run. */
  readonly runs?: readonly number[];
  /** True when the part threw before its end. */
  readonly failed?: true;
}

/** Returns a function that creates the figures of one part. */
export function createFigureMaker(part: string) {
  return (name: string, value: number, unit: string, target: FigureTarget | null = null): Figure => ({
    part,
    name,
    value,
    unit,
    target,
  });
}

/** Creates a figure for a part that threw, so that its missing figures are noticed. */
export function createFailedFigure(part: string, error: unknown): Figure {
  const [why] = String(error).split('\n');
  return {
    part,
    name: `could not be measured: ${why}`,
    value: Number.NaN,
    unit: '',
    target: null,
    failed: true,
  };
}

export type Judgement = 'pass' | 'MISS' | 'FAILED' | '';

export function judge({ value, target, failed }: Pick<Figure, 'value' | 'target' | 'failed'>): Judgement {
  if (failed) return 'FAILED';
  if (target === null) return '';
  const met = 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
  return met ? 'pass' : 'MISS';
}

/** Returns the ratios first and then the other figures, each in the order of measuring. */
export function sortRatiosFirst(figures: readonly Figure[]): readonly Figure[] {
  return [...figures.filter(({ unit }) => unit === 'x'), ...figures.filter(({ unit }) => unit !== 'x')];
}

/**
 * Returns the median. For an even number of values it is the mean of the two middle values. Without values it is NaN.
 */
export function computeMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * Returns the median over rounds of `a` divided by `b`. The division is made in each round, because both measurements
 * of a round met the same conditions on the machine.
 */
export function computeMedianRatio(a: readonly number[], b: readonly number[]): number {
  return computeMedian(a.flatMap((value, round) => (b[round] === undefined ? [] : [value / b[round]])));
}

/**
 * Joins the figures of several runs. The value of a joined figure is the median, and `runs` has the value of each
 * run.
 */
export function joinRuns(runs: readonly (readonly Figure[])[]): readonly Figure[] {
  if (runs.length === 1) return runs.flat();
  // A part may have failed in some runs.
  const named = runs.flat().filter((figure, at, all) => all.findIndex((one) => isSame(one, figure)) === at);
  return named.map((figure) => {
    const values = runs.flatMap((figures) => figures.find((other) => isSame(other, figure))?.value ?? []);
    return { ...figure, value: computeMedian(values), runs: values };
  });
}

function isSame(one: Figure, other: Figure): boolean {
  return one.part === other.part && one.name === other.name;
}

const HEADINGS = ['part', 'figure', 'measured', '', 'target', ''] as const;

/**
 * Formats all figures as one aligned table, ratios first. For several runs it adds the lowest and the highest value.
 */
export function formatFigureTable(figures: readonly Figure[]): string {
  const sorted = sortRatiosFirst(figures);
  if (sorted.every(({ runs }) => runs === undefined))
    return formatTable(HEADINGS, sorted.map(row), { right: [2, 4] });
  const rows = sorted.map((figure) => [...row(figure), formatSpread(figure)]);
  return formatTable([...HEADINGS, 'runs'], rows, { right: [2, 4] });
}

function formatSpread({ runs = [] }: Figure): string {
  return runs.length === 0 ? '' : [Math.min(...runs), Math.max(...runs)].map(formatNumber).join(' to ');
}

/** Formats a number with more digits the smaller it is. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function row(figure: Figure): string[] {
  const { part, name, value, unit, target } = figure;
  return [part, name, formatNumber(value), unit, target === null ? '' : formatTarget(target), judge(figure)];
}

export function formatTarget(target: FigureTarget): string {
  return 'atMost' in target ? `<= ${formatNumber(target.atMost)}` : `>= ${formatNumber(target.atLeast)}`;
}
