import { type Figure, judge, ratiosFirst, type Target } from './figure.ts';

const HEADINGS = ['part', 'figure', 'measured', '', 'target', ''] as const;

/** All figures in one aligned table, ratios first. */
export function figureTable(figures: readonly Figure[]): string {
  const rows = [[...HEADINGS], ...ratiosFirst(figures).map(row)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)));
  return rows.map((cells) => align(cells, widths)).join('\n');
}

/** As people write it: more digits the smaller it is. */
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

function formatTarget(target: Target): string {
  return 'atMost' in target ? `<= ${formatNumber(target.atMost)}` : `>= ${formatNumber(target.atLeast)}`;
}

function align(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    // Numbers stand under each other by their last digit.
    return column === 2 || column === 4 ? cell.padStart(width) : cell.padEnd(width);
  });
  return padded.join('  ').trimEnd();
}
