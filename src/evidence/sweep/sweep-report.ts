import { timeText } from '../../client/instant.ts';
import { Type } from '../../json-schema.ts';
import { counted } from '../../rules/condition-text.ts';
import { parseDuration } from '../../rules/duration.ts';
import {
  always,
  choice,
  count,
  epochMs,
  list,
  named,
  nullable,
  type Shape,
  shape,
  word,
  yesNo,
} from '../../shapes.ts';
import { noLadderNote, PAYERS_REPLAYED } from '../backtest/backtest-report.ts';
import { OUTCOME_ASSUMPTIONS } from '../backtest/lives.ts';
import {
  type Cell,
  type Column,
  certainInterval,
  columns,
  type EvidenceTable,
  emptyLists,
  emptyListsNotes,
  evidenceSpan,
  heldOutCounts,
  heldOutNotes,
  interval,
  orderCounts,
  ordersText,
  type Shown,
  spanNotes,
} from '../shown.ts';
import { adviceNotes, reversalNotes, reversals, stoppedPayments } from '../source/reversals.ts';

export const PARTS = ['earlier', 'later'] as const;

export type PartName = (typeof PARTS)[number];

const EFFECT = {
  orders: count('How many'),
  share: interval('Of all paid, or unpaid, orders of the part, by client; null without such orders'),
  amount: Type.Record(certainInterval, {
    description: 'Their money by currency, by a bootstrap over clients',
  }),
} as const;

const EffectSchema = shape('Orders that something happened to', EFFECT);

export const TradeOffSchema = named(
  'TradeOff',
  shape('What a rule set does to the orders of one part of the time', {
    unpaidStopped: shape('Unpaid orders that get no requisite at all', EFFECT),
    unpaidBlocked: shape('Unpaid orders that are answered BLOCK at least once', EFFECT),
    paidRefused: shape('Paid orders that are answered BLOCK at least once', EFFECT),
    paidHeldBack: shape('Paid orders that are told to wait at least once and never blocked', EFFECT),
  }),
);

const TimePartSchema = shape('The orders of one part of the time', {
  from: nullable(epochMs('Of the first order; null when there is none')),
  to: nullable(epochMs('Of the last order')),
  orders: orderCounts,
});

/** What the results of trials on two parts of the time have in common. */
export const PARTED = {
  span: evidenceSpan,
  splitAt: epochMs('Half of the orders were first asked for before it'),
  parts: shape('An order belongs to the part in which it was first asked for', {
    earlier: TimePartSchema,
    later: TimePartSchema,
  }),
  reversals,
  emptyLists,
} as const;

const CombinationSchema = shape('One choice of values and what it does', {
  values: Type.Record(Type.String(), {
    description: 'As they stand in the files, by the paths of the constants',
  }),
  present: yesNo('The version as it is'),
  earlier: TradeOffSchema,
  later: TradeOffSchema,
  onFront: shape('No other combination is better in everything', {
    earlier: yesNo('In the earlier part'),
    later: yesNo('In the later part'),
  }),
  heldOut: heldOutCounts,
  opened: count('Orders that were turned away and that it grants: what they would have come to nobody knows'),
  stopped: nullable(stoppedPayments),
});

/** What `rules sweep --json` prints, but for notes and tables. */
export const SweepSchema = shape("What other values of a version's constants would have done", {
  kind: always('sweep'),
  version: word('Whose constants are varied'),
  outcomes: choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happened'),
  ...PARTED,
  combinations: list(CombinationSchema, 'The version as it is comes first'),
});

export type Effect = Shape<typeof EffectSchema>;
export type TradeOff = Shape<typeof TradeOffSchema>;
export type TimePart = Shape<typeof TimePartSchema>;
export type SweptCombination = Shape<typeof CombinationSchema>;
export type SweepReport = Shape<typeof SweepSchema>;

/** A sweep for its reader. */
export function shownSweep(report: SweepReport): Shown {
  const { version, outcomes, span, parts } = report;
  const paths = Object.keys(report.combinations[0]?.values ?? {});
  const combinations = report.combinations.toSorted((a, b) => compareValues(a, b, paths));
  const present = combinations.find((one) => one.present);
  const ofLadder = paths.some((path) => /\bladders?\b/.test(path));
  return {
    notes: [
      `${version} with other constants, each replayed from an empty state; outcomes: ${outcomes}`,
      ...spanNotes(span),
      `Varied: ${paths.join(', ')}`,
      ...heldOutNotes(`${version} as it is`, present?.heldOut ?? []),
      ...emptyListsNotes(report.emptyLists),
      ...reversalNotes(report.reversals),
      ...combinations.flatMap((one) => adviceNotes(choiceText(one, paths), one.stopped)),
      ...openedNotes(combinations, present?.opened ?? 0, paths),
      PAYERS_REPLAYED,
      ofLadder
        ? noLadderNote('rules rollout VERSION')
        : 'Marked as on the front are choices that no other one betters in everything. Choose by the earlier part and believe the later one: whatever is best of many where it was chosen looks better there than it is.',
    ],
    tables: ofLadder
      ? []
      : [
          ...PARTS.map((part) => partTable(part, parts[part], combinations, paths)),
          amountsTable(combinations, paths),
        ],
  };
}

