import { formatCount } from '#base/count-text.ts';
import { parseDuration } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import {
  count,
  epochMs,
  list,
  literal,
  nullable,
  plainText,
  shape,
  type ValueOf,
  yesNo,
} from '#base/shapes.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { joinWords } from '#decision/rules/condition-text.ts';
import { COMPARISON_MEMBER_SCHEMAS, toComparisonTables } from '#history/evidence/comparison.ts';
import {
  type ColumnsOfKind,
  certainIntervalSchema,
  createColumns,
  createNullableIntervalSchema,
  currencyAmountsSchema,
  type EvidenceTable,
  emptySharedListsSchema,
  formatNumber,
  formatOrders,
  formatRuleSet,
  formatShare,
  heldOutCountsSchema,
  listHoldoutNotes,
  listSharedListNotes,
  listSpanNotes,
  type NotesAndTables,
  orderCountsSchema,
  SPAN_MEMBERS,
  type TableCell,
} from '#history/evidence/presentation.ts';
import {
  listPreventedPaymentsNotes,
  listReversalNotes,
  PreventedPaymentsSchema,
  ReversalFiguresSchema,
} from '#history/evidence/source/reversals.ts';

/**
 * The two parts of the recorded time: candidates are chosen by the earlier one, and the figures of the later one are
 * trusted.
 */
export const HISTORY_PARTS = ['earlier', 'later'] as const;

export type HistoryPart = (typeof HISTORY_PARTS)[number];

const ORDER_SUMS = shape('Orders and their money', {
  orders: orderCountsSchema,
  amount: currencyAmountsSchema,
});

const EFFECT = {
  orders: count('How many'),
  share: createNullableIntervalSchema(
    'Of all paid, or unpaid, orders of the part, by client; null without such orders',
  ),
  amount: Type.Record(certainIntervalSchema, {
    description: 'Their money by currency, by a bootstrap over clients',
  }),
} as const;

const EffectSchema = shape('Orders that something happened to', EFFECT);

const TradeOffSchema = shape('What a candidate does to the orders of one part that the base does not', {
  unpaidClosed: shape('Unpaid orders that get no requisite any more', EFFECT),
  paidClosed: shape('Paid orders that get no requisite any more', EFFECT),
  paidHeldBack: shape('Paid orders that get one, but are refused or told to wait before', EFFECT),
});

const TimePartSchema = shape('The orders of one part of the time', {
  from: nullable(epochMs('Of the first order; null when there is none')),
  to: nullable(epochMs('Of the last order')),
  orders: orderCountsSchema,
});

const WaitChangesSchema = shape('WAIT under both, but of another length', {
  longer: count('Decisions'),
  shorter: count('Decisions'),
  onAnotherLadder: count('Of both, at the same level: with any, no headline is given'),
});

const CandidateSchema = shape('A candidate and what it does', {
  values: Type.Record(Type.String(), {
    description: 'As they stand in its files, by the paths of the constants that are varied',
  }),
  present: yesNo('The version as it is'),
  changed: COMPARISON_MEMBER_SCHEMAS.changed,
  changedShare: COMPARISON_MEMBER_SCHEMAS.changedShare,
  opened: shape(
    'Orders that it grants and the base does not: what they would have come to nobody knows, but for those paid all the same',
    ORDER_SUMS.properties,
  ),
  closed: shape('Orders that the base grants and it does not', ORDER_SUMS.properties),
  closedPayments: PreventedPaymentsSchema,
  earlier: TradeOffSchema,
  later: TradeOffSchema,
  onFront: shape('No other candidate is better in everything', {
    earlier: yesNo('In the earlier part'),
    later: yesNo('In the later part'),
  }),
  waits: WaitChangesSchema,
  heldOut: heldOutCountsSchema,
});

/** The schema of the output of `rules backtest --json`, without notes and tables. The member names are stable. */
export const BacktestReportSchema = shape('What a version, and others like it, would have decided', {
  kind: literal('backtest'),
  version: plainText('The candidate, or that whose constants are varied'),
  digest: plainText('sha256 over its files'),
  against: nullable(plainText('The base; null: the versions that decided then')),
  ...SPAN_MEMBERS,
  versions: list(plainText('A version'), 'Those that decided then'),
  compared: COMPARISON_MEMBER_SCHEMAS.compared,
  reproduced: count(
    'Verdicts of the base that equal the recorded ones. Fewer than compared means that the history does not begin at the beginning, or that the base is another rule set',
  ),
  undecidable: shape(
    'Requests with a pseudonym that rules compare with constants, kept under another SIGNAL_SECRET; they are compared nowhere',
    { count: count('How many'), facts: list(plainText('Its label'), 'The pseudonyms') },
  ),
  splitAt: epochMs('Half of the orders were first asked for before it'),
  parts: shape('An order belongs to the part in which it was first asked for', {
    earlier: TimePartSchema,
    later: TimePartSchema,
  }),
  reversals: ReversalFiguresSchema,
  emptyLists: emptySharedListsSchema,
  heldOut: heldOutCountsSchema,
  candidates: list(CandidateSchema, 'The version as it is comes first'),
  transitions: COMPARISON_MEMBER_SCHEMAS.transitions,
  changes: COMPARISON_MEMBER_SCHEMAS.changes,
});

