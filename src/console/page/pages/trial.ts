import type { Experiment, Following, Rollout, Session, TrialCounts } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html, useMemo, useState } from '../html.ts';
import { Chart } from '../parts/chart.ts';
import { type Proposal, recordedAs } from '../parts/confirm.ts';
import { ChangedSince } from '../parts/differences.ts';
import { intervalText, Notes, ShownTable } from '../parts/evidence.ts';
import { Choice, type InputEvent } from '../parts/form.ts';
import { count, shareOf } from '../parts/format.ts';
import { SampleOrders } from '../parts/links.ts';
import { answered } from '../parts/notice.ts';
import { numbers, Table } from '../parts/table.ts';
import { GROUPS } from '../parts/verdict.ts';
import { EXPERIMENT, ROLL_BACK, ROLL_OUT } from '../questions.ts';

type Difference = TrialCounts['shadow']['differences'][number];

/** Names of the groups with which a change may end. */
const GROUP_NAMES: readonly string[] = GROUPS.map(({ name }) => name);

const ORDERS_MAX = 5;

/** How the candidates fare beside the active version, and what to do about each. */
export function Trial({
  rollout: { active, candidates },
  trial: { version, arms, shares, breach, gains, shadow, candidateErrors },
}: {
  rollout: Rollout;
  trial: TrialCounts;
}) {
  const candidate = candidates.find((one) => one.version === version);
  if (candidate === undefined) return null;
  const versions = { active: active.version, candidate: candidate.version };
  const errors = `${candidate.version} threw ${count(candidateErrors)} times`;
  return html`<section class="card">
    <h2>The trial of ${candidate.version}</h2>
    ${candidateErrors > 0 && html`<p class="bad">${errors}; ${active.version} decided instead.</p>`}
    ${
      candidate.mode === 'shadow'
        ? html`<${ShadowDifferences} shadow=${shadow} ...${versions} />`
        : html`<${Arms} arms=${arms} shares=${shares} breach=${breach} gains=${gains} ...${versions} />`
    }
  </section>`;
}

function ShadowDifferences({
  shadow: { compared, different, differences },
  active,
  candidate,
}: {
  shadow: TrialCounts['shadow'];
  active: string;
  candidate: string;
}) {
  if (compared === 0)
    return html`<p class="faint">Nothing compared yet; the next verdicts are decided by both.</p>`;
  const columns = [...numbers('count'), `${active} → ${candidate}`, 'groups', 'sample orders'];
  return html`<p>
      <b class="num">${count(different)}</b> of <b class="num">${count(compared)}</b> verdicts differ:
      ${' '}${intervalText(shareOf(different, compared))}.
    </p>
    ${
      differences.length > 0 &&
      html`<${Table} name="Differences" columns=${columns}
        rows=${mergedByGroup(differences).map(({ change, times, groups, orders }) => [
          ...[count(times), change, groups.join(', '), html`<${SampleOrders} orders=${orders} />`],
        ])} />`
    }`;
}

/**
 * A change that does not touch the group is the same change for all groups: one row, with the groups'
 * counts.
 */
function mergedByGroup(differences: readonly Difference[]) {
  const rows = Map.groupBy(differences.map(apartFromGroup), ({ change }) => change);
  return [...rows]
    .map(([change, parts]) => ({
      change,
      times: parts.reduce((sum, part) => sum + part.count, 0),
      groups: parts.flatMap(({ group, count: times }) =>
        group === null ? [] : [`${group} ${count(times)}`],
      ),
      orders: parts.flatMap(({ sampleOrders }) => sampleOrders).slice(0, ORDERS_MAX),
    }))
    .toSorted((one, other) => other.times - one.times);
}

