import { formatCount } from '#base/count-text.ts';
import { DAY_MS } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import {
  computeClientInFiguresTime,
  formatObjective,
  type Objective,
  ObjectiveSchema,
} from '#decision/objective.ts';
import { formatTime } from '#decision/payer/instant.ts';
import {
  type ColumnsOfKind,
  createColumns,
  createNumberSchema,
  type EvidenceSpan,
  type EvidenceTable,
  formatCell,
  formatNumber,
  formatPercent,
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
  findUnratedMoney,
  listUnratedNotes,
  type UnratedMoney,
  UnratedMoneySchema,
} from '#history/evidence/unrated-money.ts';
import {
  type ArmTotals,
  computeDifferences,
  DETECTABLE_SHARE,
  findVetoes,
  getMetricSums,
  RecommendationSchema,
  recommendVersion,
  VETOES,
  type Veto,
  VetoSchema,
} from './recommendation.ts';

const FIGURES = {
  orders: orderCountsSchema,
  requisites: s.count('Verdicts that let a requisite be shown'),
  waits: s.count('WAIT verdicts'),
  lostAfterWait: s.count(
    'Orders that were told to wait, not paid, and whose client was granted nothing within 24 hours',
  ),
};

const ArmSchema = s.shape(
  'The clients that were drawn into a version, whichever came to decide, each with its first days once nothing of them changes any more',
  {
    version: s.plainText('The version'),
    share: createNumberSchema('Of the clients, 0 to 1: the chance of the draw'),
    clients: s.count('Who count'),
    young: s.count('Who asked, and do not count yet: they are in no other figure'),
    matureShare: s.nullable(
      createNumberSchema('Of all who asked, those who count, 0 to 1; null without anybody'),
    ),
    ...FIGURES,
    waitsEnded: s.count('Waits that a person ended before their time'),
    money: Type.Record(
      s.shape('Amounts of orders', {
        paid: createNumberSchema('Whose last outcome is PAID'),
        reversed: createNumberSchema('That were paid and taken back'),
      }),
      { description: 'By currency, in its units, each client up to the cap' },
    ),
    capped: createNumberSchema('What clients paid above the cap, which counts nowhere'),
  },
);

const DIFFERENCE = {
  version: s.plainText('The version'),
  metric: s.plainText(
    'value, amount, reversedAmount, paid, unpaid, turnedAway, reversals, requisites, unpaidRequisites, waits, lostAfterWait, or like money.EUR.paid',
  ),
  value: createNumberSchema('The difference of the means over all clients'),
  low: createNumberSchema('Its 95 % interval, which holds at all times together: look as often as you like'),
  high: createNumberSchema('Its upper end'),
};

/** The schema of the output of `rules experiment --json`, without notes and tables. The member names are stable. */
export const ExperimentSchema = s.shape('What the versions on trial are worth', {
  kind: s.literal('experiment'),
  version: s.nullable(s.plainText('The version that decides for all others; null without a trial')),
  ...SPAN_MEMBERS,
  since: s.nullable(s.epochMs('Since when the shares of the trial are these; null without a trial')),
  objective: s.nullable(ObjectiveSchema),
  unrated: UnratedMoneySchema,
  isFixed: s.yesNo('The objective is that of the rollout; another one recommends nothing'),
  earliest: s.nullable(s.epochMs('When the first client counts; null without a trial')),
  arms: s.list(ArmSchema, 'The active version first'),
  levels: s.list(
    s.shape('The orders of an arm that were first asked for on one level of the ladder', {
      version: s.plainText('The version'),
      level: s.count('Of the ladder, from 0'),
      ...FIGURES,
    }),
    'By arm and level',
  ),
  differences: s.list(
    s.shape('By how much a client of a version differs from one of the active version', {
      ...DIFFERENCE,
      clientsToGo: s.nullable(
        s.count(
          `Until a difference of ${formatPercent(DETECTABLE_SHARE)} of the active version's shows in four of five experiments; null where that is nothing`,
        ),
      ),
    }),
    'None of a metric that fewer than 50 clients of an arm have, or effectively fewer',
  ),
  trend: s.list(
    s.shape('A difference as it was known at a moment', { at: s.epochMs('The moment'), ...DIFFERENCE }),
    'At up to thirty moments since the shares are these, the oldest first; the last are `differences`',
  ),
  vetoes: s.list(VetoSchema, 'Of candidates, and of the whole trial'),
  recommendation: RecommendationSchema,
});

