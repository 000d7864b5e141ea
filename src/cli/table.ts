/** How a table differs from plain columns that begin at the left. */
export interface TableForm {
  /** Columns of numbers, from 0: they stand under each other by their last digit. */
  readonly right?: readonly number[];
}

/** Rows under headings in aligned columns, for people; no line ends in blanks. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [] }: TableForm = {},
): string {
  const widths = headings.map((_, column) =>
    Math.max(...[headings, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  };
  return [headings, ...rows].map(line).join('\n');
}