/** `difference`: like `WAIT/attempt-unpaid 30 s NEW -> WAIT/attempt-unpaid 40 s NEW`. */
function apartFromGroup({ change, count, sampleOrders }: Difference) {
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

/** The shares by clients, each with its interval: the verdicts of one client depend on each other. */
function Arms({
  arms,
  shares,
  breach,
  gains,
  active,
  candidate,
}: Pick<TrialCounts, 'arms' | 'shares' | 'breach' | 'gains'> & { active: string; candidate: string }) {
  const rows = [
    [active, 'active'],
    [candidate, 'candidate'],
  ] as const;
  const names = shares.map(({ name }) => name);
  const fates = ['paid', 'unpaid', 'unknown'] as const;
  const columns = [
    'version',
    ...numbers('verdicts', 'clients', ...names, ...fates.map((fate) => `clients ${fate}`)),
  ];
  return html`<${Table} name="Arms" columns=${columns}
      rows=${rows.map(([version, arm]) => [
        ...[html`<b>${version}</b>`, count(arms[arm].verdicts), count(arms[arm].clients.seen)],
        ...shares.map((one) => intervalText(one[arm])),
        ...fates.map((fate) => count(clientsBy(fate, arms[arm].clients))),
      ])} />
    <p class="faint">
      Shares of clients with 95 % intervals: each client counts once, by all of its verdicts at this
      percentage. Paid is of those of whom an outcome is known since then: who paid at least once, and
      not to take it back, against who only failed to.
    </p>
    ${breach !== null && html`<p class="bad">The guard takes it back: ${breach}.</p>`}
    ${gains.map((gain) => html`<p class="good">Better: ${gain}.</p>`)}`;
}

function clientsBy(
  fate: 'paid' | 'unpaid' | 'unknown',
  { seen, paid, unpaid }: TrialCounts['arms']['active']['clients'],
) {
  switch (fate) {
    case 'paid':
      return paid;
    case 'unpaid':
      return unpaid;
    case 'unknown':
      return Math.max(0, seen - paid - unpaid);
    default:
      return fate;
  }
}

/** What the versions on trial are worth, worked out when somebody asks, and the two ways to end the trial. */
export function ExperimentPart({
  rollout,
  session,
  propose,
}: {
  rollout: Rollout;
  session: Session;
  propose: (change: Proposal<Following>) => void;
}) {
  const [isAsked, setIsAsked] = useState(false);
  const answer = useAnswer(isAsked ? EXPERIMENT : null);
  const canaries = rollout.candidates.filter(({ mode }) => mode === 'canary');
  if (canaries.length === 0 || !may(session, 'rules')) return null;
  const work = () => setIsAsked(true);
  const worked = ({ notes, tables, trend }: Experiment) => html`
    <${Notes} notes=${notes} />
    ${trend.length > 0 && html`<${Trend} trend=${trend} />`}
    ${tables.map(
      (table) => html`<div key=${table.title}>
        <h3>${table.title}</h3>
        <${ShownTable} table=${table} />
      </div>`,
    )}`;
  return html`<section class="card">
    <h2>What they are worth</h2>
    ${
      isAsked
        ? answered(answer, worked)
        : html`<p>
            Orders, money, requisites and waits of the clients of each version, from the archive.
            <button type="button" onClick=${work}>Work it out</button>
          </p>`
    }
    ${
      may(session, 'operate') &&
      html`<div class="buttons">
        ${canaries.map(({ version }) => {
          const ends = { rollout, session, version };
          return html`
            <button type="button" class="button-accent" onClick=${() => propose(promoted(ends))}>
              Make ${version} active …
            </button>
            <button type="button" class="button-bad" onClick=${() => propose(takenBack(ends))}>
              End ${version} …
            </button>`;
        })}
      </div>`
    }
  </section>`;
}

/** How the difference to the active version went, from moment to moment, each as it was known then. */
function Trend({ trend }: Pick<Experiment, 'trend'>) {
  const [metric, setMetric] = useState('value');
  const metrics = [...new Set(trend.map((one) => one.metric))];
  const versions = [...new Set(trend.map((one) => one.version))];
  return html`<h3>How the differences went</h3>
    <${Choice} label="Of" chosen=${metric} values=${metrics} go=${setMetric} />
    ${versions.map((version) => html`<${TrendChart} key=${version} ...${{ trend, version, metric }} />`)}`;
}

function TrendChart({
  trend,
  version,
  metric,
}: Pick<Experiment, 'trend'> & { version: string; metric: string }) {
  const [at, series] = useMemo(() => {
    const seen = trend.filter((one) => one.version === version && one.metric === metric);
    const line = (name: string, figure: 'value' | 'low' | 'high') => ({
      ...{ name, color: figure === 'value' ? '--accent' : '--ink-faint' },
      values: seen.map((one) => 1000 * one[figure]),
      total: thousandths(1000 * (seen.at(-1)?.[figure] ?? 0)),
    });
    return [
      seen.map((one) => one.at),
      [line('from', 'low'), line('to', 'high'), line('difference', 'value')],
    ];
  }, [trend, version, metric]);
  const note = 'for each 1,000 clients; 95 % at all times together';
  const chart = { kind: 'interval', title: `${metric}: ${version}`, note, format: thousandths };
  return html`<${Chart} ...${chart} at=${at} series=${series} />`;
}

function thousandths(value: number) {
  return value.toFixed(1);
}

interface Ends {
  rollout: Rollout;
  session: Session;
  version: string;
}

function promoted({ rollout: { active, revision }, session, version }: Ends): Proposal<Following> {
  const body = { version, mode: 'active', reason: 'by the experiment', revision };
  let accepts = false;
  const accept = (event: InputEvent) => {
    accepts = event.currentTarget.checked;
  };
  const others = `${active.version} stays on the nodes; taking back returns to it.`;
  return {
    title: `Make ${version} active?`,
    action: `Make ${version} active`,
    act: () => ask('POST', ROLL_OUT, accepts ? { ...body, acceptDifference: true } : body),
    children: html`<p>It decides for everybody. ${others}</p>
      <${ChangedSince} before=${active.version} after=${version} />
      <label class="choice">
        <input type="checkbox" onChange=${accept} /> It may answer much otherwise than ${active.version}
      </label>
      <p>${recordedAs(session)}</p>`,
  };
}

function takenBack({ rollout: { active, revision }, session, version }: Ends): Proposal<Following> {
  const body = { version, reason: 'by the experiment', revision };
  return {
    title: `Take ${version} back?`,
    action: `Take ${version} back`,
    tone: 'bad',
    act: () => ask('POST', ROLL_BACK, body),
    children: html`<p>${active.version} decides for its clients; other candidates stay on trial.</p>
      <p>${recordedAs(session)}</p>`,
  };
}
