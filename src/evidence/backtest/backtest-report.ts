import { CLIENT_GROUPS } from '../../client/client-state.ts';
import { FACTS } from '../../facts/catalogue.ts';
import { counted } from '../../rules/condition-text.ts';
import { byVerdict, VERDICTS } from '../../rules/rule-set.ts';
import { always, choice, count, list, named, nullable, type Shape, shape, word } from '../../shapes.ts';
import { shareInterval } from '../../statistics/intervals.ts';
import {
  amounts,
  type Cell,
  columns,
  countText,
  type EvidenceTable,
  emptyLists,
  emptyListsNotes,
  FATE_COLUMNS,
  FATES,
  fateCells,
  heldOutCounts,
  heldOutNotes,
  interval,
  moneyText,
  type OrderCounts,
  orderCounts,
  ordersText,
  ruleSetText,
  type Shown,
  SPAN,
  shareText,
  spanNotes,
  verdictMixShape,
} from '../shown.ts';
import { adviceNotes, reversalNotes, reversals, stoppedPayments } from '../source/reversals.ts';
import { OUTCOME_ASSUMPTIONS, type OutcomeAssumption } from './lives.ts';

/**
 * `recorded`: every decision is made again on the fact values that its record holds.
 * `closed-loop`: the inputs are replayed from an empty state.
 */
export const BACKTEST_MODES = ['recorded', 'closed-loop'] as const;

export type BacktestMode = (typeof BACKTEST_MODES)[number];

const ORDER_SUMS = shape('Orders and their money', { orders: orderCounts, amount: amounts });

const OrderEffectsSchema = shape('What a side did to the orders', {
  blocked: shape('Answered BLOCK at least once', ORDER_SUMS.properties),
  heldBack: shape('Answered WAIT at least once, and never BLOCK', ORDER_SUMS.properties),
  stopped: shape('Granted no requisite at all', ORDER_SUMS.properties),
});

const OrderComparisonSchema = shape('What the two sides did to the orders, and what became of these', {
  all: shape('All orders that were asked for', ORDER_SUMS.properties),
  base: OrderEffectsSchema,
  candidate: OrderEffectsSchema,
});

const verdict = choice(VERDICTS, 'A verdict');
const decisionCount = named(
  'ComparedDecisions',
  shape('Decisions, and how many of them are about orders of each outcome', {
    decisions: count('All of them'),
    ...orderCounts.properties,
  }),
);
const transitionsTo = named(
  'CandidateVerdicts',
  shape(
    'By verdict of the candidate',
    byVerdict(() => decisionCount),
  ),
);

const COMPARISON = {
  compared: count('Decisions that both sides made'),
  changed: count('Of these, whose verdict is another'),
  transitions: shape(
    'Decisions by verdict of the base',
    byVerdict(() => transitionsTo),
  ),
  changes: list(
    shape('Decisions that went from one verdict to another, for one pair of rules', {
      from: verdict,
      to: verdict,
      fromRule: word('The rule of the base, or otherwise'),
      toRule: word('The rule of the candidate, or otherwise'),
      count: count('Decisions'),
      ...orderCounts.properties,
      samples: list(word('An orderRef'), 'The first that it happened to, at most three'),
    }),
    'Most frequent first',
  ),
  bots: shape('Decisions with the bot flag', {
    base: count('Under the base'),
    candidate: count('Under the candidate'),
    gained: count('Under the candidate alone'),
    lost: count('Under the base alone'),
  }),
  groups: list(
    shape('Decisions that went from one client group to another', {
      from: choice(CLIENT_GROUPS, 'Under the base'),
      to: choice(CLIENT_GROUPS, 'Under the candidate'),
      count: count('How many'),
    }),
    'Most frequent first',
  ),
} as const;

const WaitChangesSchema = shape('WAIT under both, but of another length', {
  longer: count('Decisions'),
  shorter: count('Decisions'),
  onAnotherLadder: count('Of both, at the same level: with any, no headline is given'),
});

const assumption = choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happened');

