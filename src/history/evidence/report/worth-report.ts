import { formatCount } from '#base/count-text.ts';
import { Type } from '#base/json-schema.ts';
import { choice, count, list, literal, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { OTHERWISE } from '#decision/decision.ts';
import { toComparisonTables } from '#history/evidence/comparison.ts';
import {
  type CurrencyAmounts,
  createColumns,
  createNullableIntervalSchema,
  createNumberSchema,
  currencyAmountsSchema,
  type EvidenceTable,
  formatNumber,
  formatOrders,
  formatPercent,
  formatRuleSet,
  formatShare,
  listOrderCountCells,
  listSpanNotes,
  type NotesAndTables,
  ORDER_STATUS_COLUMNS,
  orderCountsSchema,
  SPAN_MEMBERS,
} from '#history/evidence/presentation.ts';
import { NO_CURRENCY } from '#history/evidence/source/currency.ts';
import { roundAmountSum } from '#history/evidence/source/order-sums.ts';
import {
  createUnpaidCausesTable,
  listReversalNotes,
  ReversalFiguresSchema,
} from '#history/evidence/source/reversals.ts';
import { listUnratedNotes, UnratedMoneySchema } from '#history/evidence/unrated-money.ts';
import { AgainstSchema } from './against.ts';
import { FlagFiguresSchema, toFlagsTable, UnflaggedFiguresSchema } from './flag-figures.ts';
import { HoldoutFiguresSchema, type HoldoutSideFigures, RuleEffectSchema } from './holdout.ts';
import { createWaitLevelsEvidenceTable, WaitLevelsSchema } from './wait-levels.ts';

/** The SQL expressions of the properties by which the figures of rules may be divided into slices. */
export const SLICE_SQL = {
  day: "strftime(decided_at, '%Y-%m-%d')",
  week: "strftime(date_trunc('week', decided_at), '%Y-%m-%d')",
  method: "coalesce(fact_method, '-')",
  currency: `coalesce(fact_currency, '${NO_CURRENCY}')`,
  sellPoint: 'sell_point_key',
  platform: 'platform',
  version: 'rule_version',
  arm: 'arm',
  group: 'client_group',
  level: 'ladder_after_level::VARCHAR',
  cause: "coalesce(statuses.cause, '-')",
} as const;

export type SliceName = keyof typeof SLICE_SQL;

export const SLICE_NAMES = Object.keys(SLICE_SQL).filter((name): name is SliceName => name in SLICE_SQL);

const RULE_FIGURES = {
  matched: count('Decisions in which its condition held'),
  decided: count('Decisions that it gave the group or the verdict of, or in whose bot flag it had a part'),
  decisive: nullable(
    count('Decisions whose verdict or bot flag would have been another without it; null for otherwise'),
  ),
  orders: orderCountsSchema,
  unpaidShare: createNullableIntervalSchema(
    'Of its orders with a known outcome, by client, or by device where it is about shared ones; null without one',
  ),
  lift: nullable(createNumberSchema('Its unpaid share over that of all orders; null when either has none')),
  amount: currencyAmountsSchema,
} as const;

const RuleWorthSchema = shape('What one rule was worth on what happened', {
  file: choice(['groups.yaml', 'bot-signals.yaml', 'verdicts.yaml'], 'Where it stands'),
  name: plainText('Of the rule; otherwise stands for what holds when no rule of its file matches'),
  ...RULE_FIGURES,
  holdout: nullable(HoldoutFiguresSchema),
  net: RuleEffectSchema,
  unrated: UnratedMoneySchema,
  by: Type.Optional(
    list(
      shape('What it was worth on a slice', { slice: plainText('Its name'), ...RULE_FIGURES }),
      'By the slices that were asked for, in their order; absent without',
    ),
  ),
});

const SliceSchema = shape('The orders of a slice, whichever rules matched', {
  slice: plainText('Its name'),
  orders: orderCountsSchema,
  amount: currencyAmountsSchema,
});

/** The schema of the output of `rules report --json`, without notes and tables. The member names are stable. */
export const WorthReportSchema = shape('What each rule was worth on the outcomes that were seen', {
  kind: literal('report'),
  version: plainText('The rule set that is reported on'),
  digest: plainText('sha256 over its files'),
  ...SPAN_MEMBERS,
  ownDecisions: count('Decisions by this very rule set; the others were made by other versions'),
  undecidable: shape('Decisions whose records lack a fact that the rules ask, counted nowhere else', {
    count: count('How many'),
    facts: list(plainText('Its label'), 'The facts'),
  }),
  orders: orderCountsSchema,
  unpaidShare: createNullableIntervalSchema('Of all orders with a known outcome'),
  amount: currencyAmountsSchema,
  technical: count('Orders that are left out because they ended in a technical failure'),
  reversals: ReversalFiguresSchema,
  by: nullable(choice(SLICE_NAMES, 'The slices that were asked for')),
  slices: Type.Optional(list(SliceSchema, 'All orders by these, in their order; absent without')),
  rules: list(RuleWorthSchema, 'Those that most decisions needed first, otherwise last'),
  flags: FlagFiguresSchema,
  unflagged: UnflaggedFiguresSchema,
  waitLevels: WaitLevelsSchema,
  against: nullable(AgainstSchema),
});

export type RuleWorth = ValueOf<typeof RuleWorthSchema>;
export type RuleFigures = Pick<RuleWorth, keyof typeof RULE_FIGURES>;
export type WorthReport = ValueOf<typeof WorthReportSchema>;

/**
 * Renders a report as notes and tables. The tables `rules` and `flags` have a row for each rule or flag. Other tables
 * name the file and the rule before the figures.
 */
export function presentWorthReport(report: WorthReport): NotesAndTables {
  const { decisions, rules, version, digest, amount, by, slices = [] } = report;
  const head = [formatRuleSet(version, digest), ...listSpanNotes(report)];
  if (decisions === 0) return { notes: head, tables: [] };
  const fired = rules.filter(({ matched }) => matched > 0);
  const silent = rules.filter(({ matched, name }) => matched === 0 && name !== OTHERWISE);
  const tables = [
    moneyTable('money', 'Money', [], [[[], amount]]),
    ...(by === null
      ? []
      : [
          moneyTable(
            'sliceMoney',
            `Money by ${by}`,
            [by],
            slices.map((one) => [[one.slice], one.amount]),
          ),
        ]),
    moneyTable(
      'ruleMoney',
      'Money by verdict rule',
      ['file', 'rule'],
      fired.flatMap((one) => (one.file === 'verdicts.yaml' ? [[[one.file, one.name], one.amount]] : [])),
    ),
    ...[...Map.groupBy(fired, ({ file }) => file)].map(([file, some]) =>
      figuresTable(
        'rules',
        file,
        ['rule'],
        some.map((rule) => [[rule.name], rule]),
      ),
    ),
    toFlagsTable(report),
    createUnpaidCausesTable(report.reversals),
    createWaitLevelsEvidenceTable(report.waitLevels),
    holdoutsTable(fired),
    netTable(fired),
    ...(by === null
      ? []
      : [figuresTable('slices', `By ${by}`, ['file', 'rule', by], fired.flatMap(listSliceFigures))]),
    ...(report.against === null ? [] : toComparisonTables(report.against, [report.against.version, version])),
  ].filter(({ rows }) => rows.length > 0);
  return {
    notes: [
      ...head,
      ...totalsNotes(report),
      ...againstNotes(report),
      ...listReversalNotes(report.reversals),
      ...fired.flatMap(netUnratedNotes),
      ...(silent.length === 0 ? [] : [`Matched nothing: ${silent.map(({ name }) => name).join(', ')}.`]),
      ...new Set(tables.flatMap(({ name }) => ABOUT[name] ?? [])),
    ],
    tables,
  };
}

function againstNotes({ against, version }: WorthReport): readonly string[] {
  if (against === null) return [];
  const { version: base, changed, compared, changedShare, undecidable, missing, unseen } = against;
  return [
    `On the recorded facts, from ${base} to ${version}, ${formatNumber(changed)} of ${formatNumber(compared)} verdicts change: ${formatShare(changedShare)}. Holdouts are ignored, and facts stay as recorded.`,
    ...(undecidable === 0
      ? []
      : [
          `${formatCount(undecidable, 'decision')} cannot be compared: the records lack ${missing.join(', ')}.`,
        ]),
    ...(unseen.length === 0
      ? []
      : [
          `The versions also differ in ${unseen.join(', ')}, which recorded facts cannot show; run: rules backtest ${version}.`,
        ]),
  ];
}

const ABOUT: Readonly<Record<string, string>> = {
  ruleMoney:
    'Money by rule: an order counts under every rule that matched, also if another rule decided, so rows overlap and do not add up to the total. Turned-away money was asked for, mostly by the same payers again and again, and is not a cost. Only a holdout shows what a rule costs: give it one.',
  rules:
    'Intervals are of 95 %, by client, or by device where a rule is about shared devices. It is not known what would have become of blocked orders; a rule with a holdout shows it.',
  flags:
    'Flags: orders with a flag recorded at any of their decisions, beside orders without one. Reversed orders count as unpaid. A flag changes no verdict; a lift above 1 means that its orders go bad more often.',
  waitLevels:
    'The price of a wait covers the 24 hours after it was imposed. Payers who asked too early count again on the level that this led to. It is not a comparison: only an experiment with another ladder shows what they would have done without the wait.',
  holdouts:
    'Held out: clients for whom a matching rule was skipped, beside those to whom it applied, each with all orders from then until the draw period ends. The share is of all orders asked for.',
  net: 'Net: what did not happen because a rule applied, with 95 % intervals. It is measured by the holdout of the rule, by client, or by device where the rule is about shared devices; or by a trial of a version that differs in this rule alone, within the first days of each client. With a holdout, a client counts 30 days (one draw period) and the usual time of reversals after it entered; the others are too young.',
};

function totalsNotes(report: WorthReport): readonly string[] {
  const { orders, unpaidShare, technical, undecidable, decisions, ownDecisions } = report;
  const others = decisions - ownDecisions;
  const when = (holds: boolean, note: string) => (holds ? [note] : []);
  return [
    `Orders: ${formatOrders(orders)}. Of those with an outcome ${formatShare(unpaidShare)} are unpaid.`,
    ...when(
      orders.turnedAway > 0,
      `Turned away: ${formatCount(orders.turnedAway, 'order was', 'orders were')} asked for, never granted and not paid. Reports about such orders prove nothing.`,
    ),
    ...when(technical > 0, `Left out: ${formatCount(technical, 'order')} that ended in a technical failure.`),
    ...when(
      others > 0,
      `${formatCount(others, 'decision was', 'decisions were')} made by other rule sets; ${report.version} is asked about the facts recorded then.`,
    ),
    ...when(
      undecidable.count > 0,
      `${formatCount(undecidable.count, 'decision is', 'decisions are')} not counted: their records lack ${undecidable.facts.join(', ')}.`,
    ),
  ];
}

const COUNTS = ['matched', 'decided', 'decisive'] as const;

/** Creates a table of rule figures. The texts under `headings` come first in each row. */
function figuresTable(
  name: string,
  title: string,
  headings: readonly string[],
  figures: readonly (readonly [readonly string[], RuleFigures])[],
): EvidenceTable {
  return {
    name,
    title,
    columns: createColumns(
      ['text', ...headings],
      ['count', ...COUNTS],
      ORDER_STATUS_COLUMNS,
      ['share', 'unpaid share, 95 %'],
      ['ratio', 'lift'],
    ),
    rows: figures.map(([of, { orders, unpaidShare, lift, ...counts }]) => [
      ...of,
      ...COUNTS.map((name) => counts[name]),
      ...listOrderCountCells(orders),
      unpaidShare,
      lift,
    ]),
  };
}

function listSliceFigures({
  file,
  name,
  by = [],
}: RuleWorth): readonly (readonly [readonly string[], RuleFigures])[] {
  return by.filter(({ matched }) => matched > 0).map((part) => [[file, name, part.slice], part]);
}

const MONEY = ['asked', 'granted', 'paid', 'reversed', 'turned away', 'unpaid', 'unknown'] as const;

/** Creates a table of money with a row for each currency, because amounts of different currencies are never added. */
function moneyTable(
  name: string,
  title: string,
  headings: readonly string[],
  money: readonly (readonly [readonly string[], CurrencyAmounts])[],
): EvidenceTable {
  const rows = money.flatMap(([of, amount]) =>
    Object.entries(amount).map(([currency, { paid, unpaid, reversed, turnedAway, unknown }]) => {
      const granted = roundAmountSum(paid + unpaid + unknown);
      const asked = roundAmountSum(granted + turnedAway);
      return [...of, currency, asked, granted, paid, reversed, turnedAway, unpaid, unknown];
    }),
  );
  return {
    name,
    title,
    columns: createColumns(['text', ...headings, 'currency'], ['money', ...MONEY]),
    rows,
  };
}

function holdoutsTable(rules: readonly RuleWorth[]): EvidenceTable {
  const cells = ({ clients, young, orders, paidShare }: HoldoutSideFigures) => [
    ...[clients, young, ...listOrderCountCells(orders)],
    paidShare ?? 'too few',
  ];
  return {
    name: 'holdouts',
    title: 'Held out',
    columns: createColumns(
      ['text', 'file', 'rule', 'held out'],
      ['count', 'clients', 'too young'],
      ORDER_STATUS_COLUMNS,
      ['share', 'paid share, 95 %'],
    ),
    rows: rules.flatMap(({ file, name, holdout }) => {
      if (holdout === null) return [];
      const { share, others, ...held } = holdout;
      return [
        [file, name, formatPercent(share), ...cells(held)],
        [file, name, 'others', ...cells(others)],
      ];
    }),
  };
}

function netUnratedNotes({ name, unrated, net }: RuleWorth): readonly string[] {
  const where = net?.by === 'trial' ? 'to this report, or when the next trial begins' : 'to this report';
  return listUnratedNotes(`The net of ${name}`, unrated, where);
}

function netTable(rules: readonly RuleWorth[]): EvidenceTable {
  return {
    name: 'net',
    title: 'Net of a rule',
    columns: createColumns(
      ['text', 'file', 'rule', 'by', 'currency'],
      ['money', 'value'],
      ['figure', 'payments prevented'],
      ['money', 'their amount'],
      ['figure', 'reversals prevented', 'unpaid requisites prevented'],
    ),
    rows: rules.flatMap(({ file, name, holdout, net }) => {
      if (holdout === null && net === null) return [];
      if (net === null) return [[file, name, 'holdout', null, 'not known yet', null, null, null, null]];
      const { by, currency, value, payments, amount, reversals: reversed, requisites } = net;
      return [[file, name, by, currency, value ?? 'too few', payments, amount, reversed, requisites]];
    }),
  };
}
