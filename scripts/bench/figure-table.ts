import { table } from '../../src/cli/print.ts';
import { type Figure, judge, ratiosFirst, type Target } from './figure.ts';

const HEADINGS = ['part', 'figure', 'measured', '', 'target', ''] as const;

/** All figures in one aligned table, ratios first; with the lowest and the highest of several runs. */
export function figureTable(figures: readonly Figure[]): string {
  const sorted = ratiosFirst(figures);
  if (sorted.every(({ runs }) => runs === undefined))
    return table(HEADINGS, sorted.map(row), { right: [2, 4] });
  const rows = sorted.map((figure) => [...row(figure), formatSpread(figure)]);
  return table([...HEADINGS, 'runs'], rows, { right: [2, 4] });
}

function formatSpread({ runs = [] }: Figure): string {
  return runs.length === 0 ? '' : [Math.min(...runs), Math.max(...runs)].map(formatNumber).join(' to ');
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