export type ExperimentReport = s.ValueOf<typeof ExperimentSchema>;
export type ArmOrdersAtLadderLevel = ExperimentReport['levels'][number];

/** The objective (how much a payer is worth) and the times by which clients are judged. */
export interface ExperimentObjective {
  /**
   * The objective. Members that were not given are completed from the data. If the cap is null, amounts are not
   * capped.
   */
  readonly objective: Objective & { readonly currency: string; readonly reversalDays: number };
  /** Whether the objective is that of the rollout. */
  readonly isFixed: boolean;
}

/** A stage of a trial: when it began, the version with which the others are compared, and how clients are judged. */
interface ComparedStage extends ExperimentObjective {
  readonly since: number;
  readonly active: string | null;
  readonly vetoes: readonly Veto[];
}

/**
 * The totals of an arm, and further figures. `asked` counts all clients of the arm, also those that do not count yet.
 */
export type CountedArm = ArmTotals & Readonly<Record<'asked' | 'capped' | 'waitsEnded', number>>;

/** The arms as they were known at a moment (epoch ms). */
interface Look {
  readonly at: number;
  readonly arms: readonly CountedArm[];
}

/**
 * Evaluates the sums over the clients at each look (a moment at which the arms are compared). If the active version
 * has no clients, nothing can be compared.
 */
export function evaluateExperiment(
  span: EvidenceSpan,
  stage: ComparedStage | null,
  looks: readonly Look[],
  levels: readonly ArmOrdersAtLadderLevel[],
): ExperimentReport {
  const compared = looks.map(({ at, arms }) => {
    const active = arms.find(({ version }) => version === stage?.active) ?? null;
    const candidates = arms.filter((arm) => arm !== active);
    return {
      at,
      arms,
      active,
      candidates,
      differences: active === null ? [] : computeDifferences(active, candidates),
    };
  });
  const { arms = [], active = null, candidates = [], differences = [] } = compared.at(-1) ?? {};
  const figures = arms.map(toArmFigures);
  const { objective = null, isFixed = true } = stage ?? {};
  const priced = {
    reversals: (objective?.reversalCost ?? 0) > 0,
    requisites: (objective?.requisiteCost ?? 0) > 0,
  };
  const vetoes = [
    ...(stage?.vetoes ?? []),
    ...(active === null ? [] : findVetoes(active, candidates, priced)),
  ];
  return {
    kind: 'experiment',
    version: stage?.active ?? null,
    ...span,
    since: stage?.since ?? null,
    objective,
    unrated: objective === null ? null : sumUnratedMoney(figures, objective),
    isFixed,
    earliest: stage === null ? null : computeClientInFiguresTime(stage.since, stage.objective),
    arms: figures,
    levels,
    differences,
    trend: compared.flatMap(({ at, differences }) =>
      differences.map(({ clientsToGo: _, ...difference }) => ({ at, ...difference })),
    ),
    vetoes,
    recommendation: recommendVersion(isFixed ? active : null, candidates, vetoes),
  };
}

function toArmFigures(arm: CountedArm): ExperimentReport['arms'][number] {
  const { version, share, clients, asked, waitsEnded } = arm;
  const sum = (metric: Parameters<typeof getMetricSums>[1]) => getMetricSums(arm, metric).sum;
  const currencies = [...arm.totals.keys()].flatMap(
    (metric) => metric.match(/^money\.(.*)\.paid$/)?.[1] ?? [],
  );
  return {
    version,
    share,
    clients,
    young: asked - clients,
    matureShare: asked === 0 ? null : clients / asked,
    orders: { paid: sum('paid'), unpaid: sum('unpaid'), turnedAway: sum('turnedAway'), unknown: arm.unknown },
    money: Object.fromEntries(
      currencies.toSorted().map((currency) => [
        currency,
        {
          paid: roundAmountSum(sum(`money.${currency}.paid`)),
          reversed: roundAmountSum(sum(`money.${currency}.reversed`)),
        },
      ]),
    ),
    capped: roundAmountSum(arm.capped),
    requisites: sum('requisites'),
    waits: sum('waits'),
    lostAfterWait: sum('lostAfterWait'),
    waitsEnded,
  };
}

