import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { recordedAs, Typed } from '../../parts/change/second-look.js';
import { Field, formValues } from '../../parts/form.js';
import { ROLL_BACK } from '../../questions.js';

/**
 * @import { Rollout, Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { Previous, Propose } from './rollout.js'
 */

/** @param {{ rollout: Rollout, previous: Previous, session: Session, propose: Propose }} props */
export function TakeBack({ rollout, previous, session, propose }) {
  const [typed, setTyped] = useState('');
  const taken = takenBack(rollout, previous);
  if (taken === null)
    return html`<p class="faint">There is no candidate and no earlier version to return to.</p>`;
  const { version, meaning } = taken;
  const submit = (/** @type {FormEvent} */ event) => {
    const { reason } = formValues(event);
    propose({
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: () => ask('POST', ROLL_BACK, { reason, revision: rollout.revision }),
      children: html`<p>${meaning}</p><p>${recordedAs(session)}</p><p>Reason: ${reason}</p>`,
    });
  };
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
 * What a rollback would take back, and what follows from it; null when there is nothing to return to.
 * @param {Rollout} rollout
 * @param {Previous} previous
 */
function takenBack({ active, candidate }, previous) {
  if (candidate !== null) {
    const { mode, version } = candidate;
    const meaning = `The ${mode} of ${version} ends; ${active.version} decides for everybody.`;
    return { version, meaning };
  }
  if (previous === null) return null;
  return { version: active.version, meaning: `${previous.version} decides for everybody again.` };
}
