import { html } from '../../html.js';
import { count, shortDigest } from '../../parts/format.js';
import { Empty, UnreadableRollout } from '../../parts/notice.js';
import { Pill } from '../../parts/verdict.js';

/**
 * @import { Rollout, RolloutStatus, TrialCounts } from '../../answers.d.ts'
 * @typedef {NonNullable<Rollout['candidate']>} Candidate
 */

/** @param {{ status: RolloutStatus }} props */
export function Deciding({ status: { rollout, unreadable, trial } }) {
  if (unreadable) return html`<${UnreadableRollout} />`;
  if (rollout === null)
    return html`<${Empty} title="No version decides yet">
      Start a node; the first start chooses the first version.
    <//>`;
  const { active, candidate } = rollout;
  return html`<section class="card deciding">
    <div>
      <span class="faint">active</span>${' '}
      <a href=${`#/rules/${active.version}`}><b>${active.version}</b></a>${' '}
      <code>${shortDigest(active.digest)}</code>
    </div>
    ${
      candidate === null
        ? html`<div class="faint">no candidate</div>`
        : html`<${OnTrial} candidate=${candidate} trial=${trial} />`
    }
  </section>`;
}

/** @param {{ candidate: Candidate, trial: TrialCounts | null }} props */
function OnTrial({ candidate, trial }) {
  return html`<div>
      <span class="faint">${candidate.mode}</span> <a href="#/rollout"><b>${candidate.version}</b></a>
      ${candidate.mode === 'canary' && html` <span class="num">${candidate.percent} %</span>`}
      ${trial && html` <span class="faint">${trialText(candidate, trial)}</span>`}
    </div>
    <div><span class="faint">guard</span> ${guardText(candidate)}</div>`;
}

/**
 * @param {Candidate} candidate
 * @param {TrialCounts} trial
 */
function trialText({ mode }, { shadow, arms, candidateErrors }) {
  const errors = candidateErrors === 0 ? '' : `, threw ${count(candidateErrors)} times`;
  return mode === 'shadow'
    ? `${count(shadow.different)} of ${count(shadow.compared)} differ${errors}`
    : `decided ${count(arms.candidate.verdicts)}${errors}`;
}

/** @param {Candidate} candidate */
function guardText({ mode, guardPoints }) {
  if (mode === 'shadow') return html`<${Pill}>not needed<//>`;
  return guardPoints === null
    ? html`<${Pill} tone="note">off<//>`
    : html`<${Pill} tone="good">on, ${guardPoints} points<//>`;
}