export type OrderSums = ValueOf<typeof ORDER_SUMS>;
/** How many orders a candidate affects in one way, their share, and their money by currency. */
export type AffectedOrderFigures = ValueOf<typeof EffectSchema>;
/** The orders of one part that a candidate closes or holds back and the base does not. */
export type CandidateEffects = ValueOf<typeof TradeOffSchema>;
/** When one part of the time begins and ends, and its orders. */
export type HistoryPartOrders = ValueOf<typeof TimePartSchema>;
/** How many decisions are WAIT under both versions but of another length. */
export type WaitChanges = ValueOf<typeof WaitChangesSchema>;
export type BacktestCandidate = ValueOf<typeof CandidateSchema>;
export type BacktestReport = ValueOf<typeof BacktestReportSchema>;

/** Renders a backtest as notes and tables. */
export function presentBacktest(report: BacktestReport): NotesAndTables {
  const { version, digest, against, versions, compared, emptyLists: lists } = report;
  const head = [
    `${formatRuleSet(version, digest)} against ${against ?? 'what was recorded'}, all replayed from an empty state`,
    ...listSpanNotes(report),
    ...(versions.length === 0 ? [] : [`Decided by ${versions.join(', ')}.`]),
    ...undecidableNotes(report),
  ];
  if (compared === 0) return { notes: [...head, 'There is no decision to compare.'], tables: [] };
  const paths = Object.keys(report.candidates[0]?.values ?? {});
  const candidates = report.candidates.toSorted((a, b) => compareValues(a, b, paths));
  const measured = candidates.filter(({ waits }) => waits.onAnotherLadder === 0);
  const others = candidates.filter(({ waits }) => waits.onAnotherLadder > 0);
  const name = (one: BacktestCandidate) => (one.present ? version : choiceText(one, paths));
  return {
    notes: [
      ...head,
      ...reproducedNotes(report),
      ...listHoldoutNotes(against ?? 'what was recorded', report.heldOut),
      ...candidates.flatMap((one) => listHoldoutNotes(name(one), one.heldOut)),
      ...listSharedListNotes(lists),
      ...candidates.flatMap((one) => candidateNotes(one, name(one), compared)),
      ...listReversalNotes(report.reversals),
      PAYERS_REPLAYED,
      ...ladderNotes(others.map(name), version),
      ...(paths.length === 0 ? [] : [CHOOSING]),
    ],
    tables: [
      ...(measured.length === 0
        ? []
        : [
            ...HISTORY_PARTS.map((part) => partTable(part, report.parts[part], measured, paths)),
            amountsTable(measured, paths),
          ]),
      ...(paths.length === 0 || measured.length === 0
        ? toComparisonTables(report, [against ?? 'recorded', version])
        : []),
    ].filter(({ rows }) => rows.length > 0),
  };
}

function undecidableNotes({ undecidable: { count, facts } }: BacktestReport): readonly string[] {
  if (count === 0) return [];
  return [
    `${formatCount(count, 'request is', 'requests are')} not compared: rules compare ${joinWords(facts, 'and')} with constants, and the recorded pseudonym was made with another SIGNAL_SECRET. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.`,
  ];
}

function reproducedNotes({ reproduced, compared, against }: BacktestReport): readonly string[] {
  if (against !== null || reproduced === compared) return [];
  return [
    `Replayed, the recorded versions repeat ${formatNumber(reproduced)} of ${formatNumber(compared)} recorded verdicts, because the history does not begin with an empty state, clients were erased, or entries were lost.`,
  ];
}

/**
 * Says what a candidate changes: how many verdicts, and which orders it opens and closes. If the candidate has
 * another ladder, only the number of verdicts is stated.
 */
function candidateNotes(one: BacktestCandidate, name: string, compared: number): readonly string[] {
  const { changed, changedShare, opened, closed, waits } = one;
  const verdicts = `${name}: ${formatNumber(changed)} of ${formatNumber(compared)} verdicts change: ${formatShare(changedShare)}.`;
  if (changed === 0 || waits.onAnotherLadder > 0) return [verdicts];
  const [opens, closes] = [countAllOrders(opened.orders), countAllOrders(closed.orders)];
  const paid = opened.orders.paid;
  const unknown =
    opens === 0
      ? ''
      : ` What the opened ones would have come to nobody knows${paid === 0 ? '' : `, but that ${formatNumber(paid)} were paid all the same`}; a holdout of the rule shows it.`;
  return [
    verdicts,
    `${name} opens ${formatCount(opens, 'order')} and closes ${formatNumber(closes)}${closes === 0 ? '' : `: ${formatOrders(closed.orders)}`}.${unknown}`,
    ...listPreventedPaymentsNotes(name, one.closedPayments),
  ];
}

