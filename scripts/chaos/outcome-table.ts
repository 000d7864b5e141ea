import { table } from '../../src/cli/print.ts';
import type { Figure } from './figure.ts';

/** The figures of one scenario, and why there are no more of them when it did not get through. */
export interface Outcome {
  readonly scenario: string;
  readonly figures: readonly Figure[];
  /** Null when the scenario ran to its end. */
  readonly trouble: string | null;
}

const TITLES: readonly string[] = ['scenario', 'figure', 'seen', 'target', ''];

/** The one table of a run. A scenario that broke off is a line that missed. */
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
