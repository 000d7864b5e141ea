import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { recordedAs, Typed } from '../../parts/change/second-look.js';
import { Field, formValues } from '../../parts/form.js';
import { ROLL_BACK } from '../../questions.js';

/**
 * @import { Rollout, Session } from '../../answers.d.ts'
 * @import { FormEvent } from '../../parts/form.js'
 * @import { Propose } from './rollout.js'
 */

/** @param {{ rollout: Rollout, session: Session, propose: Propose }} props */
export function TakeBack({ rollout, session, propose }) {
  const [typed, setTyped] = useState('');
  const taken = takenBack(rollout);
  if (taken === null)
    return html`<p class="faint">There is no candidate and no earlier version to return to.</p>`;
  const { version, meaning } = taken;
  const submit = (/** @type {FormEvent} */ event) => {
    const { reason } = formValues(event);
    propose({
      title: `Take ${version} back?`,
      action: `Take ${version} back`,
      tone: 'bad',
      act: () => ask('POST', ROLL_BACK, { reason }),
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
 */
function takenBack({ active, candidate, history }) {
  if (candidate !== null) {
    const { mode, version } = candidate;
    const meaning = `The ${mode} of ${version} ends; ${active.version} decides for everybody.`;
    return { version, meaning };
  }
  const before = history.findLast(
    ({ action, to }) => (action === 'active' || action === 'start') && to !== active.version,
  );
  if (before === undefined) return null;
  return { version: active.version, meaning: `${before.to} decides for everybody again.` };
}
