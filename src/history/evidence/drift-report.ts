import { formatCount } from '#base/count-text.ts';
import { count, epochMs, list, literal, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import { formatTime } from '#decision/payer/instant.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import {
  createColumns,
  createNullableIntervalSchema,
  createNumberSchema,
  type EvidenceTable,
  listSpanNotes,
  type NotesAndTables,
  SPAN_MEMBERS,
  type TableCell,
  type TableColumn,
  verdictSharesSchema,
} from './presentation.ts';
import { ScoreFiguresSchema } from './score-figures.ts';

const DriftPartSchema = shape('One of the two parts of the time', {
  decisions: count('In this part'),
  clients: count('Different clients of these decisions'),
  verdicts: verdictSharesSchema,
  orders: shape(
    'By whether it was reported that they were paid or not; of the later part that may still come',
    {
      known: count('It was reported'),
      unknown: count('It was not'),
      neverGranted: count(
        'Of the known ones, paid although they were never granted: the score is not measured on them',
      ),
    },
  ),
  paidShare: createNullableIntervalSchema('Of the orders with a known outcome'),
  score: ScoreFiguresSchema,
});

const FactDriftSchema = shape(
  'How much the values of a fact have moved from one part of the time to the other',
  {
    fact: plainText('Its label'),
    index: createNumberSchema(
      'Population stability index over tenths of the earlier part, or over the most frequent values',
    ),
    byChance: createNumberSchema(
      'What two samples of this size exceed in 5 of 100 cases although nothing has changed',
    ),
    moved: shape('What has moved the most', {
      values: plainText('The values whose share has'),
      earlier: createNumberSchema('That share before, 0 to 1'),
      later: createNumberSchema('And after'),
      intervals: shape('The same shares, by client', {
        earlier: createNullableIntervalSchema('Before'),
        later: createNullableIntervalSchema('After'),
      }),
    }),
  },
);

/** The schema of the output of `rules drift --json`, without notes and tables. The member names are stable. */
export const DriftReportSchema = shape('What has changed from the earlier to the later part of the time', {
  kind: literal('drift'),
  version: nullable(plainText('The version whose decisions alone are compared; null for those of all')),
  ...SPAN_MEMBERS,
  splitAt: epochMs('Where the later part begins'),
  beganAt: nullable(
    epochMs(
      'Of the first decision that is kept, when it lies in the earlier part: nobody was known from decisions before it. Otherwise null',
    ),
  ),
  earlier: DriftPartSchema,
  later: DriftPartSchema,
  unknown: count('Orders of both parts of which nothing was reported'),
  facts: list(FactDriftSchema, 'Those that moved most first'),
});

/** The figures of the earlier or of the later part of the time. */
export type DriftPeriodFigures = ValueOf<typeof DriftPartSchema>;
/** How the values of one fact differ between the earlier and the later part. */
export type FactDrift = ValueOf<typeof FactDriftSchema>;
export type DriftReport = ValueOf<typeof DriftReportSchema>;

/** Renders a drift report as notes and tables. */
export function presentDrift(found: DriftReport): NotesAndTables {
  const { version, decisions, splitAt, beganAt, facts, earlier, later } = found;
  const head = [
    version === null ? 'Decisions of all versions' : `Decisions of ${version}`,
    ...listSpanNotes(found),
  ];
  if (decisions === 0) return { notes: head, tables: [] };
  const beyond = facts.filter(({ index, byChance }) => index > byChance);
  return {
    notes: [
      ...head,
      `The later part begins at ${formatTime(splitAt)}.`,
      'These figures are a hint where to look, not a proof: they include everything else that changed between the two parts. Payments of the later part may still be reported; until then their orders are unknown.',
      ...(beganAt === null
        ? []
        : [
            `The earlier part begins with an empty store: the first recorded decision was made at ${formatTime(beganAt)}, and every payer looked new then. Choose a later beginning (from).`,
          ]),
      `The score is measured on ${formatLeftOutOrders(found)}`,
      ...(beyond.length === 0 ? ['No fact has changed by more than chance explains.'] : []),
    ],
    tables: [
      partsTable('sizes', 'The two parts', 'count', found, [
        ['decisions', ({ decisions: some }) => some],
        ['clients', ({ clients }) => clients],
        ['orders with an outcome', ({ orders }) => orders.known],
        ['orders with an unknown outcome', ({ orders }) => orders.unknown],
      ]),
      partsTable('answers', 'Answers and outcomes, with 95 % intervals', 'share', found, [
        ...VERDICTS.map(
          (verdict: Verdict) => [verdict, ({ verdicts }: DriftPeriodFigures) => verdicts[verdict]] as const,
        ),
        ['paid, of orders with an outcome', ({ paidShare }) => paidShare],
      ]),
      partsTable('score', 'paymentScore of granted orders against what became of them', 'figure', found, [
        ['Brier score', ({ score }) => score.brier],
        ['AUC on granted orders', ({ score }) => score.auc],
        ['calibration error', ({ score }) => score.calibrationError],
      ]),
      ...[reliabilityTable('earlier', earlier), reliabilityTable('later', later)],
      ...(beyond.length === 0 ? [] : [factsTable(beyond)]),
    ],
  };
}

/** Says which orders the figures of the score leave out. */
function formatLeftOutOrders({ earlier, later, unknown }: DriftReport): string {
  const never = earlier.orders.neverGranted + later.orders.neverGranted;
  return `granted orders that were paid or not. Left out: ${formatCount(unknown, 'order')} with an unknown outcome, ${formatCount(never, 'order')} paid although never granted, and all orders that were turned away: for those it is not known whether the score was right.`;
}

function reliabilityTable(part: 'earlier' | 'later', { score }: DriftPeriodFigures): EvidenceTable {
  return {
    name: 'reliability',
    title: `Reliability of paymentScore, ${part} part: what scores said and what was paid`,
    columns: createColumns(
      ['text', 'score'],
      ['count', 'orders'],
      ['share', 'mean score', 'paid share, 95 %'],
    ),
    rows: score.reliability.map(({ from, to, count: orders, meanScore, paidShare }) => [
      `${from.toFixed(1)} to ${to.toFixed(1)}`,
      orders,
      meanScore,
      paidShare,
    ]),
  };
}

function partsTable(
  name: string,
  title: string,
  kind: TableColumn['kind'],
  { earlier, later }: DriftReport,
  figures: readonly (readonly [string, (part: DriftPeriodFigures) => TableCell])[],
): EvidenceTable {
  return {
    name,
    title,
    columns: createColumns(['text', ''], [kind, 'earlier', 'later']),
    rows: figures.map(([figure, of]) => [figure, of(earlier), of(later)]),
  };
}

function factsTable(facts: readonly FactDrift[]): EvidenceTable {
  return {
    name: 'facts',
    title: 'Facts that changed by more than chance explains',
    columns: createColumns(
      ['text', 'fact'],
      ['figure', 'PSI', 'by chance up to'],
      ['text', 'most moved'],
      ['share', 'earlier, 95 %', 'later, 95 %'],
    ),
    rows: facts.map(({ fact, index, byChance, moved: { values, intervals } }) => [
      ...[fact, index, byChance, values, intervals.earlier, intervals.later],
    ]),
  };
}
