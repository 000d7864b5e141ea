import { ask, may, useAnswer } from '../api.js';
import { html, useMemo, useState } from '../html.js';
import { Chart } from '../parts/chart.js';
import { recordedAs } from '../parts/confirm.js';
import { ChangedSince } from '../parts/differences.js';
import { intervalText, Notes, ShownTable } from '../parts/evidence.js';
import { Choice } from '../parts/form.js';
import { count, shareOf } from '../parts/format.js';
import { SampleOrders } from '../parts/links.js';
import { answered } from '../parts/notice.js';
import { numbers, Table } from '../parts/table.js';
import { GROUPS } from '../parts/verdict.js';
import { EXPERIMENT, ROLL_BACK, ROLL_OUT } from '../questions.js';

/**
 * @import { Experiment, Following, Rollout, Session, TrialCounts } from '../answers.d.ts'
 * @import { Proposal } from '../parts/confirm.js'
 * @import { InputEvent } from '../parts/form.js'
 */

/**
 * @typedef {Rollout['candidates'][number]} Candidate
 * @typedef {TrialCounts['shadow']['differences'][number]} Difference
 */

/** Names of the groups with which a change may end. @type {readonly string[]} */
const GROUP_NAMES = GROUPS.map(({ name }) => name);

const ORDERS_MAX = 5;

/** @param {{ rollout: Rollout, trial: TrialCounts }} props */
export function Trial({
  rollout: { active, candidates },
  trial: { version, arms, shares, breach, gains, shadow, candidateErrors },
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

/** @param {{ shadow: TrialCounts['shadow'], active: string, candidate: string }} props */
function ShadowDifferences({ shadow: { compared, different, differences }, active, candidate }) {
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
 * A change that does not touch the group is the same change for all groups: one row, with the groups' counts.
 * @param {readonly Difference[]} differences
 */
function mergedByGroup(differences) {
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

/** @param {Difference} difference like `WAIT/attempt-unpaid 30 s NEW -> WAIT/attempt-unpaid 40 s NEW` */
function apartFromGroup({ change, count, sampleOrders }) {
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
 * The shares by clients, each with its interval: the verdicts of one client depend on each other.
 * @param {Pick<TrialCounts, 'arms' | 'shares' | 'breach' | 'gains'> &
 *   { active: string, candidate: string }} props
 */
function Arms({ arms, shares, breach, gains, active, candidate }) {
  const rows = /** @type {const} */ ([
    [active, 'active'],
    [candidate, 'candidate'],
  ]);
  const names = shares.map(({ name }) => name);
  const fates = /** @type {const} */ (['paid', 'unpaid', 'unknown']);
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

/** @param {'paid' | 'unpaid' | 'unknown'} fate @param {TrialCounts['arms']['active']['clients']} clients */
function clientsBy(fate, { seen, paid, unpaid }) {
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

/**
 * What the versions on trial are worth, worked out when somebody asks, and the two ways to end the trial.
 * @param {{
 *   rollout: Rollout, session: Session, propose: (change: Proposal<Following>) => void,
 * }} props
 */
export function ExperimentPart({ rollout, session, propose }) {
  const [isAsked, setIsAsked] = useState(false);
  const answer = useAnswer(isAsked ? EXPERIMENT : null);
  const canaries = rollout.candidates.filter(({ mode }) => mode === 'canary');
  if (canaries.length === 0 || !may(session, 'rules')) return null;
  const work = () => setIsAsked(true);
  const worked = (/** @type {Experiment} */ { notes, tables, trend }) => html`
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

/**
 * How the difference to the active version went, from moment to moment, each as it was known then.
 * @param {Pick<Experiment, 'trend'>} props
 */
function Trend({ trend }) {
  const [metric, setMetric] = useState('value');
  const metrics = [...new Set(trend.map((one) => one.metric))];
  const versions = [...new Set(trend.map((one) => one.version))];
  return html`<h3>How the differences went</h3>
    <${Choice} label="Of" chosen=${metric} values=${metrics} go=${setMetric} />
    ${versions.map((version) => html`<${TrendChart} key=${version} ...${{ trend, version, metric }} />`)}`;
}

/** @param {Pick<Experiment, 'trend'> & { version: string, metric: string }} props */
function TrendChart({ trend, version, metric }) {
  const [at, series] = useMemo(() => {
    const seen = trend.filter((one) => one.version === version && one.metric === metric);
    const line = (/** @type {string} */ name, /** @type {'value' | 'low' | 'high'} */ figure) => ({
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

/** @param {number} value */
function thousandths(value) {
  return value.toFixed(1);
}

/** @typedef {{ rollout: Rollout, session: Session, version: string }} Ends */

/** @param {Ends} ends @returns {Proposal<Following>} */
function promoted({ rollout: { active, revision }, session, version }) {
  const body = { version, mode: 'active', reason: 'by the experiment', revision };
  let accepts = false;
  const accept = (/** @type {InputEvent} */ event) => {
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

/** @param {Ends} ends @returns {Proposal<Following>} */
function takenBack({ rollout: { active, revision }, session, version }) {
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
