import { table } from '../../src/cli/print.ts';

/** Whether a figure keeps its target; `report` is a figure that has none. */
type Judgement = 'pass' | 'miss' | 'report';

/** One measured number of a scenario, as a line of the table. */
export interface Figure {
  /** What was measured, with its unit: `acknowledged verdicts lost`, `slowest answer, ms`. */
  readonly figure: string;
  /** The measured number with its unit. */
  readonly seen: string;
  /** The target with its unit; '' without a target. */
  readonly target: string;
  readonly judgement: Judgement;
}

/** A figure that may be at most `most`; both are written with their unit. */
export function atMost(figure: string, seen: number, most: number, unit = ''): Figure {
  return {
    figure,
    seen: withUnit(seen, unit),
    target: `<= ${withUnit(most, unit)}`,
    judgement: seen <= most ? 'pass' : 'miss',
  };
}

/** A figure that must be at least `least`; NaN is a miss. */
export function atLeast(figure: string, seen: number, least: number, unit = ''): Figure {
  return {
    figure,
    seen: withUnit(seen, unit),
    target: `>= ${withUnit(least, unit)}`,
    judgement: seen >= least ? 'pass' : 'miss',
  };
}

/** A count of things that must not happen. */
export function never(figure: string, seen: number): Figure {
  return { figure, seen: String(seen), target: '0', judgement: seen === 0 ? 'pass' : 'miss' };
}

/** How often each value occurs, like `503: 2, no answer: 1`. */
export function countsText(values: readonly unknown[]): string {
  return [...countsOf(values)].map(([value, count]) => `${value}: ${count}`).join(', ');
}

/** How often each value occurs. */
export function countsOf<T>(values: readonly T[]): ReadonlyMap<T, number> {
  return new Map([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
}

/** Figures with a prefix that says what they are about. */
export function of(what: string, figures: readonly Figure[]): readonly Figure[] {
  return figures.map((one) => ({ ...one, figure: `${what}: ${one.figure}` }));
}

/** A figure without a target. */
export function reported(figure: string, seen: string): Figure {
  return { figure, seen, target: '', judgement: 'report' };
}

function withUnit(value: number, unit: string): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
  return unit === '' ? String(rounded) : `${rounded} ${unit}`;
}

/** The figures of one scenario, and why it broke off, if it did. */
export interface Outcome {
  readonly scenario: string;
  readonly figures: readonly Figure[];
  /** Null when the scenario ran to its end. */
  readonly trouble: string | null;
}

const TITLES: readonly string[] = ['scenario', 'figure', 'seen', 'target', ''];

/** The one table of a run. A scenario that broke off has a line that missed. */
export function outcomeTable(outcomes: readonly Outcome[]): string {
  return table(TITLES, outcomes.flatMap(rowsOf));
}

function rowsOf({ scenario, figures, trouble }: Outcome): readonly (readonly string[])[] {
  const rows = figures.map(({ figure, seen, target, judgement }) => [
    scenario,
    figure,
    seen,
    target,
    judgement === 'report' ? '' : judgement,
  ]);
  return trouble === null ? rows : [...rows, [scenario, 'ran to its end', trouble, 'yes', 'miss']];
}

/** Whether every figure of every scenario keeps its target. */
export function allPass(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(
    ({ figures, trouble }) => trouble === null && figures.every(({ judgement }) => judgement !== 'miss'),
  );
}
