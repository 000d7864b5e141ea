import { html } from '../html.js';
import { intervalText } from '../parts/evidence/orders.js';
import { shareOf } from '../parts/evidence/share-of.js';
import { count } from '../parts/format.js';
import { SampleOrders } from '../parts/links.js';
import { numbers, Table } from '../parts/table.js';
import { GROUPS } from '../parts/verdict.js';

/**
 * @import { Rollout, TrialCounts } from '../answers.d.ts'
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
      html`<${Table} name="Differences" columns=${columns}>
        ${mergedByGroup(differences).map(
          ({ change, times, groups, orders }) => html`<tr>
            <td class="num">${count(times)}</td>
            <td>${change}</td>
            <td>${groups.join(', ')}</td>
            <td><${SampleOrders} orders=${orders} /></td>
          </tr>`,
        )}
      <//>`
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
  return html`<${Table} name="Arms" columns=${columns}>
      ${rows.map(
        ([version, arm]) => html`<tr>
          <td><b>${version}</b></td>
          <td class="num">${count(arms[arm].verdicts)}</td>
          <td class="num">${count(arms[arm].clients.seen)}</td>
          ${shares.map((one) => html`<td class="num">${intervalText(one[arm])}</td>`)}
          ${fates.map((fate) => html`<td class="num">${count(clientsBy(fate, arms[arm].clients))}</td>`)}
        </tr>`,
      )}
    <//>
    <p class="faint">
      Shares of clients with 95 % intervals: each client counts once, by all of its verdicts at this
      percentage. Paid is of those of whom an outcome is known since then: who paid at least once, and
      not to take it back, against who only failed to.
    </p>
    ${breach !== null && html`<p class="bad">The guard takes it back: ${breach}.</p>`}
    ${gains.map((gain) => html`<p class="good">Better: ${gain}.</p>`)}`;
}

/**
 * @param {'paid' | 'unpaid' | 'unknown'} fate
 * @param {TrialCounts['arms']['active']['clients']} clients
 */
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
