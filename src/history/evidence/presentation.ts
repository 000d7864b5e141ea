import { formatCount } from '#base/count-text.ts';
import { Type } from '#base/json-schema.ts';
import {
  count,
  describedChoice,
  epochMs,
  list,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
  type WithMomentsAsText,
  yesNo,
} from '#base/shapes.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { formatSharedListNames } from '#decision/rules/condition-text.ts';
import { mapVerdicts } from '#decision/rules/rule-set.ts';
import { type ErasedSinceMoment, erasedSinceMomentSchema } from '#history/archive/read/as-of.ts';
import type { Estimate } from '#history/statistics/intervals.ts';

/** The schemas that the answers to several kinds of questions share. The member names are stable. */

/** Creates the schema of a number with this description. */
export const createNumberSchema = (description: string) => Type.Number({ description });

export const certainIntervalSchema = named(
  'Interval',
  shape('A figure with its 95 % interval', {
    value: createNumberSchema('What was seen'),
    low: createNumberSchema('Its lower end'),
    high: createNumberSchema('Its upper end'),
  }),
);

/** An interval. Null if nothing was measured. */
export const createNullableIntervalSchema = (description: string) =>
  Type.Union([certainIntervalSchema, Type.Null()], { description });

export const orderCountsSchema = named(
  'OrderCounts',
  shape('Orders by what became of them; those whose last outcome is technical are left out', {
    paid: count('The last outcome is PAID'),
    unpaid: count('Granted, and the last outcome is UNPAID'),
    turnedAway: count(
      'Asked for and never granted, and not paid: what was reported of them proves nothing, since nobody could pay',
    ),
    unknown: count(
      'Granted, and nothing was reported about them: nobody knows, and no figure takes that for harmless',
    ),
  }),
);

export type OrderCounts = ValueOf<typeof orderCountsSchema>;

export const NO_ORDERS: OrderCounts = { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 };

const ORDER_AMOUNTS = named(
  'OrderAmounts',
  shape('Sums of the amounts of orders by what became of them', {
    paid: createNumberSchema('Of paid orders'),
    unpaid: createNumberSchema('Of unpaid ones'),
    reversed: createNumberSchema('Of the unpaid ones, those that were paid and taken back'),
    turnedAway: createNumberSchema('Of those turned away'),
    unknown: createNumberSchema('Of those of which nothing was reported'),
  }),
);

export const currencyAmountsSchema = Type.Record(ORDER_AMOUNTS, { description: 'By currency, in its units' });

export type OrderAmounts = ValueOf<typeof ORDER_AMOUNTS>;
/** Amounts by currency. */
export type CurrencyAmounts = ValueOf<typeof currencyAmountsSchema>;

const gaps = list(
  shape('Entries of the journal that were lost', {
    from: epochMs('About when it begins'),
    to: epochMs('About when it ends'),
    entries: count('About how many'),
  }),
  'What was lost within the time',
);

/** The members, with their schemas, that say from which decisions an answer is made, and what is missing in them. */
export const SPAN_MEMBERS = {
  from: nullable(epochMs('Of the first decision; null when there is none')),
  to: nullable(epochMs('Of the last decision')),
  decisions: count('Decisions within the time'),
  gaps,
  silences: list(
    shape('A platform that usually reports told nothing', {
      platform: plainText('Its name'),
      from: epochMs('Of the first order of which nothing was told'),
      to: nullable(epochMs('Of the next report; null: none came')),
      orders: count('Granted meanwhile'),
    }),
    'When reports of outcomes had stopped: what became of these orders is known late, or not at all',
  ),
  torn: yesNo("The last line of the journal's file is incomplete and was left out"),
  asOf: Type.Optional(erasedSinceMomentSchema),
} as const;

export const evidenceSpanSchema = shape('Where the decisions are from', SPAN_MEMBERS);

export type EvidenceSpan = ValueOf<typeof evidenceSpanSchema>;

export const heldOutCountsSchema = list(
  shape('How often a rule matched and was skipped, because its client is held out of it', {
    rule: plainText('Its file and name, like groups/blocked-by-unpaid-chain'),
    share: createNumberSchema('Of the clients, 0 to 1'),
    decisions: count('In which it was skipped'),
    clients: count('The different clients of these decisions'),
  }),
  'Whom rules held out, as in live traffic',
);

export type HeldOutCount = ValueOf<typeof heldOutCountsSchema>[number];

export const emptySharedListsSchema = list(
  plainText('A shared list'),
  'Shared lists that the rules ask about and that nobody was on, because inputs do not tell',
);

