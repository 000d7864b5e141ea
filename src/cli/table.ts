/** How a table differs from plain columns that begin at the left. */
export interface TableForm {
  /** Columns of numbers, from 0: they stand under each other by their last digit. */
  readonly right?: readonly number[];
  /** A line of dashes stands under the headings. */
  readonly underlined?: boolean;
}

/** Rows under headings in aligned columns, for people; no line ends in blanks. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [], underlined = false }: TableForm = {},
): string {
  const widths = headings.map((_, column) =>
    Math.max(...[headings, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const rule = underlined ? [widths.map((width) => '-'.repeat(width))] : [];
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  };
  return [headings, ...rule, ...rows].map(line).join('\n');
}
