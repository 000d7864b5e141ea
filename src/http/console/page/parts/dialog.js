import { html, useEffect, useRef, useState } from '../html.js';
import { Trouble } from './notice.js';

/**
 * Asks once more before something is changed, and says what. `act` does it and may throw a Refusal,
 * which is shown; after it `done` is called.
 */
export function Confirm({ title, action, tone = 'accent', act, done, cancel, children }) {
  const dialog = useRef(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      done(await act());
    } catch (refusal) {
      setError(refusal);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onCancel=${cancel}>
    <h2 id="confirm-title">${title}</h2>
    ${children}
    ${error && html`<${Trouble} error=${error} />`}
    <div class="buttons">
      <button type="button" class=${`button-${tone}`} disabled=${busy} onClick=${go}>
        ${busy ? 'Working …' : action}
      </button>
      <button type="button" onClick=${cancel} disabled=${busy}>Cancel</button>
    </div>
  </dialog>`;
}

/** A labelled field; `hint` says what belongs into it. */
export function Field({ label, hint, children }) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>`;
}

/** The values of a form by name, without those left empty. */
export function formValues(event) {
  event.preventDefault();
  const entries = [...new FormData(event.currentTarget)].filter(([, value]) => value !== '');
  return Object.fromEntries(entries);
}