/**
 * What `rules backtest --json` prints, but for notes and tables; the member names are stable. The candidate is the
 * rule set in question, the base is what it is compared with.
 */
export const BacktestSchema = shape('What a version would have decided on what happened', {
  kind: always('backtest'),
  ruleVersion: word('The candidate'),
  digest: word('sha256 over its files'),
  against: nullable(word('The base; null: what was recorded, in closed-loop the versions that decided then')),
  mode: choice(BACKTEST_MODES, 'How decisions were made again'),
  journal: shape('Where the decisions are from', {
    ...SPAN,
    ruleVersions: list(word('A version'), 'Those that decided then'),
  }),
  ...COMPARISON,
  changedShare: interval('Decisions whose verdict changes, by client'),
  mix: shape('Share of each verdict', { base: verdictMixShape, candidate: verdictMixShape }),
  assumption: nullable(assumption),
  unseen: list(
    word('A setting'),
    'Settings in which the two differ and which recorded facts cannot show; empty in closed-loop',
  ),
  waits: nullable(WaitChangesSchema),
  outcomes: OrderComparisonSchema,
  otherwise: nullable(
    shape('The same under the other assumption; null in recorded mode', {
      assumption,
      outcomes: OrderComparisonSchema,
    }),
  ),
  reversals,
  stopped: shape('Of each side', { base: stoppedPayments, candidate: stoppedPayments }),
  heldOut: shape('Of each side', { base: heldOutCounts, candidate: heldOutCounts }),
  undecidable: shape('Decisions whose records lack a fact that a rule set asks', {
    count: count('How many'),
    facts: list(word('Its label'), 'The facts'),
  }),
  reproduced: nullable(
    count(
      'In closed-loop: verdicts of the base that equal the recorded ones when every recorded outcome happens. Fewer than compared means that the history does not begin at the beginning, or that the base is another rule set',
    ),
  ),
  emptyLists,
});

const AnswerComparisonSchema = shape('Where two sides agree and where they do not', COMPARISON);

export type BacktestReport = Shape<typeof BacktestSchema>;
export type AnswerComparison = Shape<typeof AnswerComparisonSchema>;
export type WaitChanges = Shape<typeof WaitChangesSchema>;
export type OrderComparison = Shape<typeof OrderComparisonSchema>;
export type OrderSums = Shape<typeof ORDER_SUMS>;
export type OrderEffects = Shape<typeof OrderEffectsSchema>;

const EFFECTS = [
  ['blocked', 'blocked at least once'],
  ['heldBack', 'held back by a wait, never blocked'],
  ['stopped', 'granted no requisite'],
] as const satisfies readonly (readonly [keyof OrderEffects, string])[];

export function shownBacktest(report: BacktestReport): Shown {
  const notes = [...headNotes(report), ...trustNotes(report)];
  if (report.compared === 0) return { notes: [...notes, 'There is no decision to compare.'], tables: [] };
  const isOther = onAnotherLadder(report);
  const tables = [
    ...(isOther ? [] : [amountsTable]),
    ...[verdictsTable, mixTable, changesTable],
    ...(isOther ? [] : [effectsTable]),
  ].map((table) => table(report));
  return {
    notes: [...notes, ...answerNotes(report), ...headlines(report)],
    tables: tables.filter(({ rows }) => rows.length > 0),
  };
}

function headNotes({ ruleVersion, digest, mode, journal, outcomes, against }: BacktestReport) {
  const { ruleVersions } = journal;
  return [
    `${ruleSetText(ruleVersion, digest)} against ${against ?? 'what was recorded'}, mode ${mode}`,
    ...spanNotes(journal),
    ...(ruleVersions.length === 0 ? [] : [`Decided by ${ruleVersions.join(', ')}.`]),
    `Orders: ${ordersText(outcomes.all.orders)}.`,
  ];
}