function countAllOrders({ paid, unpaid, turnedAway, unknown }: OrderSums['orders']): number {
  return paid + unpaid + turnedAway + unknown;
}

const PAYERS_REPLAYED =
  'In the replay payers come back when they did in fact, whatever wait they are given. An outcome happens only if the version grants its order.';

/**
 * Says why the backtest gives no further figures for candidates with another ladder, and how the effect of a ladder
 * can be measured.
 */
function ladderNotes(names: readonly string[], version: string): readonly string[] {
  if (names.length === 0) return [];
  return [
    `No headline for ${names.join(', ')}: its waits have another length, and it is not known when payers would have come back. Try it on a share of the payers: rules rollout ${version} --canary 10; "rules experiment" then compares the two.`,
  ];
}

const CHOOSING =
  '"On the front" marks candidates that no other candidate beats in everything. Choose by the earlier part and trust the figures of the later part: the best of many looks better than it is where it was chosen.';

/** Compares two candidates by the first path in which they differ. Smaller numbers and shorter durations come first. */
function compareValues(one: BacktestCandidate, other: BacktestCandidate, paths: readonly string[]): number {
  const measure = (text: string) => parseDuration(text) ?? Number(text);
  for (const path of paths) {
    const [a, b] = [one.values[path] ?? '', other.values[path] ?? ''];
    const difference = measure(a) - measure(b);
    if (difference !== 0) return Number.isNaN(difference) ? a.localeCompare(b, 'en') : difference;
  }
  return 0;
}

function choiceText({ values }: BacktestCandidate, paths: readonly string[]): string {
  return paths.map((path) => `${path}=${values[path]}`).join(' ');
}

const EFFECTS = ['unpaid closed', 'paid closed', 'paid held back'] as const;

function partTable(
  part: HistoryPart,
  { from, to, orders }: HistoryPartOrders,
  candidates: readonly BacktestCandidate[],
  paths: readonly string[],
): EvidenceTable {
  const time = from === null || to === null ? 'no order' : `${formatTime(from)} to ${formatTime(to)}`;
  return {
    name: part,
    title: `${part === 'earlier' ? 'Earlier' : 'Later'} part, ${time}: ${formatOrders(orders)}`,
    columns: createColumns(
      ['text', ...valueHeadings(paths)],
      ...EFFECTS.flatMap((name): ColumnsOfKind[] => [
        ['count', name],
        ['share', '95 %'],
      ]),
      ['text', 'front'],
    ),
    rows: candidates.map((one) => {
      const { unpaidClosed, paidClosed, paidHeldBack } = one[part];
      const effects = [unpaidClosed, paidClosed, paidHeldBack];
      return [
        ...valueCells(one, paths),
        ...effects.flatMap((effect): TableCell[] => [effect.orders, effect.share]),
        one.onFront[part] ? '*' : '',
      ];
    }),
  };
}

function amountsTable(candidates: readonly BacktestCandidate[], paths: readonly string[]): EvidenceTable {
  const currencies = new Set(candidates.flatMap(({ later }) => Object.keys(later.unpaidClosed.amount)));
  return {
    name: 'amounts',
    title: 'Amounts, later part, 95 % by a bootstrap over clients',
    columns: createColumns(['text', ...valueHeadings(paths), 'currency'], ['money', ...EFFECTS]),
    rows: candidates.flatMap((one) =>
      [...currencies]
        .toSorted()
        .map((currency) => [
          ...[...valueCells(one, paths), currency],
          ...[one.later.unpaidClosed, one.later.paidClosed, one.later.paidHeldBack].map(
            ({ amount }) => amount[currency] ?? null,
          ),
        ]),
    ),
  };
}

/**
 * Returns a heading for the column of each path. It is the end of the path, which fits into a column. If several
 * paths have the same end, it is the whole path.
 */
function valueHeadings(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [''];
  const end = (path: string) => path.slice(path.lastIndexOf('.') + 1);
  const isOnly = (path: string) => paths.filter((other) => end(other) === end(path)).length === 1;
  return paths.map((path) => (isOnly(path) ? end(path) : path));
}

function valueCells({ values, present }: BacktestCandidate, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return ['the candidate'];
  return paths.map((path, place) => `${values[path] ?? ''}${present && place === 0 ? ' (now)' : ''}`);
}
