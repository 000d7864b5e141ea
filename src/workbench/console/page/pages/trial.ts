import { estimateShare } from '#history/statistics/intervals.ts';
import { askService, isAllowed } from '#workbench/console/page/api.ts';
import { h, html, useMemo, useState } from '#workbench/console/page/html.ts';
import { Chart } from '#workbench/console/page/parts/chart.ts';
import {
  EvidenceTableView,
  formatInterval,
  renderJobResult,
  renderNotes,
  useFollowedJob,
} from '#workbench/console/page/parts/evidence.ts';
import { renderChoice } from '#workbench/console/page/parts/form.ts';
import { formatDateTime, groupDigits, parseMoment } from '#workbench/console/page/parts/format.ts';
import { renderSampleOrders } from '#workbench/console/page/parts/links.ts';
import { useAction } from '#workbench/console/page/parts/notice.ts';
import {
  declareColumns as columnsOf,
  declareNumberColumns,
  renderTable,
} from '#workbench/console/page/parts/table.ts';
import { GROUP_COLORS } from '#workbench/console/page/parts/verdict.ts';
import {
  EXPERIMENT_QUESTION,
  type Experiment,
  type Rollout,
  type Session,
  type TrialCounts,
} from '#workbench/console/page/questions.ts';

type Candidate = Rollout['candidates'][number];

type Difference = TrialCounts['shadow']['differences'][number];

/** The names of the client groups. The text of a change may end with one. */
const GROUP_NAMES: readonly string[] = GROUP_COLORS.map(({ name }) => name);

const ORDERS_MAX = 5;

/** Shows the figures of a candidate beside those of the active version. */
export function renderTrialCounts({ active }: Rollout, { version, mode }: Candidate, trial: TrialCounts) {
  const { candidateErrors: errors } = trial;
  const threw = `${version} threw ${groupDigits(errors)} times; ${active.version} decided instead.`;
  const shown = mode === 'shadow' ? renderShadowDifferences : renderArmsTable;
  return html`${errors > 0 && html`<p class="bad">${threw}</p>`}
    ${shown(trial, active.version, version)}`;
}

function renderShadowDifferences({ shadow }: TrialCounts, active: string, candidate: string) {
  const { compared, different, differences } = shadow;
  if (compared === 0)
    return html`<p class="faint">Nothing is compared yet: both versions decide the next verdicts.</p>`;
  const columns = [
    ...declareNumberColumns('count'),
    ...columnsOf('exact', `${active} → ${candidate}`),
    'groups',
    'sample orders',
  ];
  return html`<p>
      <b class="num">${groupDigits(different)}</b> of${' '}
      <b class="num">${groupDigits(compared)}</b> verdicts differ:
      ${' '}${formatInterval(estimateShare(different, compared))}.
    </p>
    ${
      differences.length > 0 &&
      renderTable(
        { name: 'Differences', columns },
        mergeByGroup(differences),
        ({ change, times, groups, orders }) => [
          ...[groupDigits(times), change, groups.join(', '), renderSampleOrders(orders)],
        ],
      )
    }`;
}

/**
 * Merges differences that leave the group unchanged and are otherwise the same. The merged row shows the
 * count of each group.
 */
function mergeByGroup(differences: readonly Difference[]) {
  const rows = Map.groupBy(differences.map(splitOffGroup), ({ change }) => change);
  return [...rows]
    .map(([change, parts]) => ({
      change,
      times: parts.reduce((sum, part) => sum + part.count, 0),
      groups: parts.flatMap(({ group, count: times }) =>
        group === null ? [] : [`${group} ${groupDigits(times)}`],
      ),
      orders: parts.flatMap(({ sampleOrders }) => sampleOrders).slice(0, ORDERS_MAX),
    }))
    .toSorted((one, other) => other.times - one.times);
}

/**
 * Splits the group off a change like `WAIT/attempt-unpaid 30 s NEW -> WAIT/attempt-unpaid 40 s NEW`, if
 * both sides have the same group.
 */
function splitOffGroup({ change, count, sampleOrders }: Difference) {
  const sides = change.split(' -> ').map((side) => {
    const cut = side.lastIndexOf(' ');
    return { what: side.slice(0, cut), group: side.slice(cut + 1) };
  });
  const [before, after] = sides;
  const arrow = change.replace(' -> ', ' → ');
  const same = before !== undefined && before.group === after?.group && GROUP_NAMES.includes(before.group);
  return same
    ? { change: `${before.what} → ${after?.what}`, group: before.group, count, sampleOrders }
    : { change: arrow, group: null, count, sampleOrders };
}

/**
 * Computes, for each share that a guard watches, by how many percentage points the candidate's is worse
 * than the active version's.
 */
export function computeHarms({ arms: { active, candidate } }: TrialCounts) {
  const share = (part: number, { clients }: typeof active) =>
    clients.seen === 0 ? 0 : (100 * part) / clients.seen;
  const more = (name: string, of: (clients: typeof active.clients) => number) => ({
    name,
    points: share(of(candidate.clients), candidate) - share(of(active.clients), active),
  });
  const paid = more('paid', (clients) => clients.paid);
  return [
    more('BLOCK', (clients) => clients.blocked),
    more('WAIT', (clients) => clients.waited),
    more('bots', (clients) => clients.bots),
    { ...paid, points: -paid.points },
  ];
}