function trustNotes(report: BacktestReport): readonly string[] {
  const { undecidable, unseen, reproduced, compared, against } = report;
  const when = (holds: boolean, note: string) => (holds ? [note] : []);
  return [
    ...when(
      undecidable.count > 0,
      `${counted(undecidable.count, 'decision')} cannot be decided again: what was recorded lacks ${undecidable.facts.join(', ')}. ${wayOn(undecidable.facts)}`,
    ),
    ...when(
      unseen.length > 0,
      `The versions differ in ${unseen.join(', ')}, which recorded facts cannot show; use --mode closed-loop.`,
    ),
    ...when(
      reproduced !== null && against === null && reproduced < compared,
      `Replayed with every recorded outcome, the recorded versions repeat ${countText(reproduced ?? 0)} of ${countText(compared)} recorded verdicts: the history does not begin with an empty state, clients were erased, or entries were lost.`,
    ),
    ...heldOutNotes(against ?? 'what was recorded', report.heldOut.base),
    ...heldOutNotes(report.ruleVersion, report.heldOut.candidate),
    ...emptyListsNotes(report.emptyLists),
  ];
}

/** Advice about facts that records lack. */
function wayOn(labels: readonly string[]): string {
  const ofLists = labels.filter((label) => FACTS.get(label.split('(')[0] ?? '')?.kind === 'listed');
  return ofLists.length === labels.length
    ? 'Who was on a shared list then is known only where a rule asked; try the version as a shadow.'
    : 'Use --mode closed-loop, which counts these facts again.';
}

function answerNotes({ changed, changedShare, compared, bots, groups, waits }: BacktestReport) {
  const moved = groups.map(({ from, to, count: times }) => `${from} -> ${to} ${countText(times)}`);
  return [
    `${countText(changed)} of ${countText(compared)} verdicts change: ${shareText(changedShare)}.`,
    `Bot flag: ${countText(bots.base)} -> ${countText(bots.candidate)} of ${countText(compared)} decisions; ${countText(bots.gained)} newly flagged, ${countText(bots.lost)} no longer.`,
    `Client groups: ${moved.length === 0 ? 'no change' : moved.join(', ')}.`,
    ...(waits === null
      ? []
      : [`Waits of another length: ${countText(waits.longer)} longer, ${countText(waits.shorter)} shorter.`]),
  ];
}

export const PAYERS_REPLAYED = 'Replayed payers come back when they did, whatever wait they are told.';

/**
 * Why the backtest claims nothing about another ladder, and how to see its effect; `rollout` is the command for that.
 */
export function noLadderNote(rollout: string): string {
  return `No headline: waits are of another length, and when payers would have come back nobody knows. Try it on some of the payers beside the others: ${rollout} --canary 10; "rules experiment" then shows what both are worth.`;
}

const ASSUMED = {
  granted:
    'If only orders that the version grants get an outcome (what a payer who was stopped would have done is not known)',
  all: 'If every recorded outcome happens all the same (as if payers who were stopped had paid, or not, elsewhere)',
} as const satisfies Record<OutcomeAssumption, string>;

/** Whether a wait of the same level has another length; replayed payers do not react to that. */
function onAnotherLadder({ waits }: BacktestReport): boolean {
  return waits !== null && waits.onAnotherLadder > 0;
}

function headlines(report: BacktestReport): readonly string[] {
  const { assumption: assumed, outcomes, otherwise, ruleVersion, stopped } = report;
  const lateNotes = [...adviceNotes(ruleVersion, stopped.candidate), ...reversalNotes(report.reversals)];
  if (assumed === null || otherwise === null)
    return [`On the recorded facts, which no answer changes: ${headline(outcomes)}`, ...lateNotes];
  if (onAnotherLadder(report)) return [PAYERS_REPLAYED, noLadderNote(`rules rollout ${ruleVersion}`)];
  return [
    PAYERS_REPLAYED,
    `${ASSUMED[assumed]}: ${headline(outcomes)}`,
    `${ASSUMED[otherwise.assumption]}: ${headline(otherwise.outcomes)}`,
    ...lateNotes,
    'The tables are of the first of these two.',
  ];
}