/** Sums the money of all arms for which the objective gives no rate. */
function sumUnratedMoney(
  arms: ExperimentReport['arms'],
  objective: Objective & { readonly currency: string },
): UnratedMoney {
  const sums: Record<string, ExperimentReport['arms'][number]['money'][string]> = {};
  for (const [currency, { paid, reversed }] of arms.flatMap(({ money }) => Object.entries(money))) {
    const so = sums[currency] ?? { paid: 0, reversed: 0 };
    sums[currency] = {
      paid: roundAmountSum(so.paid + paid),
      reversed: roundAmountSum(so.reversed + reversed),
    };
  }
  return findUnratedMoney(sums, objective, objective.currency);
}

/** Renders an experiment as notes and tables. */
export function createExperimentPresentation(found: ExperimentReport): NotesAndTables {
  const notes = listSpanNotes(found);
  if (found.since === null) return { notes: [...notes, NO_TRIAL], tables: [] };
  const tables = [armsTable(found), moneyTable(found), differencesTable(found), levelsTable(found)];
  return {
    notes: [
      ...notes,
      `On trial with these shares since ${formatTime(found.since)}. Decisions count from then on, even if the chosen time begins later. A client counts for the version that it was drawn into, whichever version decided.`,
      ...objectiveNotes(found),
      ...(found.version === null ? [NOBODY_LEFT] : []),
      ...(found.version !== null && found.differences.length === 0 ? [TOO_FEW] : []),
      ...found.vetoes.map(
        ({ veto, version, why }) =>
          `Veto${version === null ? '' : ` on ${version}`}, ${veto}: ${VETOES[veto]} (${why}).`,
      ),
      recommendationNote(found),
      ...waitingNote(found),
    ],
    tables: tables.filter(({ rows }) => rows.length > 0),
  };
}

const NO_TRIAL =
  'No version was on trial within this time. Begin with: rules rollout p2.v11 --canary 10 --reason TEXT; several candidates are named by --also p2.v12:10.';

const NOBODY_LEFT =
  'All clients are drawn into candidates, so there are none to compare them with; give the candidates less than 100 percent in all.';

const TOO_FEW =
  'Nothing can be compared yet: each version needs 50 clients who count and have the figure that is compared.';

function objectiveNotes({
  objective,
  unrated,
  isFixed,
  earliest,
  arms,
}: ExperimentReport): readonly string[] {
  if (objective === null || earliest === null) return [];
  const { windowDays, reversalDays, cap } = objective;
  const currency = objective.currency ?? NO_CURRENCY;
  const capped = arms.map((arm) => `${formatCell(arm.capped, 'money')} of ${arm.version}`).join(', ');
  const young = arms.reduce((sum, arm) => sum + arm.young, 0);
  return [
    `Judged by ${formatObjective(objective)}.${isFixed ? '' : ' The rollout was begun with another objective, so nothing is recommended by this one.'}`,
    `A client counts by what it does within ${formatDays(windowDays)}, once these and ${formatDays(reversalDays ?? 0)} for reversals are over. The first counts on ${formatTime(earliest)}. ${formatCount(young, 'client')} ${young === 1 ? 'does' : 'do'} not count yet.`,
    cap === null
      ? 'No amount is capped, because too few clients paid in the 30 days before; give a cap with the rollout if a few clients pay most of the money.'
      : `At most ${formatCell(cap, 'money')} ${currency} of a client's money count. Not counted above that: ${capped}.`,
    ...listUnratedNotes('Value', unrated, RATE_OF_A_TRIAL),
  ];
}

const RATE_OF_A_TRIAL =
  'when the next trial begins; in rules experiment it is shown for this one, and recommends nothing';

function formatDays(some: number): string {
  return formatCount(some, 'day');
}

function recommendationNote({ recommendation, version, differences }: ExperimentReport): string {
  const { version: best, takeBack, errorBound } = recommendation;
  const bound = `If the versions were the same, at most ${formatPercent(errorBound)} of experiments would end with a recommendation, however often somebody looks.`;
  const back = takeBack.map((one) => `rules rollback ${one} --reason "worse by the experiment"`).join('; ');
  if (best !== null && best !== version)
    return `Recommended: make ${best} active. ${bound} Next: rules rollout ${best} --active --reason "better by the experiment"`;
  if (takeBack.length > 0) return `Recommended: roll back ${takeBack.join(', ')}. ${bound} Next: ${back}`;
  return differences.length === 0
    ? 'Continue: nothing is recommended yet.'
    : `Continue: no version is shown to be better. ${bound}`;
}

