import { timeText } from '../../client/instant.ts';
import { Type } from '../../json-schema.ts';
import { always, count, epochMs, list, nullable, type Shape, shape, word } from '../../shapes.ts';
import {
  columns,
  countText,
  type EvidenceSpan,
  type EvidenceTable,
  number,
  percentText,
  type Shown,
  SPAN,
  spanNotes,
} from '../shown.ts';
import { amountSum } from '../source/order-clusters.ts';
import {
  type ArmTotals,
  differencesOf,
  MATTERS_SHARE,
  momentsOf,
  recommendationOf,
} from './recommendation.ts';

const FIGURES = {
  orders: shape('Orders by what became of them; those whose last outcome is technical are left out', {
    paid: count('The last outcome is PAID'),
    unpaid: count('Granted, and the last outcome is UNPAID'),
    turnedAway: count('Asked for and never granted, and not paid'),
    unknown: count('Granted, and nothing was reported'),
  }),
  requisites: count('Verdicts that let a requisite be shown'),
  waits: count('WAIT verdicts'),
  lostAfterWait: count(
    'Orders that were told to wait, not paid, and whose client was granted nothing within 24 hours',
  ),
};

const ArmSchema = shape('The clients that were drawn into a version, whichever came to decide', {
  version: word('The version'),
  share: number('Of the clients, 0 to 1: the chance of the draw'),
  clients: count('Who asked since the shares are these'),
  ...FIGURES,
  money: Type.Record(
    shape('Amounts of orders', {
      paid: number('Whose last outcome is PAID'),
      reversed: number('That were paid and taken back'),
    }),
    { description: 'By currency, in its units' },
  ),
});

const DIFFERENCE = {
  version: word('The version'),
  metric: word('paid, unpaid, turnedAway, requisites, waits, lostAfterWait, or like money.EUR.paid'),
  value: number('The difference of the means over all clients'),
  low: number('Its 95 % interval, which holds at all times together: look as often as you like'),
  high: number('Its upper end'),
};

/** What `rules experiment --json` prints, but for notes and tables; the member names are stable. */
export const ExperimentSchema = shape('What the versions on trial are worth', {
  kind: always('experiment'),
  version: nullable(word('The version that decides for all others; null without a trial')),
  ...SPAN,
  since: nullable(epochMs('Since when the shares of the trial are these; null without a trial')),
  arms: list(ArmSchema, 'The active version first'),
  levels: list(
    shape('The orders of an arm that were first asked for on one level of the ladder', {
      version: word('The version'),
      level: count('Of the ladder, from 0'),
      ...FIGURES,
    }),
    'By arm and level',
  ),
  differences: list(
    shape('By how much a client of a version differs from one of the active version', {
      ...DIFFERENCE,
      clientsToGo: nullable(
        count(
          `Until a difference of ${percentText(MATTERS_SHARE)} of the active version's shows in four of five experiments; null where that is nothing`,
        ),
      ),
    }),
    'None while an arm has too few clients',
  ),
  trend: list(
    shape('A difference as it was known at a moment', { at: epochMs('The moment'), ...DIFFERENCE }),
    'At up to thirty moments since the shares are these, the oldest first; the last are `differences`',
  ),
  recommendation: shape('What the figures say', {
    version: nullable(word('To make active, or to keep: then all others are to be taken back; null: go on')),
    takeBack: list(word('A version'), 'Worse than the active version'),
    errorBound: number(
      'In at most this share of experiments on versions that are the same something is recommended',
    ),
  }),
});

export type Experiment = Shape<typeof ExperimentSchema>;
export type ExperimentLevel = Experiment['levels'][number];

/** The stage of a trial: since when, and which version is compared with. */
export interface ComparedStage {
  readonly since: number;
  readonly active: string | null;
}

/** What was known of the arms at a moment, epoch ms. */
export interface Look {
  readonly at: number;
  readonly arms: readonly ArmTotals[];
}

