import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { Confirm } from '../../parts/change/confirm.js';
import { recordedAs, Typed } from '../../parts/change/second-look.js';
import { Field } from '../../parts/form.js';
import { forgetCopy } from '../../parts/rules/working-copy.js';
import { releaseOf } from '../../questions.js';

/**
 * @import { CheckedDraft, Session } from '../../answers.d.ts'
 * @import { InputEvent } from '../../parts/form.js'
 * @import { WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/**
 * @typedef {object} ReleaseProps
 * @property {WorkingCopy} copy
 * @property {CheckedDraft | null} checked
 * @property {Session} session
 * @property {boolean} mayOperate
 */

/** The last step, and one of its own: from then on the version never changes. @param {ReleaseProps} props */
export function Release({ copy, checked, session, mayOperate }) {
  const { version, replaces } = copy;
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [asking, setAsking] = useState(false);
  const missing = stillMissing(copy, checked, mayOperate);
  const type = (/** @type {InputEvent} */ event) => setReason(event.currentTarget.value);
  const isReady = missing.length === 0 && typed === version && reason.trim() !== '';
  const released = () => {
    forgetCopy(version);
    location.reload();
  };
  return html`<section class="card" aria-label="Release">
    <h2>Release it</h2>
    <p class="faint">
      A released version never changes, and may be rolled out: first as a shadow, then for a share of the
      clients. A draft can be shadowed without a release.
    </p>
    ${
      missing.length > 0
        ? html`<ul class="plain">
            ${missing.map((what) => html`<li>○ ${what}</li>`)}
          </ul>`
        : html`<div class="stack">
            <${Field} label="Reason for the release">
              <input value=${reason} maxlength="1000" onInput=${type} />
            <//>
            <${Typed} label=${`Type ${version} to confirm`} typed=${typed} setTyped=${setTyped} />
          </div>`
    }
    <div class="buttons">
      <button type="button" disabled=${!isReady} onClick=${() => setAsking(true)}>Release …</button>
    </div>
    ${
      asking &&
      html`<${Confirm}
        title=${`Release ${version} for good?`}
        action=${`Release ${version}`}
        act=${() => ask('POST', releaseOf(version), { digest: replaces, reason })}
        done=${released}
        cancel=${() => setAsking(false)}
      >
        <p>Its files never change from then on. Nobody is decided by it before it is rolled out.</p>
        <p class="faint">${recordedAs(session)}</p>
      <//>`
    }
  </section>`;
}

/**
 * @param {WorkingCopy} copy
 * @param {CheckedDraft | null} checked
 * @param {boolean} mayOperate
 * @returns {readonly string[]}
 */
function stillMissing({ version, saved }, checked, mayOperate) {
  if (version.includes('-'))
    return ['A version with a word in its name stays a draft. Go on under a name like p2.v11.'];
  if (!mayOperate) return ['It takes a key of the installation with operate.'];
  return [
    ...(checked?.problems.length === 0 ? [] : ['Mend its problems.']),
    ...(checked?.coverage?.failed === 0 ? [] : ['Let all its cases pass.']),
    ...(saved ? [] : ['Save it.']),
  ];
}
