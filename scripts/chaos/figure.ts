import { formatTable } from '#workbench/commands/print.ts';
import { type FigureTarget, formatNumber, formatTarget, type Judgement, judge } from '../bench/figure.ts';

/** One measured number of a scenario, as a line of the table. */
export interface Figure {
  /** The name of what was measured: `acknowledged verdicts lost`. */
  readonly figure: string;
  /** The measured number with its unit. */
  readonly seen: string;
  /** The target with its unit, or an empty text without a target. */
  readonly target: string;
  readonly judgement: Judgement;
}

/** Creates a figure that may be at most `most`. */
export function atMost(figure: string, seen: number, most: number, unit = ''): Figure {
  return createFigure(figure, seen, { atMost: most }, unit);
}

/** Creates a figure that must be at least `least`. */
export function atLeast(figure: string, seen: number, least: number, unit = ''): Figure {
  return createFigure(figure, seen, { atLeast: least }, unit);
}

/** Creates a count of things that must not happen. */
export function never(figure: string, seen: number): Figure {
  return atMost(figure, seen, 0);
}

function createFigure(figure: string, value: number, target: FigureTarget, unit: string): Figure {
  const withUnit = (text: string) => `${text} ${unit}`.trimEnd();
  const seen = withUnit(formatNumber(value));
  return { figure, seen, target: withUnit(formatTarget(target)), judgement: judge({ value, target }) };
}

/** Formats how often each value occurs: `503: 2, no answer: 1`. */
export function formatCounts(values: readonly unknown[]): string {
  return [...countEach(values)].map(([value, count]) => `${value}: ${count}`).join(', ');
}

/** Counts how often each value occurs. */
export function countEach<T>(values: readonly T[]): ReadonlyMap<T, number> {
  return new Map([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
}

/** Puts a prefix before the names of figures that says what they are about. */
export function prefixFigures(what: string, figures: readonly Figure[]): readonly Figure[] {
  return figures.map((one) => ({ ...one, figure: `${what}: ${one.figure}` }));
}

/** Creates a figure without a target. */
export function reported(figure: string, seen: string): Figure {
  return { figure, seen, target: '', judgement: '' };
}

/** The figures of one scenario, and why it broke off, if it did. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly figures: readonly Figure[];
  /** Null when the scenario ran to its end. */
  readonly trouble: string | null;
}

const TITLES: readonly string[] = ['scenario', 'figure', 'seen', 'target', ''];

/** Formats the one table of a run. A scenario that broke off has a line with the judgement MISS. */
export function formatResultTable(outcomes: readonly ScenarioResult[]): string {
  return formatTable(TITLES, outcomes.flatMap(formatRows));
}

function formatRows({ scenario, figures, trouble }: ScenarioResult): readonly (readonly string[])[] {
  const rows = figures.map(({ figure, seen, target, judgement }) => [
    scenario,
    figure,
    seen,
    target,
    judgement,
  ]);
  return trouble === null ? rows : [...rows, [scenario, 'ran to its end', trouble, 'yes', 'MISS']];
}

/** Tells whether every scenario ran to its end and every figure meets its target. */
export function allPass(outcomes: readonly ScenarioResult[]): boolean {
  return outcomes.every(
    ({ figures, trouble }) => trouble === null && figures.every(({ judgement }) => judgement !== 'MISS'),
  );
}