/**
 * Shows shares of clients, not of verdicts, with intervals, because the verdicts of one client are not
 * independent.
 */
function renderArmsTable({ arms, shares, breach, gains }: TrialCounts, active: string, candidate: string) {
  const rows = [
    [active, 'active'],
    [candidate, 'candidate'],
  ] as const;
  const names = shares.map(({ name }) => name);
  const statuses = ['paid', 'unpaid', 'unknown'] as const;
  const columns = [
    'version',
    ...declareNumberColumns(
      'verdicts',
      'clients',
      ...names,
      ...statuses.map((status) => `clients ${status}`),
    ),
  ];
  return html`${renderTable({ name: 'Arms', columns, kind: 'arms' }, rows, ([version, arm]) => [
    ...[html`<b>${version}</b>`, groupDigits(arms[arm].verdicts), groupDigits(arms[arm].clients.seen)],
    ...shares.map((one) => formatInterval(one[arm])),
    ...statuses.map((status) => groupDigits(countClientsBy(status, arms[arm].clients))),
  ])}
    <p class="faint">
      Shares of clients, with 95 % intervals. A client counts once, with all verdicts since this share began.
      “Paid” is the share of clients who paid at least once, among those with a known outcome.
    </p>
    ${breach !== null && html`<p class="bad">The guard takes it back: ${breach}.</p>`}
    ${gains.map((gain) => html`<p class="good">Better: ${gain}.</p>`)}`;
}

function countClientsBy(
  status: 'paid' | 'unpaid' | 'unknown',
  { seen, paid, unpaid }: TrialCounts['arms']['active']['clients'],
) {
  switch (status) {
    case 'paid':
      return paid;
    case 'unpaid':
      return unpaid;
    case 'unknown':
      return Math.max(0, seen - paid - unpaid);
    default:
      return status;
  }
}

/** The results of the versions on trial. They are counted when somebody asks. */
export function ExperimentPart({ rollout, session }: { rollout: Rollout; session: Session }) {
  const [jobId, setJobId] = useState<string | null>(null);
  const { attempt, isBusy, trouble } = useAction();
  const answer = useFollowedJob(jobId, EXPERIMENT_QUESTION);
  const canary = rollout.candidates.find(({ mode }) => mode === 'canary');
  if (canary === undefined || !isAllowed(session, 'rules')) return null;
  const begun = `On trial with these shares since ${formatDateTime(canary.stageSince)}.`;
  const again = () =>
    attempt(async () =>
      setJobId((await askService('POST', EXPERIMENT_QUESTION, { kind: 'experiment' })).jobId),
    );
  const worked = ({ since, notes, tables, trend }: Experiment) => html`
    ${renderNotes(since === canary.stageSince ? notes : [`${begun} Nothing was decided since then.`])}
    ${trend.length > 0 && h(Trend, { trend })}
    ${tables.map(
      (table) => html`<div key=${table.title}>
        <h3>${table.title}</h3>
        ${h(EvidenceTableView, { table })}
      </div>`,
    )}`;
  return html`<section class="card">
    <h2>Results of the trial</h2>
    ${
      jobId === null
        ? html`<p>Compares the orders, money, requisites and waits of the payers of each version.</p>
            <button type="button" disabled=${isBusy} onClick=${again}>Run</button>`
        : renderJobResult({ answer, again }, worked)
    }
    ${trouble}
  </section>`;
}

/**
 * Shows over time how much each candidate differed from the active version, by what was known at each time.
 */
function Trend({ trend }: Pick<Experiment, 'trend'>) {
  const [metric, setMetric] = useState('value');
  const metrics = [...new Set(trend.map((one) => one.metric))];
  const versions = [...new Set(trend.map((one) => one.version))];
  return html`<h3>How the differences went</h3>
    ${renderChoice('metric', metrics, { chosen: metric, go: setMetric })}
    ${versions.map((version) => h(TrendChart, { key: version, trend, version, metric }))}`;
}

type TrendChartProps = Pick<Experiment, 'trend'> & Readonly<Record<'version' | 'metric', string>>;

function TrendChart({ trend, version, metric }: TrendChartProps) {
  const [at, series] = useMemo(() => {
    const seen = trend.filter((one) => one.version === version && one.metric === metric);
    const line = (name: string, figure: 'value' | 'low' | 'high') => ({
      name,
      color: figure === 'value' ? '--accent' : '--ink-faint',
      values: seen.map((one) => 1000 * one[figure]),
      total: formatOneDecimal(1000 * (seen.at(-1)?.[figure] ?? 0)),
    });
    return [
      seen.map((one) => parseMoment(one.at)),
      [line('from', 'low'), line('to', 'high'), line('difference', 'value')],
    ];
  }, [trend, version, metric]);
  const note = 'for each 1,000 clients; 95 % at all times together';
  return h(Chart, {
    kind: 'interval',
    title: `${metric}: ${version}`,
    note,
    at,
    series,
    format: formatOneDecimal,
  });
}

function formatOneDecimal(value: number) {
  return value.toFixed(1);
}