/** Smaller numbers and shorter durations first, by the first path in which two differ. */
function compareValues(one: SweptCombination, other: SweptCombination, paths: readonly string[]): number {
  const measure = (text: string) => parseDuration(text) ?? Number(text);
  for (const path of paths) {
    const [a, b] = [one.values[path] ?? '', other.values[path] ?? ''];
    const difference = measure(a) - measure(b);
    if (difference !== 0) return Number.isNaN(difference) ? a.localeCompare(b, 'en') : difference;
  }
  return 0;
}

function choiceText({ values }: SweptCombination, paths: readonly string[]): string {
  return paths.map((path) => `${path}=${values[path]}`).join(' ');
}

const OPENED_NAMED_MAX = 5;

/** A choice that grants what was turned away may look harmless: of those orders nothing is known. */
function openedNotes(
  combinations: readonly SweptCombination[],
  openedNow: number,
  paths: readonly string[],
): readonly string[] {
  const milder = combinations.filter(({ opened }) => opened > openedNow);
  if (milder.length === 0) return [];
  const names =
    milder.length > OPENED_NAMED_MAX
      ? [`${milder.length} of the choices`]
      : milder.map((one) => choiceText(one, paths));
  const most = Math.max(...milder.map(({ opened }) => opened)) - openedNow;
  return [
    `Milder than what decided: ${names.join(', ')}, by up to ${counted(most, 'order')} turned away when it was recorded. What they would have come to nobody knows, and no figure counts them: zeros here do not mean harmless. A holdout of the rule shows it on real payers; "rules backtest" says which verdicts change.`,
  ];
}

function partTable(
  part: PartName,
  { from, to, orders }: TimePart,
  combinations: readonly SweptCombination[],
  paths: readonly string[],
): EvidenceTable {
  const time = from === null || to === null ? 'no order' : `${timeText(from)} to ${timeText(to)}`;
  return {
    name: part,
    title: `${part === 'earlier' ? 'Earlier' : 'Later'} part, ${time}: ${ordersText(orders)}`,
    columns: [
      ...valueColumns(paths),
      ...effectColumns('unpaid stopped', 'of them blocked', 'paid refused', 'paid held back'),
      ...columns('text', 'front'),
    ],
    rows: combinations.map((one) => [
      ...valueCells(one, paths),
      ...tradeOffCells(one[part]),
      one.onFront[part] ? '*' : '',
    ]),
  };
}

function amountsTable(combinations: readonly SweptCombination[], paths: readonly string[]): EvidenceTable {
  const currencies = new Set(combinations.flatMap(({ later }) => Object.keys(later.unpaidStopped.amount)));
  return {
    name: 'amounts',
    title: 'Amounts, later part, 95 % by a bootstrap over clients',
    columns: [
      ...valueColumns(paths),
      ...columns('text', 'currency'),
      ...columns('money', 'unpaid stopped', 'paid refused', 'paid held back'),
    ],
    rows: combinations.flatMap((one) =>
      [...currencies]
        .toSorted()
        .map((currency) => [
          ...[...valueCells(one, paths), currency],
          ...[one.later.unpaidStopped, one.later.paidRefused, one.later.paidHeldBack].map(
            ({ amount }) => amount[currency] ?? null,
          ),
        ]),
    ),
  };
}

export function effectColumns(...names: readonly string[]): readonly Column[] {
  return names.flatMap((name) => [...columns('count', name), ...columns('share', '95 %')]);
}

/** Unpaid orders stopped and blocked, paid ones refused and held back, each with its share. */
export function tradeOffCells({
  unpaidStopped,
  unpaidBlocked,
  paidRefused,
  paidHeldBack,
}: TradeOff): readonly Cell[] {
  return [unpaidStopped, unpaidBlocked, paidRefused, paidHeldBack].flatMap(({ orders, share }) => [
    orders,
    share,
  ]);
}

/** Each headed by the end of its path, which a column has room for, unless several have it. */
function valueColumns(paths: readonly string[]): readonly Column[] {
  const end = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const isOnly = (path: string) => paths.filter((other) => end(other) === end(path)).length === 1;
  return columns('text', ...paths.map((path) => (isOnly(path) ? end(path) : path)));
}

function valueCells({ values, present }: SweptCombination, paths: readonly string[]): readonly string[] {
  return paths.map((path, place) => `${values[path] ?? ''}${present && place === 0 ? ' (now)' : ''}`);
}
