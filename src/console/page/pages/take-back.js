import { ask } from '../api.js';
import { html, useState } from '../html.js';
import { recordedAs, Typed } from '../parts/confirm.js';
import { Field, sent } from '../parts/form.js';
import { ROLL_BACK } from '../questions.js';

/**
 * @import { Following, Rollout, RolloutStatus, Session } from '../answers.d.ts'
 * @import { Proposal } from '../parts/confirm.js'
 */

/** @typedef {(change: Proposal<Following>) => void} Propose */

/** @typedef {RolloutStatus['previous']} Previous */

/**
 * What may be taken back, each by a form of its own.
 * @param {{ rollout: Rollout, previous: Previous, session: Session, propose: Propose }} props
 */
export function TakeBack({ rollout, previous, session, propose }) {
  const taken = takenBack(rollout, previous);
  if (taken.length === 0)
    return html`<p class="faint">There is no candidate and no earlier version to return to.</p>`;
  return taken.map(
    (one) => html`<${TakeOneBack} key=${one.version} ...${{ ...one, rollout, session, propose }} />`,
  );
}

/**
 * @param {ReturnType<typeof takenBack>[number] & {
 *   rollout: Rollout, session: Session, propose: Propose,
 * }} props
 */
function TakeOneBack({ version, meaning, isCandidate, rollout, session, propose }) {
  const [typed, setTyped] = useState('');
  const { revision } = rollout;
  const submit = sent(({ reason }) =>
    propose({
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: () => ask('POST', ROLL_BACK, { ...(isCandidate && { version }), reason, revision }),
      children: html`<p>${meaning}</p><p>${recordedAs(session)}</p><p>Reason: ${reason}</p>`,
    }),
  );
  return html`<p>${meaning} <span class="faint">${recordedAs(session)}</span></p>
    <form class="filters" onSubmit=${submit}>
      <${Field} label="Reason for taking it back"><input name="reason" required maxlength="1000" /><//>
      <${Typed} label=${`Type ${version} to take it back`} typed=${typed} setTyped=${setTyped} />
      <div class="buttons">
        <button type="submit" class="button-bad" disabled=${typed !== version}>Take back …</button>
      </div>
    </form>`;
}

/**
 * What may be taken back, and what follows from it: each candidate, or without one the active version.
 * @param {Rollout} rollout
 * @param {Previous} previous
 */
function takenBack({ active, candidates }, previous) {
  const whom = candidates.length > 1 ? 'its clients' : 'everybody';
  if (candidates.length > 0)
    return candidates.map(({ mode, version }) => {
      const meaning = `The ${mode} of ${version} ends; ${active.version} decides for ${whom}.`;
      return { version, meaning, isCandidate: true };
    });
  if (previous === null) return [];
  const meaning = `${previous.version} decides for everybody again.`;
  return [{ version: active.version, meaning, isCandidate: false }];
}
