import { type Command, Option } from 'commander';
import { report } from '../../../evidence/report/report.ts';
import {
  type OrderCounts,
  type Report,
  type RuleFigures,
  type RuleReport,
  SLICE_NAMES,
  type SliceName,
} from '../../../evidence/report/rule-report.ts';
import type { EvidenceSpan } from '../../../evidence/source/evidence.ts';
import { type ShareInterval, shareInterval } from '../../../statistics/share-interval.ts';
import { print } from '../../print.ts';
import { table } from '../../table.ts';
import { chosenRules, type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { amountText, countText, ordersText, section, shareText, spanText } from './evidence-text.ts';

interface ReportOptions extends EvidenceOptions {
  readonly by?: SliceName;
}

/** rules report: what each rule was worth on the outcomes that were seen. */
export function reportCommand(rules: Command): void {
  evidenceOptions(rules.command('report [version]'))
    .description('what each rule matched, decided and was needed for, and what became of those orders')
    .addOption(new Option('--by <slice>', 'besides all decisions, each rule by').choices(SLICE_NAMES))
    .action((version: string | undefined, options: ReportOptions) => run(version, options));
}

async function run(version: string | undefined, options: ReportOptions): Promise<void> {
  const { found, span } = await onEvidence(options, async (evidence, onProgress) => {
    const rules = await chosenRules(version, evidence);
    return {
      found: await report(evidence, { rules, by: options.by ?? null, onProgress }),
      span: evidence.span,
    };
  });
  print(options.json === true ? JSON.stringify(found) : describe(found, span));
}

function describe(found: Report, span: EvidenceSpan): string {
  const { rules, by } = found;
  const fired = rules.filter(({ matched }) => matched > 0);
  const files = [...Map.groupBy(fired, ({ file }) => file)];
  const silent = rules.filter(({ matched, name }) => matched === 0 && name !== 'otherwise');
  return [
    [`${found.version} (sha256:${found.digest.slice(0, 12)})`, ...spanText(span), ...totals(found)].join(
      '\n',
    ),
    ...files.map(([file, some]) =>
      section(
        file,
        figuresTable(
          ['RULE'],
          some.map((rule) => [[rule.name], rule]),
        ),
      ),
    ),
    ...(silent.length === 0 ? [] : [`Matched nothing: ${silent.map(({ name }) => name).join(', ')}.`]),
    ...(fired.length === 0 ? [] : [section('Amounts by currency', amounts(fired))]),
    ...waits(fired),
    ...holdouts(fired),
    ...(by === null ? [] : [section(`By ${by}`, slices(fired, by))]),
  ].join('\n\n');
}

function totals(found: Report): readonly string[] {
  const { orders, unpaidShare, technical, unknownReasons, undecidable, decisions, ownDecisions, version } =
    found;
  const { neverGranted, notReported } = unknownReasons;
  const others = decisions - ownDecisions;
  return [
    `Orders: ${ordersText(orders)}. Of those with an outcome ${shareText(unpaidShare)} are unpaid.`,
    ...(orders.unknown === 0
      ? []
      : [
          `Unknown: ${countText(neverGranted)} never got a requisite, of ${countText(notReported)} others nothing was reported.`,
        ]),
    ...(technical === 0
      ? []
      : [`Left out: ${countText(technical)} orders that ended in a technical failure.`]),
    ...(others === 0
      ? []
      : [
          `${countText(others)} decisions were made by other rule sets; here ${version} is asked about the facts that they recorded.`,
        ]),
    ...(undecidable.count === 0
      ? []
      : [
          `${countText(undecidable.count)} decisions are counted nowhere: their records lack ${undecidable.facts.join(', ')}.`,
        ]),
  ];
}

const FIGURES = [
  'MATCHED',
  'DECIDED',
  'SOLE',
  'PAID',
  'UNPAID',
  'UNKNOWN',
  'UNPAID SHARE, 95 %',
  'LIFT',
] as const;

function figuresTable(
  names: readonly string[],
  rows: readonly (readonly [readonly string[], RuleFigures])[],
): string {
  const right = FIGURES.map((_, place) => names.length + place);
  return table(
    [...names, ...FIGURES],
    rows.map(([cells, figures]) => [...cells, ...figureCells(figures)]),
    {
      right,
    },
  );
}

function figureCells({ matched, decided, sole, orders, unpaidShare, lift }: RuleFigures): readonly string[] {
  return [
    countText(matched),
    countText(decided),
    sole === null ? '-' : countText(sole),
    countText(orders.paid),
    countText(orders.unpaid),
    countText(orders.unknown),
    shareText(unpaidShare),
    lift === null ? '-' : lift.toFixed(2),
  ];
}

function amounts(rules: readonly RuleReport[]): string {
  const rows = rules.flatMap(({ name, file, amount }) =>
    Object.entries(amount).map(([currency, sums]) => [file, name, currency, ...amountCells(sums)]),
  );
  return table(['FILE', 'RULE', 'CURRENCY', 'PAID', 'UNPAID', 'UNKNOWN'], rows, { right: [3, 4, 5] });
}

function amountCells({ paid, unpaid, unknown }: OrderCounts): readonly string[] {
  return [paid, unpaid, unknown].map(amountText);
}

function waits(rules: readonly RuleReport[]): readonly string[] {
  const rows = rules.flatMap(({ name, afterWait }) => {
    if (afterWait === null) return [];
    const { orders, granted, paid } = afterWait;
    return [
      [
        name,
        countText(orders),
        countText(granted),
        shareText(shareInterval(granted, orders)),
        countText(paid),
        shareText(shareInterval(paid, orders)),
      ],
    ];
  });
  if (rows.length === 0) return [];
  const headings = [
    'RULE',
    'ORDERS TOLD TO WAIT',
    'GRANTED LATER',
    'SHARE, 95 %',
    'THEN PAID',
    'SHARE, 95 %',
  ];
  return [
    section(
      'After a wait: the next requisite of the same client, for this order or another',
      table(headings, rows, { right: [1, 2, 3, 4, 5] }),
    ),
  ];
}

function holdouts(rules: readonly RuleReport[]): readonly string[] {
  const rows = rules.flatMap(({ file, name, holdout }) => {
    if (holdout === null) return [];
    const { share, orders, paidShare, others } = holdout;
    const cells = (counts: OrderCounts, paid: ShareInterval | null) => [
      ...[counts.paid, counts.unpaid, counts.unknown].map(countText),
      paid === null ? 'too few' : shareText(paid),
    ];
    return [
      [file, name, `${Math.round(share * 10_000) / 100} %`, ...cells(orders, paidShare)],
      ['', '', 'others', ...cells(others.orders, others.paidShare)],
    ];
  });
  if (rows.length === 0) return [];
  const headings = ['FILE', 'RULE', 'HELD OUT', 'PAID', 'UNPAID', 'UNKNOWN', 'PAID SHARE, 95 %'];
  return [
    section(
      'Held out: orders that a rule matched and let through, which says what it costs and saves elsewhere; beside the others that it matched, whose outcomes it may have prevented',
      table(headings, rows, { right: [2, 3, 4, 5, 6] }),
    ),
  ];
}

function slices(rules: readonly RuleReport[], by: SliceName): string {
  const rows = rules.flatMap(({ name, by: parts = [] }) =>
    parts.filter(({ matched }) => matched > 0).map((part) => [[name, part.slice], part] as const),
  );
  return figuresTable(['RULE', by.toUpperCase()], rows);
}
