import type { SweepReport, SweptCombination } from '../../../evidence/sweep/sweep.ts';
import { type Effect, PARTS, type PartName, type TimePart } from '../../../evidence/sweep/trade-off.ts';
import { table } from '../../table.ts';
import { timeText } from '../../time.ts';
import {
  countText,
  emptyListsText,
  heldOutText,
  ordersText,
  section,
  shareText,
  spanText,
} from './evidence-text.ts';

/** A sweep's report for people. */
export function sweepText(report: SweepReport): string {
  const { version, outcomes, span, parts, combinations, emptyLists } = report;
  return [
    [
      `${version} with other constants, each lived through from an empty state; outcomes: ${outcomes}`,
      ...spanText(span),
      `Varied: ${pathsOf(combinations).join(', ')}`,
      ...heldOutText(`${version} as it is`, combinations.find(({ present }) => present)?.heldOut ?? []),
      ...emptyListsText(emptyLists),
    ].join('\n'),
    ...PARTS.map((part) => section(partTitle(part, parts[part]), effectsTable(combinations, part))),
    section('Amounts, later part, 95 % by a bootstrap over clients', amountsTable(combinations)),
    ABOUT,
  ].join('\n\n');
}

const ABOUT =
  'FRONT marks choices that no other one betters in everything. Choose by the earlier part and believe the later one: whatever is best of many where it was chosen looks better there than it is.';

function partTitle(part: PartName, { from, to, orders }: TimePart): string {
  const span = from === null || to === null ? 'no order' : `${timeText(from)} to ${timeText(to)}`;
  return `${part === 'earlier' ? 'Earlier' : 'Later'} part, ${span}: ${ordersText(orders)}`;
}

function effectsTable(combinations: readonly SweptCombination[], part: PartName): string {
  const paths = pathsOf(combinations);
  const headings = [
    ...paths.map(shortName),
    'UNPAID STOPPED',
    '95 %',
    'OF THEM BLOCKED',
    '95 %',
    'PAID REFUSED',
    '95 %',
    'PAID HELD BACK',
    '95 %',
    'FRONT',
  ];
  const rows = combinations.map((combination) => {
    const { unpaidStopped, unpaidBlocked, paidRefused, paidHeldBack } = combination[part];
    return [
      ...valueCells(combination, paths),
      ...[unpaidStopped, unpaidBlocked, paidRefused, paidHeldBack].flatMap(effectCells),
      combination.onFront[part] ? '*' : '',
    ];
  });
  return table(headings, rows, { right: Array.from({ length: 8 }, (_, place) => paths.length + place) });
}

function amountsTable(combinations: readonly SweptCombination[]): string {
  const paths = pathsOf(combinations);
  const currencies = [
    ...new Set(combinations.flatMap(({ later }) => Object.keys(later.unpaidStopped.amount))),
  ].toSorted();
  const rows = combinations.flatMap((combination) =>
    currencies.map((currency) => [
      ...valueCells(combination, paths),
      currency,
      ...[combination.later.unpaidStopped, combination.later.paidRefused, combination.later.paidHeldBack].map(
        ({ amount }) => amountCell(amount[currency]),
      ),
    ]),
  );
  return table(
    [...paths.map(shortName), 'CURRENCY', 'UNPAID STOPPED', 'PAID REFUSED', 'PAID HELD BACK'],
    rows,
    {
      right: [1, 2, 3].map((place) => paths.length + place),
    },
  );
}

function pathsOf(combinations: readonly SweptCombination[]): readonly string[] {
  return Object.keys(combinations[0]?.values ?? {});
}

/** The end of a constant's path, which a column has room for, unless several have it. */
function shortName(path: string, _: number, paths: readonly string[]): string {
  const end = (of: string) => of.slice(of.lastIndexOf('.') + 1);
  return paths.filter((other) => end(other) === end(path)).length === 1 ? end(path) : path;
}

function valueCells({ values, present }: SweptCombination, paths: readonly string[]): readonly string[] {
  return paths.map((path, place) => `${values[path] ?? ''}${present && place === 0 ? ' (now)' : ''}`);
}

function effectCells({ orders, share }: Effect): readonly string[] {
  return [countText(orders), shareText(share)];
}

function amountCell(estimate: Effect['amount'][string] | undefined): string {
  if (estimate === undefined) return '-';
  const digits = (value: number) =>
    Math.abs(value) < 1 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 };
  const text = (value: number) => value.toLocaleString('en', digits(value));
  return `${text(estimate.value)} (${text(estimate.low)} to ${text(estimate.high)})`;
}