/** Says how much longer the trial will take at the present pace. */
function waitingNote({ arms, differences, trend, earliest }: ExperimentReport): readonly string[] {
  const clients = arms.reduce((sum, arm) => sum + arm.clients, 0);
  // The pace is measured from the moment `earliest`, because no client could count before it.
  const days = ((trend.at(-1)?.at ?? 0) - (earliest ?? 0)) / DAY_MS;
  const values = differences.filter(({ metric }) => metric === 'value');
  return values.flatMap(({ version, clientsToGo }) => {
    if (clientsToGo === null) return [];
    const shows = `a difference of ${formatPercent(DETECTABLE_SHARE)} in value between ${version} and the active version`;
    if (clientsToGo === 0)
      return [`There are enough clients: ${shows} would show in four of five experiments.`];
    const wait = days > 0 ? `, at the pace so far ${daysText((clientsToGo / clients) * days)}` : '';
    return [
      `About ${formatNumber(clientsToGo)} more clients${wait}, until ${shows} shows in four of five experiments.`,
    ];
  });
}

function daysText(days: number): string {
  return days < 1.5 ? 'about a day' : `about ${formatNumber(Math.round(days))} days`;
}

function armsTable({ arms }: ExperimentReport): EvidenceTable {
  return {
    name: 'arms',
    title: 'Orders by arm',
    columns: createColumns(
      ['text', 'version'],
      ['share', 'share'],
      ['count', 'clients', 'too young'],
      ...FIGURES_COUNTED,
      ['count', 'waits ended'],
    ),
    rows: arms.map((arm) => {
      const { version, share, clients, young, waitsEnded } = arm;
      return [version, share, clients, young, ...figureCells(arm), waitsEnded];
    }),
  };
}

const FIGURES_COUNTED: readonly ColumnsOfKind[] = [
  ORDER_STATUS_COLUMNS,
  ['count', 'requisites', 'waits', 'lost after a wait'],
];

function figureCells({
  orders,
  requisites,
  waits,
  lostAfterWait,
}: Omit<ArmOrdersAtLadderLevel, 'version' | 'level'>) {
  return [...listOrderCountCells(orders), requisites, waits, lostAfterWait];
}

function moneyTable({ arms }: ExperimentReport): EvidenceTable {
  return {
    name: 'money',
    title: 'Money by arm',
    columns: createColumns(['text', 'version', 'currency'], ['money', 'paid', 'reversed', 'paid a client']),
    rows: arms.flatMap(({ version, clients, money }) =>
      Object.entries(money).map(([currency, { paid, reversed }]) => [
        ...[version, currency, paid, reversed, clients === 0 ? null : paid / clients],
      ]),
    ),
  };
}

function differencesTable({ differences, version: active }: ExperimentReport): EvidenceTable {
  return {
    name: 'differences',
    title: `Differences to ${active ?? '-'} for each 1,000 clients, with 95 % intervals that hold at all times together`,
    columns: createColumns(
      ['text', 'version', 'of'],
      ['money', 'difference'],
      ['count', `clients to go for ${formatPercent(DETECTABLE_SHARE)}`],
    ),
    rows: differences.map(({ version, metric, value, low, high, clientsToGo }) => [
      ...[version, METRIC_NAMES.get(metric) ?? metric.replaceAll('.', ' ')],
      { value: 1000 * value, low: 1000 * low, high: 1000 * high },
      clientsToGo,
    ]),
  };
}

const METRIC_NAMES: ReadonlyMap<string, string> = new Map([
  ['turnedAway', 'turned away'],
  ['reversedAmount', 'reversed money'],
  ['unpaidRequisites', 'unpaid requisites'],
  ['amount', 'lasting money'],
  ['lostAfterWait', 'lost after a wait'],
]);

function levelsTable({ levels }: ExperimentReport): EvidenceTable {
  return {
    name: 'levels',
    title: 'Orders by arm and level of the ladder when they were first asked for',
    columns: createColumns(['text', 'version', 'level'], ...FIGURES_COUNTED),
    rows: levels.map((level) => [level.version, String(level.level), ...figureCells(level)]),
  };
}
