import { may, useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Confirm } from '../../parts/change/confirm.js';
import { counted, dateTime, shortDigest, versionAfter } from '../../parts/format.js';
import { Answered, Empty, UnreadableRollout } from '../../parts/notice.js';
import { Table } from '../../parts/table.js';
import { Figures, Pill } from '../../parts/verdict.js';
import { ROLLOUT_STATUS, RULE_FOLDERS } from '../../questions.js';
import { BringIn } from './bring-in.js';
import { TakeBack } from './take-back.js';
import { Trial } from './trial.js';

/**
 * @import { Following, Rollout, RolloutStatus, RuleFolderList, Session } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @import { Tone } from '../../parts/verdict.js'
 */

/** Somebody is about to change the rollout. @typedef {(change: Proposal<Following>) => void} Propose */

/** @typedef {RolloutStatus['previous']} Previous */

const EVERY_MS = 5_000;

/**
 * Which version decides, how a trial goes, and the ways to change both.
 * @param {PageProps} props
 */
export function RolloutPage({ session }) {
  const status = useAnswer(ROLLOUT_STATUS, EVERY_MS);
  const folders = useAnswer(RULE_FOLDERS);
  const [change, setChange] = useState(/** @type {Proposal<Following> | null} */ (null));
  const [told, setTold] = useState(/** @type {string | null} */ (null));
  const propose = (/** @type {Proposal<Following>} */ next) => {
    setTold(null);
    setChange(next);
  };
  const done = (/** @type {Following} */ following) => {
    setChange(null);
    setTold(followingText(following));
    status.reload();
  };
  const shown = (/** @type {RolloutStatus} */ { rollout, unreadable, trial, previous }) => {
    if (unreadable) return html`<${UnreadableRollout} />`;
    if (rollout === null)
      return html`<${Empty} title="No version decides yet">
        Start a node; the first start chooses the first version.
      <//>`;
    const changes = { rollout, previous, session, versions: folders.data?.versions ?? [], propose };
    return html`
      ${told && html`<p class="notice notice-good" role="status">${told}</p>`}
      <${Deciding} rollout=${rollout} />
      ${trial && html`<${Trial} rollout=${rollout} trial=${trial} />`}
      ${may(session, 'operate') ? html`<${Changes} ...${changes} />` : html`<${OnlyOperators} />`}
      <${History} history=${rollout.history} />
      ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}`;
  };
  return html`<${Answered} answer=${status}>${shown}<//>`;
}

function OnlyOperators() {
  return html`<${Empty} title="This key may look, and change nothing">
    Rolling out and taking back concern all platforms, so they need a key of the installation with the
    operation operate: <code>npx scoring keys issue --platform '*' --operations rules,operate</code>
  <//>`;
}

/** @param {Following} following */
function followingText({ following, lagging }) {
  const all = following.length + lagging.length;
  return lagging.length === 0
    ? `Done: ${all} of ${all} nodes follow.`
    : `Written, but ${lagging.length} of ${counted(all, 'node')} do not follow yet; see the page Now.`;
}

/** @param {{ rollout: Rollout }} props */
function Deciding({ rollout: { active, candidate, revision } }) {
  const figures = [['active', versionLink(active)]];
  if (candidate !== null) {
    const { mode, percent, guardPoints, since } = candidate;
    const guard = guardPoints === null ? 'off' : `${guardPoints} points`;
    figures.push(
      [mode, versionLink(candidate)],
      ['share of clients', mode === 'canary' ? `${percent} %` : 'none, only compared'],
      ['guard', mode === 'canary' ? guard : 'not needed'],
      ['since', dateTime(since)],
    );
  }
  return html`<section class="card">
    <h2>Deciding now ${candidate === null && html`<${Pill}>no candidate<//>`}</h2>
    <${Figures} items=${[...figures, ['revision', revision]]} />
  </section>`;
}

/** @param {{ version: string, digest: string }} ref */
function versionLink({ version, digest }) {
  return html`<a href=${`#/rules/${version}`}>${version}</a>${' '}<code>${shortDigest(digest)}</code>`;
}

/**
 * @param {{
 *   rollout: Rollout, previous: Previous, session: Session, versions: RuleFolderList['versions'],
 *   propose: Propose,
 * }} props
 */
function Changes({ rollout, previous, session, versions, propose }) {
  const { active } = rollout;
  const others = versions.filter(({ sound, version }) => sound && version !== active.version);
  const made = `npx scoring rules new ${versionAfter(active.version)} --from ${active.version}`;
  const change = { rollout, session, propose };
  return html`
    <section class="card">
      <h2>Bring a version in</h2>
      ${
        others.length === 0
          ? html`<${Empty} title="No other sound version">
              Make one by: <code>${made}</code>. Nodes pick up the folder by themselves.
            <//>`
          : html`<${BringIn} ...${change} others=${others} />`
      }
    </section>
    <section class="card"><h2>Take back</h2><${TakeBack} ...${change} previous=${previous} /></section>`;
}

/** @param {{ history: Rollout['history'] }} props */
function History({ history }) {
  return html`<section class="card">
    <h2>History</h2>
    <${Table} name="History" columns=${['time', 'what', 'version', 'who', 'reason']}>
      ${history.toReversed().map((entry) => html`<${HistoryRow} ...${entry} />`)}
    <//>
  </section>`;
}

/** @param {Rollout['history'][number]} entry */
function HistoryRow({ at, action, from, to, percent, who, reason }) {
  return html`<tr>
    <td class="num">${dateTime(at)}</td>
    <td>
      <${Pill} tone=${toneOf(action)}>${action}<//>
      ${percent !== undefined && html` <span class="num">${percent} %</span>`}
    </td>
    <td class="when">${from === null || from === to ? to : `${from} → ${to}`}</td>
    <td>${who}</td>
    <td class="wide">${reason}</td>
  </tr>`;
}

/**
 * @param {Rollout['history'][number]['action']} action
 * @returns {Tone}
 */
function toneOf(action) {
  if (action === 'rollback' || action === 'guard') return 'bad';
  return action === 'active' || action === 'start' ? 'good' : 'note';
}
