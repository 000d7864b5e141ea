import type { ByOutcome, LadderLevelReport, OrderEffects } from '../../../evidence/backtest/aftermath.ts';
import type { BacktestReport, OrderComparison } from '../../../evidence/backtest/backtest.ts';
import type { OutcomeAssumption } from '../../../evidence/backtest/lives.ts';
import type { ScoreQuality } from '../../../evidence/backtest/score-quality.ts';
import { FACTS } from '../../../facts/catalogue.ts';
import { VERDICTS } from '../../../rules/rule-set.ts';
import { shareInterval } from '../../../statistics/share-interval.ts';
import { table } from '../../table.ts';
import {
  amountText,
  countText,
  emptyListsText,
  estimateText,
  heldOutText,
  ordersText,
  section,
  shareText,
  spanText,
} from './evidence-text.ts';

const FATES = ['paid', 'unpaid', 'unknown'] as const satisfies readonly (keyof ByOutcome)[];

const EFFECTS = [
  ['blocked', 'blocked at least once'],
  ['heldBack', 'held back by a wait, never blocked'],
  ['stopped', 'granted no requisite'],
] as const satisfies readonly (readonly [keyof OrderEffects, string])[];

/** A backtest's report for people; `unseen` are settings whose difference recorded facts cannot show. */
export function backtestText(report: BacktestReport, unseen: readonly string[]): string {
  const { changed, changedShare, compared, ladder } = report;
  const head = [heading(report), ...notes(report, unseen)];
  if (compared === 0) return [...head, 'There is no decision to compare.'].join('\n\n');
  return [
    ...head,
    `${countText(changed)} of ${countText(compared)} verdicts change: ${shareText(changedShare)}.`,
    headlines(report),
    section(
      'Verdicts, and how many of the decisions are about paid, unpaid and unknown orders',
      verdicts(report),
    ),
    section('Share of each verdict, 95 %', mix(report)),
    ...(report.changes.length === 0 ? [] : [section('Changes by rule', changes(report))]),
    botsAndGroups(report),
    section('Orders', effects(report)),
    section('Amounts', amounts(report)),
    section(
      'paymentScore of an order when it was first asked for, against what became of it',
      scores(report),
    ),
    ...(ladder.base.length + ladder.candidate.length === 0
      ? []
      : [section('Cooldown ladder: who came back after a wait and paid', levels(report))]),
  ].join('\n\n');
}

function heading({ ruleVersion, digest, mode, journal, outcomes, against }: BacktestReport): string {
  const by = journal.ruleVersions.length === 0 ? '' : `Decided by ${journal.ruleVersions.join(', ')}.`;
  return [
    `${ruleVersion} (sha256:${digest.slice(0, 12)}) against ${against ?? 'what was recorded'}, mode ${mode}`,
    ...spanText(journal),
    ...(by === '' ? [] : [by]),
    `Orders: ${ordersText(outcomes.all.orders)}.`,
  ].join('\n');
}

function notes(report: BacktestReport, unseen: readonly string[]): readonly string[] {
  const { undecidable, mode, reproduced, compared, against } = report;
  const found: string[] = [];
  if (undecidable.count > 0)
    found.push(
      `${countText(undecidable.count)} decisions cannot be decided again: their records lack ${undecidable.facts.join(', ')}. ${wayOn(undecidable.facts)}`,
    );
  if (mode === 'recorded' && unseen.length > 0)
    found.push(
      `The versions differ in ${unseen.join(', ')}, which recorded facts cannot show; use --mode closed-loop.`,
    );
  if (reproduced !== null && against === null && reproduced < compared)
    found.push(
      `Lived through again with every recorded outcome, the recorded versions repeat ${countText(reproduced)} of ${countText(compared)} recorded verdicts: the history does not begin with an empty state, clients were erased, or entries were lost.`,
    );
  found.push(
    ...heldOutText(against ?? 'what was recorded', report.heldOut.base),
    ...heldOutText(report.ruleVersion, report.heldOut.candidate),
    ...emptyListsText(report.emptyLists),
  );
  return found.length === 0 ? [] : [found.map((text) => `Note: ${text}`).join('\n')];
}

/** What to do about facts that records lack. */
function wayOn(labels: readonly string[]): string {
  const ofLists = labels.filter((label) => FACTS.get(label.split('(')[0] ?? '')?.kind === 'listed');
  return ofLists.length === labels.length
    ? 'Who was on a shared list then is known only where a rule asked; try the version as a shadow.'
    : 'Use --mode closed-loop, which counts these facts again.';
}

const ASSUMED = {
  granted:
    'If only orders that the version grants get an outcome (what a payer who was stopped would have done is not known)',
  all: 'If every recorded outcome happens all the same (as if payers who were stopped had paid, or not, elsewhere)',
} as const satisfies Record<OutcomeAssumption, string>;

function headlines({ assumption, outcomes, otherwise }: BacktestReport): string {
  if (assumption === null || otherwise === null)
    return `On the recorded facts, which no answer changes: ${headline(outcomes)}`;
  return [
    `${ASSUMED[assumption]}: ${headline(outcomes)}`,
    `${ASSUMED[otherwise.assumption]}: ${headline(otherwise.outcomes)}`,
    `The tables below are of the first line.`,
  ].join('\n');
}

function headline({ all: { orders }, base, candidate }: OrderComparison): string {
  const move = (effect: keyof OrderEffects, fate: keyof ByOutcome) =>
    `${countText(base[effect].orders[fate])} -> ${countText(candidate[effect].orders[fate])}`;
  return `unpaid orders stopped ${move('stopped', 'unpaid')} of ${countText(orders.unpaid)}; paid orders blocked ${move('blocked', 'paid')} and held back ${move('heldBack', 'paid')} of ${countText(orders.paid)}.`;
}