/** The schema of the share of decisions that each verdict has, each an interval or null. */
export const verdictSharesSchema = shape(
  'Share of the decisions that each verdict has, by client',
  mapVerdicts(() => createNullableIntervalSchema('Null without a decision')),
);

/**
 * The schemas of a presentation: notes, and tables whose cells are data. For each kind of question, one function
 * turns the figures of an answer into a presentation. The command line prints the presentation, the API sends it, and
 * the console draws it.
 */

const columnKind = describedChoice(
  {
    text: 'words',
    count: 'how many',
    share: 'from 0 to 1, read in per cent',
    figure: 'a figure without a unit',
    ratio: 'how many times as much',
    money: "in the currency's units",
  },
  'What the numbers of its cells are',
);

const EvidenceTableSchema = named(
  'EvidenceTable',
  shape('Figures as a reader is shown them', {
    name: plainText('The same in every result of the kind; several tables may share it'),
    title: plainText('What it shows'),
    columns: list(
      shape('A column of a table', { name: plainText('Its heading'), kind: columnKind }),
      'From left to right',
    ),
    rows: list(
      list(
        Type.Union([Type.String(), Type.Number(), certainIntervalSchema, Type.Null()]),
        'A cell for each column: words, a number, one with its interval; null where nothing is known',
      ),
      'From top to bottom',
    ),
  }),
);

export const PRESENTATION_MEMBERS = {
  notes: list(
    plainText('A sentence or more'),
    'What the figures come to, and what a reader must know to trust them',
  ),
  tables: list(EvidenceTableSchema, 'The figures as tables'),
} as const;

export type EvidenceTable = ValueOf<typeof EvidenceTableSchema>;
export type TableColumn = EvidenceTable['columns'][number];
export type TableCell = EvidenceTable['rows'][number][number];

/** The result of a question of evidence for people: notes and tables. */
export interface NotesAndTables {
  readonly notes: readonly string[];
  readonly tables: readonly EvidenceTable[];
}

/**
 * Sorts every table that has a column of this name by that column: numbers from the largest to the smallest, words
 * from A to Z, then cells without a value. Returns null if no table has such a column.
 */
export function sortTables<Result extends NotesAndTables>(shown: Result, column: string): Result | null {
  const placeIn = (table: EvidenceTable) => listSortNames(table).indexOf(column.toLowerCase());
  if (shown.tables.every((table) => placeIn(table) < 0)) return null;
  const tables = shown.tables.map((table) => {
    const place = placeIn(table);
    const by = (a: EvidenceTable['rows'][number], b: EvidenceTable['rows'][number]) =>
      compareCells(a[place] ?? null, b[place] ?? null);
    return place < 0 ? table : { ...table, rows: table.rows.toSorted(by) };
  });
  return { ...shown, tables };
}

/** Lists the names by which the columns of a table can be sorted: the headings in lower case, without units. */
export function listSortNames({ columns }: EvidenceTable): readonly string[] {
  return columns.map(({ name }) => name.toLowerCase().replace(/,.*/, ''));
}

function compareCells(one: TableCell, other: TableCell): number {
  const [a, b] = [one, other].map((cell) => (typeof cell === 'object' ? (cell?.value ?? null) : cell));
  if (typeof a === 'number' && typeof b === 'number') return b - a;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : Number(a > b);
  return Number(typeof a !== 'number') - Number(typeof b !== 'number');
}

/** The kind and the headings of adjacent columns. */
export type ColumnsOfKind = readonly [kind: TableColumn['kind'], ...headings: readonly string[]];

export function createColumns(...groups: readonly ColumnsOfKind[]): readonly TableColumn[] {
  return groups.flatMap(([kind, ...headings]) => headings.map((name) => ({ name, kind })));
}

/** Formats a cell like `56.4 % (55.0 to 57.9)`. Formats a value that is not known as "-". */
export function formatCell(cell: TableCell, kind: TableColumn['kind']): string {
  if (cell === null) return '-';
  if (typeof cell === 'string') return cell;
  const unit = kind === 'share' ? ' %' : '';
  if (typeof cell === 'number') return `${NUMBER_TEXTS[kind](cell)}${unit}`;
  const [value, low, high] = [cell.value, cell.low, cell.high].map((one) => NUMBER_TEXTS[kind](one));
  return `${value}${unit} (${low} to ${high})`;
}

const NUMBER_TEXTS: Readonly<Record<TableColumn['kind'], (value: number) => string>> = {
  text: String,
  count: formatNumber,
  share: (value) => (100 * value).toFixed(1),
  figure: (value) => value.toFixed(4),
  ratio: (value) => value.toFixed(2),
  money: moneyText,
};