/** The result of the sums over the clients, look by look. Without clients of the active version nothing can be compared. */
export function experimentOf(
  span: EvidenceSpan,
  stage: ComparedStage | null,
  looks: readonly Look[],
  levels: readonly ExperimentLevel[],
): Experiment {
  const compared = looks.map(({ at, arms }) => {
    const active = arms.find(({ version }) => version === stage?.active) ?? null;
    const candidates = arms.filter((arm) => arm !== active);
    return {
      at,
      arms,
      active,
      candidates,
      differences: active === null ? [] : differencesOf(active, candidates),
    };
  });
  const { arms = [], active = null, candidates = [], differences = [] } = compared.at(-1) ?? {};
  return {
    kind: 'experiment',
    version: stage?.active ?? null,
    ...span,
    since: stage?.since ?? null,
    arms: arms.map(figuresOf),
    levels,
    differences,
    trend: compared.flatMap(({ at, differences }) =>
      differences.map(({ clientsToGo: _, ...difference }) => ({ at, ...difference })),
    ),
    recommendation: recommendationOf(active, candidates),
  };
}

function figuresOf(arm: ArmTotals): Experiment['arms'][number] {
  const sum = (metric: Parameters<typeof momentsOf>[1]) => momentsOf(arm, metric).sum;
  const currencies = [...arm.totals.keys()].flatMap(
    (metric) => metric.match(/^money\.(.*)\.paid$/)?.[1] ?? [],
  );
  return {
    version: arm.version,
    share: arm.share,
    clients: arm.clients,
    orders: { paid: sum('paid'), unpaid: sum('unpaid'), turnedAway: sum('turnedAway'), unknown: arm.unknown },
    money: Object.fromEntries(
      currencies.toSorted().map((currency) => [
        currency,
        {
          paid: amountSum(sum(`money.${currency}.paid`)),
          reversed: amountSum(sum(`money.${currency}.reversed`)),
        },
      ]),
    ),
    requisites: sum('requisites'),
    waits: sum('waits'),
    lostAfterWait: sum('lostAfterWait'),
  };
}

/** An experiment for its reader. */
export function shownExperiment(found: Experiment): Shown {
  const notes = spanNotes(found);
  if (found.since === null) return { notes: [...notes, NO_TRIAL], tables: [] };
  const tables = [armsTable(found), moneyTable(found), differencesTable(found), levelsTable(found)];
  return {
    notes: [
      ...notes,
      `On trial with these shares since ${timeText(found.since)}. A client counts for the version it was drawn into, whichever came to decide.`,
      ...(found.version === null ? [NOBODY_LEFT] : []),
      ...(found.version !== null && found.differences.length === 0 ? [TOO_FEW] : []),
      recommendationNote(found),
      ...waitingNote(found),
    ],
    tables: tables.filter(({ rows }) => rows.length > 0),
  };
}

const NO_TRIAL =
  'No version was on trial within this time. Begin with: rules rollout p2.v11 --canary 10 --reason TEXT; several candidates are named by --also p2.v12:10.';

const NOBODY_LEFT =
  'All clients are drawn into candidates, so there is nobody to compare them with; give them less than 100 percent.';

const TOO_FEW = 'Nothing can be compared yet: it takes 200 clients in each arm.';

function recommendationNote({ recommendation, version, differences }: Experiment): string {
  const { version: best, takeBack, errorBound } = recommendation;
  const bound = `Of experiments on versions that are the same at most ${percentText(errorBound)} end with a recommendation, however often somebody looks.`;
  const back = takeBack.map((one) => `rules rollback ${one} --reason "worse by the experiment"`).join('; ');
  if (best !== null && best !== version)
    return `Recommended: make ${best} active. ${bound} Next: rules rollout ${best} --active --reason "better by the experiment"`;
  if (takeBack.length > 0) return `Recommended: take ${takeBack.join(', ')} back. ${bound} Next: ${back}`;
  return differences.length === 0
    ? 'Go on: nothing is recommended yet.'
    : `Go on: neither version is shown to be better in what is paid. ${bound}`;
}

