import { printableLine } from './print.ts';

/** How a table differs from plain columns that begin at the left. */
export interface TableForm {
  /** Columns of numbers, from 0: they stand under each other by their last digit. */
  readonly right?: readonly number[];
}

/** Rows under headings in aligned columns, for people; no line ends in blanks, and no cell can pass for a row of its own. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [] }: TableForm = {},
): string {
  const shown = [headings, ...rows.map((row) => row.map(printableLine))];
  const widths = headings.map((_, column) =>
    shown.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  };
  return shown.map(line).join('\n');
}
