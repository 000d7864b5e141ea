import { Refusal } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Field } from './form.js';
import { Trouble } from './notice.js';

/**
 * @import { Session } from '../answers.d.ts'
 * @import { ComponentChildren } from 'preact'
 * @import { InputEvent } from './form.js'
 */

/**
 * A change that somebody is about to make: `act` makes it and may throw a Refusal, which is shown.
 * @template T
 * @typedef {object} Proposal
 * @property {string} title
 * @property {string} action what stands on the button
 * @property {'accent' | 'bad'} [tone]
 * @property {() => Promise<T>} act
 * @property {ComponentChildren} children what the change does
 */

/**
 * Asks once more before something is changed, and says what; `done` gets the result of `act`.
 * @template T
 * @param {Proposal<T> & { done: (result: T) => void, cancel: () => void }} props
 */
export function Confirm({ title, action, tone = 'accent', act, done, cancel, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  // Gives the focus back to the button that asked; removing a dialog alone would not.
  const close = () => dialog.current?.close();
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      const result = await act();
      close();
      done(result);
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      setError(refusal);
      setBusy(false);
    }
  };
  const leave = () => {
    close();
    cancel();
  };
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onCancel=${leave}>
    <h2 id="confirm-title">${title}</h2>
    ${children} ${error && html`<${Trouble} error=${error} />`}
    <div class="buttons">
      <button type="button" class=${`button-${tone}`} disabled=${busy} onClick=${go}>
        ${busy ? 'Working …' : action}
      </button>
      <button type="button" onClick=${leave} disabled=${busy}>Cancel</button>
    </div>
  </dialog>`;
}

/**
 * A second look before a change: the version has to be typed.
 * @param {{ label: string, typed: string, setTyped: (typed: string) => void }} props
 */
export function Typed({ label, typed, setTyped }) {
  const type = (/** @type {InputEvent} */ event) => setTyped(event.currentTarget.value);
  return html`<${Field} label=${label}>
    <input value=${typed} autocomplete="off" spellcheck="false" onInput=${type} />
  <//>`;
}

/**
 * Under whose name a change is recorded.
 * @param {Session} session
 */
export function recordedAs({ who }) {
  return `The history names ${who}, and the reason.`;
}