/** Formats a sum with two decimals. A sum below 1 gets up to nine decimals, for currencies whose unit is worth much. */
function moneyText(sum: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: Math.abs(sum) < 1 ? 9 : 2 };
  return sum.toLocaleString('en', digits);
}

export function formatNumber(value: number): string {
  return value.toLocaleString('en');
}

export function formatShare(share: Estimate | null): string {
  return formatCell(share, 'share');
}

/** Formats a share like 0.005 as `0.5 %`, with up to four decimals. */
export function formatPercent(share: number): string {
  return `${Number((100 * share).toFixed(4))} %`;
}

/** Formats a rule set like `p2.v11 (sha256:0123456789ab)`. */
export function formatRuleSet(version: string, digest: string): string {
  return `${version} (sha256:${digest.slice(0, 12)})`;
}

export function formatOrders({ paid, unpaid, turnedAway, unknown }: OrderCounts): string {
  return `${formatNumber(paid)} paid, ${formatNumber(unpaid)} unpaid, ${formatNumber(turnedAway)} turned away, ${formatNumber(unknown)} unknown`;
}

/** The members that count orders, each with its status in the view `orders`. */
export const ORDER_COUNT_STATUS_PAIRS = [
  ['paid', 'PAID'],
  ['unpaid', 'UNPAID'],
  ['turnedAway', 'TURNED_AWAY'],
  ['unknown', 'UNKNOWN'],
] as const satisfies readonly (readonly [keyof OrderCounts, string])[];

/** The columns of a table for the four counts of orders. Their cells come from `listOrderCountCells`. */
export const ORDER_STATUS_COLUMNS: ColumnsOfKind = [
  'count',
  ...ORDER_COUNT_STATUS_PAIRS.map(([, status]) => status.toLowerCase().replace('_', ' ')),
];

export function listOrderCountCells(orders: OrderCounts): readonly TableCell[] {
  return ORDER_COUNT_STATUS_PAIRS.map(([status]) => orders[status]);
}

/**
 * Says which moment the figures are about, and how many payers were erased since. Returns nothing if the figures use
 * everything that is known.
 */
export function listAsOfNotes(
  asOf: ErasedSinceMoment | WithMomentsAsText<ErasedSinceMoment> | undefined,
): readonly string[] {
  if (asOf === undefined) return [];
  const { at, erasedPayers, erasedRows } = asOf;
  const known = `As known at ${formatTime(Number(new Date(at)))}.`;
  if (erasedPayers === 0) return [known];
  return [
    known,
    `Payers erased since: ${formatNumber(erasedPayers)}, with ${formatCount(erasedRows, 'row')} of all times. They were counted then, but are not counted here.`,
  ];
}

/** Says from when to when the decisions are, and which parts are missing. */
export function listSpanNotes({
  from,
  to,
  decisions,
  gaps,
  silences,
  torn,
  asOf,
}: EvidenceSpan): readonly string[] {
  return [
    ...listAsOfNotes(asOf),
    from === null || to === null
      ? 'There is no decision in this time span.'
      : `${formatCount(decisions, 'decision')}, ${formatTime(from)} to ${formatTime(to)}.`,
    ...gaps.map(
      (gap) =>
        `Gap: about ${formatCount(gap.entries, 'entry', 'entries')} between ${formatTime(gap.from)} and ${formatTime(gap.to)} were lost.`,
    ),
    ...silences.map(
      ({ platform, from, to, orders }) =>
        `${platform} reported nothing from ${formatTime(from)} ${to === null ? 'on' : `to ${formatTime(to)}`}, about ${formatCount(orders, 'granted order')}. Figures of that time know only what was reported later.`,
    ),
    ...(torn
      ? ['The last line of the journal is incomplete and was left out; export again to complete it.']
      : []),
  ];
}

/**
 * Says which clients a rule set held out of its rules, as in live traffic. `side` names the rule set. Returns nothing
 * if no rule holds clients out.
 */
export function listHoldoutNotes(side: string, heldOut: readonly HeldOutCount[]): readonly string[] {
  return heldOut.map(
    ({ rule, share, decisions, clients }) =>
      `As in live traffic, ${side} holds ${formatPercent(share)} of the clients out of ${rule}: the rule matched and was skipped in ${formatCount(decisions, 'decision')} about ${formatCount(clients, 'client')}.`,
  );
}

/**
 * Says that a replay from an empty state cannot know who was on the shared lists. Returns nothing if no rule asks for
 * a shared list.
 */
export function listSharedListNotes(lists: readonly string[]): readonly string[] {
  if (lists.length === 0) return [];
  return [
    `In a replay nobody is on ${formatSharedListNames(lists)}, because recorded inputs do not say who was.`,
  ];
}