/** How much longer, at the pace so far. */
function waitingNote({ arms, differences, since, to }: Experiment): readonly string[] {
  const clients = arms.reduce((sum, arm) => sum + arm.clients, 0);
  const days = ((to ?? 0) - (since ?? 0)) / 86_400_000;
  const paid = differences.filter(({ metric }) => metric === 'paid');
  return paid.flatMap(({ version, clientsToGo }) => {
    if (clientsToGo === null) return [];
    const shows = `a difference of ${percentText(MATTERS_SHARE)} in paid orders between ${version} and the active version`;
    if (clientsToGo === 0) return [`There are clients enough to show ${shows} in four of five experiments.`];
    const wait = days > 0 ? `, at the pace so far ${daysText((clientsToGo / clients) * days)}` : '';
    return [
      `About ${countText(clientsToGo)} more clients${wait}, until ${shows} shows in four of five experiments.`,
    ];
  });
}

function daysText(days: number): string {
  return days < 1.5 ? 'about a day' : `about ${countText(Math.round(days))} days`;
}

function armsTable({ arms }: Experiment): EvidenceTable {
  return {
    name: 'arms',
    title: 'Orders by arm',
    columns: [
      ...columns('text', 'version'),
      ...columns('share', 'share'),
      ...columns('count', 'clients', ...FIGURE_COLUMNS),
    ],
    rows: arms.map((arm) => [arm.version, arm.share, arm.clients, ...figureCells(arm)]),
  };
}

const FIGURE_COLUMNS = [
  'paid',
  'unpaid',
  'turned away',
  'unknown',
  'requisites',
  'waits',
  'lost after a wait',
];

function figureCells({
  orders,
  requisites,
  waits,
  lostAfterWait,
}: Omit<ExperimentLevel, 'version' | 'level'>) {
  return [orders.paid, orders.unpaid, orders.turnedAway, orders.unknown, requisites, waits, lostAfterWait];
}

function moneyTable({ arms }: Experiment): EvidenceTable {
  return {
    name: 'money',
    title: 'Money by arm',
    columns: [
      ...columns('text', 'version', 'currency'),
      ...columns('money', 'paid', 'reversed', 'paid a client'),
    ],
    rows: arms.flatMap(({ version, clients, money }) =>
      Object.entries(money).map(([currency, { paid, reversed }]) => [
        ...[version, currency, paid, reversed, clients === 0 ? null : paid / clients],
      ]),
    ),
  };
}

function differencesTable({ differences, version: active }: Experiment): EvidenceTable {
  return {
    name: 'differences',
    title: `Differences to ${active ?? '-'} for each 1,000 clients, with 95 % intervals that hold at all times together`,
    columns: [
      ...columns('text', 'version', 'of'),
      ...columns('money', 'difference'),
      ...columns('count', `clients to go for ${percentText(MATTERS_SHARE)}`),
    ],
    rows: differences.map(({ version, metric, value, low, high, clientsToGo }) => [
      ...[version, METRIC_NAMES.get(metric) ?? metric.replaceAll('.', ' ')],
      { value: 1000 * value, low: 1000 * low, high: 1000 * high },
      clientsToGo,
    ]),
  };
}

const METRIC_NAMES: ReadonlyMap<string, string> = new Map([
  ['turnedAway', 'turned away'],
  ['lostAfterWait', 'lost after a wait'],
]);

function levelsTable({ levels }: Experiment): EvidenceTable {
  return {
    name: 'levels',
    title: 'Orders by arm and level of the ladder when they were first asked for',
    columns: [...columns('text', 'version', 'level'), ...columns('count', ...FIGURE_COLUMNS)],
    rows: levels.map((level) => [level.version, String(level.level), ...figureCells(level)]),
  };
}
