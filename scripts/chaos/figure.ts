/** Whether a figure keeps its target; `report` is a figure that has none. */
export type Judgement = 'pass' | 'miss' | 'report';

/** One measured number of a scenario, as a line of the table. */
export interface Figure {
  /** What was measured, with its unit: `acknowledged verdicts lost`, `slowest answer, ms`. */
  readonly figure: string;
  /** The number seen, ready to be read. */
  readonly seen: string;
  /** What it should be, ready to be read; '' where the issue only asks for the number. */
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

/** A figure that must be at least `least`; NaN is a miss, as everywhere here. */
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

/** A figure without a target. */
export function reported(figure: string, seen: string): Figure {
  return { figure, seen, target: '', judgement: 'report' };
}

function withUnit(value: number, unit: string): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
  return unit === '' ? String(rounded) : `${rounded} ${unit}`;
}