function verdicts({ transitions, ruleVersion, against }: BacktestReport): string {
  const rows = VERDICTS.flatMap((from) =>
    VERDICTS.map((to) => ({ from, to, cell: transitions[from][to] }))
      .filter(({ cell }) => cell.decisions > 0)
      .map(({ from, to, cell }) => [
        from,
        from === to ? '' : to,
        countText(cell.decisions),
        ...FATES.map((fate) => countText(cell[fate])),
      ]),
  );
  const headings = [sideName(against), ruleVersion.toUpperCase(), 'DECISIONS', 'PAID', 'UNPAID', 'UNKNOWN'];
  return table(headings, rows, { right: [2, 3, 4, 5] });
}

function mix({ mix: { base, candidate }, ruleVersion, against }: BacktestReport): string {
  const rows = VERDICTS.map((verdict) => [verdict, shareText(base[verdict]), shareText(candidate[verdict])]);
  return table(['', sideName(against), ruleVersion.toUpperCase()], rows, { right: [1, 2] });
}

function changes(report: BacktestReport): string {
  const headings = [
    'COUNT',
    'PAID',
    'UNPAID',
    'UNKNOWN',
    'FROM',
    'BY RULE',
    'TO',
    'BY RULE',
    'ORDERS, FOR EXAMPLE',
  ];
  const rows = report.changes.map(({ from, to, fromRule, toRule, count, samples, ...orders }) => [
    countText(count),
    ...FATES.map((fate) => countText(orders[fate])),
    from,
    fromRule,
    to,
    toRule,
    samples.join(', '),
  ]);
  return table(headings, rows, { right: [0, 1, 2, 3] });
}

function botsAndGroups({ bots, groups, waits, compared }: BacktestReport): string {
  const lines = [
    `Bot flag: ${countText(bots.base)} -> ${countText(bots.candidate)} of ${countText(compared)} decisions; ${countText(bots.gained)} newly flagged, ${countText(bots.lost)} no longer.`,
    groups.length === 0
      ? 'Client groups: no change.'
      : `Client groups: ${groups.map(({ from, to, count }) => `${from} -> ${to} ${countText(count)}`).join(', ')}.`,
  ];
  if (waits !== null)
    lines.push(
      `Waits of another length: ${countText(waits.longer)} longer, ${countText(waits.shorter)} shorter.`,
    );
  return lines.join('\n');
}

function effects({ outcomes: { all, base, candidate }, ruleVersion, against }: BacktestReport): string {
  const rows = EFFECTS.flatMap(([effect, name]) =>
    FATES.map((fate) => {
      const total = all.orders[fate];
      const side = ({ [effect]: tally }: OrderEffects) => {
        const count = tally.orders[fate];
        return [countText(count), shareText(shareInterval(count, total))];
      };
      return [fate === 'paid' ? name : '', fate, countText(total), ...side(base), ...side(candidate)];
    }),
  );
  const headings = ['', 'OUTCOME', 'ORDERS', sideName(against), '95 %', ruleVersion.toUpperCase(), '95 %'];
  return table(headings, rows, { right: [2, 3, 4, 5, 6] });
}

function amounts({ outcomes: { all, base, candidate }, ruleVersion, against }: BacktestReport): string {
  const rows = EFFECTS.flatMap(([effect, name]) =>
    Object.entries(all.amount).flatMap(([currency, total]) =>
      FATES.map((fate) => {
        const side = ({ [effect]: tally }: OrderEffects) => amountText(tally.amount[currency]?.[fate] ?? 0);
        return [name, fate, currency, amountText(total[fate]), side(base), side(candidate)];
      }),
    ),
  );
  const headings = ['', 'OUTCOME', 'CURRENCY', 'ALL ORDERS', sideName(against), ruleVersion.toUpperCase()];
  return table(headings, rows, { right: [3, 4, 5] });
}

function scores({ scores: { base, candidate }, ruleVersion, against }: BacktestReport): string {
  const row = (name: string, { orders, intervals }: ScoreQuality) => [
    name,
    countText(orders),
    ...[intervals.auc, intervals.brier, intervals.calibrationError].map(estimateText),
  ];
  const headings = ['', 'ORDERS WITH AN OUTCOME', 'AUC, 95 %', 'BRIER, 95 %', 'CALIBRATION ERROR, 95 %'];
  return table(headings, [row(against ?? 'recorded', base), row(ruleVersion, candidate)], {
    right: [1, 2, 3, 4],
  });
}

function levels({ ladder, ruleVersion, against }: BacktestReport): string {
  const headings = [
    'RULE SET',
    'LEVEL',
    'WAITS',
    'CLIENTS',
    'CAME BACK',
    '95 %',
    'CAME BACK AND PAID',
    '95 %',
  ];
  const row = (name: string, { level, waits, clients, cameBack, paid }: LadderLevelReport) => [
    name,
    String(level),
    countText(waits),
    countText(clients),
    countText(cameBack),
    shareText(shareInterval(cameBack, clients)),
    countText(paid),
    shareText(shareInterval(paid, clients)),
  ];
  const rows = [
    ...ladder.base.map((level) => row(against ?? 'recorded', level)),
    ...ladder.candidate.map((level) => row(ruleVersion, level)),
  ];
  return table(headings, rows, { right: [1, 2, 3, 4, 5, 6, 7] });
}

function sideName(against: string | null): string {
  return (against ?? 'recorded').toUpperCase();
}
