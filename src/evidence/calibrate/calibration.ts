import { timeText } from '../../client/instant.ts';
import { counted } from '../../rules/condition-text.ts';
import { always, count, epochMs, list, nullable, type Shape, shape, word, yesNo } from '../../shapes.ts';
import {
  aucOfGranted,
  cellText,
  certainInterval,
  columns,
  countText,
  type EvidenceTable,
  interval,
  number,
  ruleSetText,
  type Shown,
  SPAN,
  shareText,
  spanNotes,
} from '../shown.ts';

const ReliabilityRowSchema = shape('A tenth of the scores', {
  from: number('The lowest score'),
  to: number('The highest, itself not in it'),
  count: count('Orders with a score in it'),
  meanScore: number('Of these orders'),
  paidShare: certainInterval,
});

/**
 * How well a score predicted what became of orders; intervals by drawing clients again. Null where nothing can be
 * said, as with one client.
 */
const SCORE_FIGURES = {
  orders: count('Paid and unpaid orders'),
  brier: interval('Brier score'),
  auc: interval('How often a paid order had a higher score than an unpaid one'),
  aucOfGranted,
  calibrationError: interval('How far scores lie from the paid share, on average'),
  reliability: list(ReliabilityRowSchema, 'By tenths of the scores'),
} as const;

export const ScoreFiguresSchema = shape('How well a score told what became of orders', SCORE_FIGURES);

const SmoothingQualitySchema = shape('A smoothing, and what it gives on the later part', {
  smoothing: shape('Of paymentScore', {
    prior: number('Where a score begins'),
    weight: number('How many orders that is worth'),
  }),
  ...SCORE_FIGURES,
  calibrationErrorOfKnown: interval('Among clients with a final outcome, whose score the smoothing can move'),
});

const change = interval('After less before, on the later part: below 0 is better');

/** What `rules calibrate --json` prints, but for notes and tables; the member names are stable. */
export const CalibrationSchema = shape('The smoothing of paymentScore that fits what happened', {
  kind: always('calibration'),
  version: word('The rule set that was asked about'),
  digest: word('sha256 over its files'),
  ...SPAN,
  splitAt: epochMs('Where the later part begins'),
  orders: shape('With an outcome, of the earlier and the later part; and without one', {
    earlier: count('Found on'),
    later: count('Shown on'),
    unknown: count('In neither'),
  }),
  before: SmoothingQualitySchema,
  after: nullable(SmoothingQualitySchema),
  change: nullable(
    shape('What the smoothing that was found changes', { brier: change, calibrationError: change }),
  ),
  holds: yesNo('The Brier score gets better beyond chance'),
  newClients: shape(
    'Orders of the later part whose client had no final outcome: the interface fixes their score at 0.5000',
    {
      paid: count('Of these'),
      unpaid: count('Of these'),
      paidShare: interval('Of these; null without one'),
    },
  ),
  byVersion: list(
    shape('Recorded scores of a version', { ...SCORE_FIGURES, version: word('That gave them') }),
    'The scores as they were recorded, of both parts',
  ),
});

export type ScoreFigures = Shape<typeof ScoreFiguresSchema>;
export type ReliabilityRow = Shape<typeof ReliabilityRowSchema>;
export type SmoothingQuality = Shape<typeof SmoothingQualitySchema>;
export type Calibration = Shape<typeof CalibrationSchema>;

export function shownCalibration(found: Calibration): Shown {
  const { version, digest, decisions, orders, splitAt, before, after, byVersion } = found;
  const head = [ruleSetText(version, digest), ...spanNotes(found)];
  if (decisions === 0) return { notes: head, tables: [] };
  const parts = `Found on ${counted(orders.earlier, 'order')} before ${timeText(splitAt)}, shown on ${countText(orders.later)} from then on; in neither: ${counted(orders.unknown, 'order')} with an unknown outcome.`;
  if (after === null)
    return {
      notes: [...head, parts, 'There is no order with an outcome in the earlier part: nothing can be found.'],
      tables: [],
    };
  return {
    notes: [...head, parts, ...changeNotes(found)],
    tables: [
      qualityTable(version, before, after),
      reliabilityTable(`Reliability of ${version}: what scores said and what was paid`, before),
      reliabilityTable('Reliability with the smoothing that was found', after),
      versionTable(byVersion),
    ],
  };
}

function changeNotes({ change: changed, holds, newClients, orders }: Calibration): readonly string[] {
  const { paid, unpaid, paidShare } = newClients;
  const theirs = Math.abs(paid - 0.5 * (paid + unpaid)) / Math.max(1, orders.later);
  const same = changed?.brier?.low === 0 && changed.brier.high === 0;
  return [
    same
      ? 'The smoothing is already the one that fits best.'
      : `The Brier score changes by ${cellText(changed?.brier ?? null, 'figure')}: ${holds ? 'it gets better beyond chance' : 'chance explains that, so keep what there is'}.`,
    `${countText(paid + unpaid)} of the orders are of clients without a final outcome, whose score is 0.5000 by the interface; ${shareText(paidShare)} of them were paid. That alone is ${theirs.toFixed(4)} of calibration error, and no smoothing moves it.`,
  ];
}

const AUC_COLUMNS = ['AUC', 'granted, with history', 'without'] as const;

function qualityTable(version: string, before: SmoothingQuality, after: SmoothingQuality): EvidenceTable {
  const row = (name: string, { smoothing: { prior, weight }, ...quality }: SmoothingQuality) => [
    ...[name, String(prior), String(weight)],
    ...[quality.brier, quality.auc, quality.aucOfGranted.withHistory, quality.aucOfGranted.withoutHistory],
    ...[quality.calibrationError, quality.calibrationErrorOfKnown],
  ];
  return {
    name: 'quality',
    title: 'Later part, with 95 % intervals by client',
    columns: [
      ...columns('text', '', 'prior', 'weight'),
      ...columns('figure', 'Brier score', ...AUC_COLUMNS, 'calibration error', 'of clients with an outcome'),
    ],
    rows: [row(version, before), row('found', after)],
  };
}

function reliabilityTable(title: string, { reliability }: ScoreFigures): EvidenceTable {
  return {
    name: 'reliability',
    title,
    columns: [
      ...columns('text', 'score'),
      ...columns('count', 'orders'),
      ...columns('share', 'mean score', 'paid share, 95 %'),
    ],
    rows: reliability.map(({ from, to, count: orders, meanScore, paidShare }) => [
      ...[`${from.toFixed(1)} to ${to.toFixed(1)}`, orders, meanScore, paidShare],
    ]),
  };
}

function versionTable(versions: Calibration['byVersion']): EvidenceTable {
  return {
    name: 'versions',
    title: 'As it was answered, both parts, by version',
    columns: [
      ...columns('text', 'version'),
      ...columns('count', 'orders'),
      ...columns('figure', 'Brier score', ...AUC_COLUMNS, 'calibration error'),
    ],
    rows: versions.map(({ version, orders, brier, auc, aucOfGranted: halves, calibrationError }) => [
      ...[version, orders, brier, auc, halves.withHistory, halves.withoutHistory, calibrationError],
    ]),
  };
}
