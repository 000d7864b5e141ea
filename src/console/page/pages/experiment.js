import { ask, may, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { recordedAs } from '../parts/change/second-look.js';
import { Notes, ShownTable } from '../parts/evidence/shown.js';
import { Answered } from '../parts/notice.js';
import { ChangedSince } from '../parts/rules/differences.js';
import { EXPERIMENT, ROLL_BACK, ROLL_OUT } from '../questions.js';

/**
 * @import { Experiment, Following, Rollout, Session } from '../answers.d.ts'
 * @import { Proposal } from '../parts/change/confirm.js'
 * @import { InputEvent } from '../parts/form.js'
 */

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
  return html`<section class="card">
    <h2>What they are worth</h2>
    ${
      isAsked
        ? html`<${Answered} answer=${answer}>
            ${(/** @type {Experiment} */ { notes, tables }) => html`
              <${Notes} notes=${notes} />
              ${tables.map(
                (table) => html`<div key=${table.title}>
                  <h3>${table.title}</h3>
                  <${ShownTable} table=${table} />
                </div>`,
              )}`}
          <//>`
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

/** @typedef {{ rollout: Rollout, session: Session, version: string }} Ends */

/**
 * @param {Ends} ends
 * @returns {Proposal<Following>}
 */
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

/**
 * @param {Ends} ends
 * @returns {Proposal<Following>}
 */
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