function headline({ all: { orders, amount }, base, candidate }: OrderComparison): string {
  const move = (effect: keyof OrderEffects, fate: keyof OrderCounts) =>
    `${countText(base[effect].orders[fate])} -> ${countText(candidate[effect].orders[fate])}`;
  const reversed = Object.entries(amount).flatMap(([currency, { reversed: all }]) => {
    const side = ({ stopped }: OrderEffects) => moneyText(stopped.amount[currency]?.reversed ?? 0);
    const text = `reversed payments stopped ${side(base)} -> ${side(candidate)} of ${moneyText(all)} ${currency}; `;
    return all === 0 ? [] : [text];
  });
  return `${reversed.join('')}unpaid orders stopped ${move('stopped', 'unpaid')} of ${countText(orders.unpaid)}; paid orders blocked ${move('blocked', 'paid')} and held back ${move('heldBack', 'paid')} of ${countText(orders.paid)}; ${countText(orders.turnedAway)} more were turned away and prove nothing.`;
}

const MONEY = [...FATES, ['reversed', 'reversed, of the unpaid']] as const;

function sidesOf({ against, ruleVersion }: BacktestReport): readonly [base: string, candidate: string] {
  return [against ?? 'recorded', ruleVersion];
}

function verdictsTable(report: BacktestReport): EvidenceTable {
  return {
    name: 'verdicts',
    title: 'Verdicts, and what became of the orders that the decisions are about',
    columns: [...columns('text', ...sidesOf(report)), ...columns('count', 'decisions'), ...FATE_COLUMNS],
    rows: VERDICTS.flatMap((from) =>
      VERDICTS.map((to) => ({ from, to, cell: report.transitions[from][to] }))
        .filter(({ cell }) => cell.decisions > 0)
        .map(({ from, to, cell }) => [from, from === to ? '' : to, cell.decisions, ...fateCells(cell)]),
    ),
  };
}

function mixTable(report: BacktestReport): EvidenceTable {
  return {
    name: 'mix',
    title: 'Share of each verdict, 95 %',
    columns: [...columns('text', ''), ...columns('share', ...sidesOf(report))],
    rows: VERDICTS.map((name) => [name, report.mix.base[name], report.mix.candidate[name]]),
  };
}

function changesTable(report: BacktestReport): EvidenceTable {
  return {
    name: 'changes',
    title: 'Changes by rule',
    columns: [
      ...[...columns('count', 'count'), ...FATE_COLUMNS],
      ...columns('text', 'from', 'by rule', 'to', 'by rule', 'orders, for example'),
    ],
    rows: report.changes.map(({ from, to, fromRule, toRule, count: times, samples, ...orders }) => [
      ...[times, ...fateCells(orders)],
      ...[from, fromRule, to, toRule, samples.join(', ')],
    ]),
  };
}

function effectsTable(report: BacktestReport): EvidenceTable {
  const { all, base, candidate } = report.outcomes;
  return {
    name: 'orders',
    title: 'Orders',
    columns: [
      ...columns('text', '', 'outcome'),
      ...columns('count', 'orders'),
      ...sidesOf(report).flatMap((side) => [...columns('count', side), ...columns('share', '95 %')]),
    ],
    rows: EFFECTS.flatMap(([effect, name]) =>
      FATES.map(([fate, words]) => {
        const total = all.orders[fate];
        const side = ({ [effect]: { orders } }: OrderEffects): readonly Cell[] => [
          orders[fate],
          shareInterval(orders[fate], total),
        ];
        return [name, words, total, ...side(base), ...side(candidate)];
      }),
    ),
  };
}

function amountsTable(report: BacktestReport): EvidenceTable {
  const { all, base, candidate } = report.outcomes;
  return {
    name: 'amounts',
    title: 'Amounts',
    columns: [
      ...columns('text', '', 'outcome', 'currency'),
      ...columns('money', 'all orders', ...sidesOf(report)),
    ],
    rows: EFFECTS.flatMap(([effect, name]) =>
      Object.entries(all.amount).flatMap(([currency, total]) =>
        MONEY.map(([fate, words]) => {
          const side = ({ [effect]: { amount } }: OrderEffects) => amount[currency]?.[fate] ?? 0;
          return [name, words, currency, total[fate], side(base), side(candidate)];
        }),
      ),
    ),
  };
}
