import { isAllowed } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import type { PlannedChange } from '#workbench/console/page/parts/confirm.ts';
import {
  formatCount,
  formatDateTime,
  groupDigits,
  shortenDigest,
} from '#workbench/console/page/parts/format.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { renderEmpty, UnreadableRollout } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import type {
  ChangedRollout,
  NodeReport,
  Rollout,
  RolloutStatus,
  Session,
  TrialCounts,
} from '#workbench/console/page/questions.ts';
import { RollBackButtons } from './roll-back-buttons.ts';

type Candidate = Rollout['candidates'][number];

/** Shows which versions decide and which are on trial, with buttons that roll them back. */
export function renderDecidingVersions(
  { rollout, unreadable, trials, previous }: RolloutStatus,
  session: Session,
  propose: (change: PlannedChange<ChangedRollout>) => void,
) {
  if (unreadable) return h(UnreadableRollout, {});
  if (rollout === null)
    return renderEmpty('No version decides yet', 'Start a node; the first start chooses the first version.');
  const { active, candidates } = rollout;
  return html`<section class="versions">
    <h2 class="only-read">Versions</h2>
    <div>
      <a href=${toVersionPath(active.version)}><b>${active.version}</b></a>${' '}
      ${renderPill('active', 'good')}
    </div>
    ${candidates.map((one) =>
      renderCandidate(
        one,
        trials.find(({ version }) => version === one.version),
      ),
    )}
    ${isAllowed(session, 'operate') && h(RollBackButtons, { rollout, previous, session, propose })}
  </section>`;
}

function renderCandidate(candidate: Candidate, trial: TrialCounts | undefined) {
  return html`<div>
    <a href="#/rollouts"><b>${candidate.version}</b></a>${' '}
    ${renderPill(candidate.mode === 'canary' ? `canary ${candidate.percent} %` : candidate.mode, 'note')}
    ${trial && html` <span class="faint">${describeTrial(candidate, trial)}</span>`}
    ${
      candidate.mode === 'canary' &&
      (candidate.guardPoints === null
        ? html` ${renderPill('no guard', 'note')}`
        : html` ${renderPill(`guard at ${candidate.guardPoints} points`, 'good')}`)
    }
  </div>`;
}

function describeTrial({ mode }: Candidate, { shadow, arms, candidateErrors }: TrialCounts) {
  const errors = candidateErrors === 0 ? '' : `, threw ${groupDigits(candidateErrors)} times`;
  return mode === 'shadow'
    ? `${groupDigits(shadow.different)} of ${formatCount(shadow.compared, 'verdict')} differ${errors}`
    : `${formatCount(arms.candidate.verdicts, 'verdict')}${errors}`;
}

/** Renders a paragraph if nodes have trouble. Returns an empty array if they have none. */
export function renderNodeTrouble({ nodes, rollout }: RolloutStatus) {
  if (nodes === null) return [];
  if (nodes.length === 0)
    return [html`<p>No node has reported for 10 s: look at the logs of the nodes, and at the store.</p>`];
  const ill = nodes.filter(
    ({ trouble, hasStaleLists, revision }) =>
      trouble !== null || hasStaleLists === true || revision !== (rollout?.revision ?? revision),
  );
  if (ill.length === 0) return [];
  const need = ill.length === 1 ? 'needs' : 'need';
  return [
    html`<p>
      ${ill.length} of ${formatCount(nodes.length, 'node')} ${need} help: the table below says why.
    </p>`,
  ];
}

/** Lists the nodes, and whether they follow the rollout. */
export function renderNodesTable({ rollout, nodes }: RolloutStatus) {
  if (nodes === null) return null;
  return html`<section class="card">
    <h2>Nodes</h2>
    ${renderTable({ name: 'Nodes', columns: COLUMNS }, nodes, (node) => renderCells(node, rollout))}
  </section>`;
}

const COLUMNS = [
  'node',
  'state',
  ...declareColumns('when', 'revision'),
  'versions',
  ...declareColumns('when', 'seen'),
];

function renderCells(
  { host, pid, trouble, revision, versions, refused, seenAt, hasStaleLists }: NodeReport,
  rollout: Rollout | null,
) {
  return [
    html`<b>${host}</b>/<span class="num">${pid}</span>`,
    html`${trouble === null ? renderPill('follows', 'good') : html`<span class="bad">${trouble}</span>`}
      ${hasStaleLists === true && renderPill('old shared lists', 'bad')}`,
    `${revision} of ${rollout?.revision ?? '–'}`,
    html`<ul class="plain">
      ${versions.map(
        ({ version, digest, released }) => html`<li>
          ${version} <code>${shortenDigest(digest)}</code> ${!released && renderPill('draft')}
        </li>`,
      )}
      ${refused.map(({ version }) => html`<li>${version} ${renderPill('refused', 'bad')}</li>`)}
    </ul>`,
    formatDateTime(seenAt),
  ];
}
