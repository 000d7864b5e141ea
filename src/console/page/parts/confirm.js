import { html, useEffect, useRef, useState } from '../html.js';
import { Field, typedInto } from './form.js';
import { useAttempt } from './notice.js';

/**
 * @import { Session } from '../answers.d.ts'
 * @import { ComponentChildren } from 'preact'
 */

/**
 * A change that somebody is about to make: `act` makes it and may be refused, which is shown.
 * @template T
 * @typedef {object} Proposal
 * @property {string} title
 * @property {string} action what stands on the button
 * @property {'accent' | 'bad'} [tone]
 * @property {() => Promise<T>} act
 * @property {ComponentChildren} children what the change does
 */

/**
 * The changes of a page: `propose` asks once more before one is made, where `dialog` stands; `done` gets its
 * result.
 * @template T
 * @param {(result: T) => void} done
 */
export function useProposal(done) {
  const [proposal, propose] = useState(/** @type {Proposal<T> | null} */ (null));
  const close = () => propose(null);
  const finish = (/** @type {T} */ result) => {
    close();
    done(result);
  };
  return { propose, dialog: proposal && html`<${Confirm} ...${proposal} done=${finish} cancel=${close} />` };
}

/**
 * @template T
 * @param {Proposal<T> & { done: (result: T) => void, cancel: () => void }} props
 */
function Confirm({ title, action, tone = 'accent', act, done, cancel, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const { attempt, isBusy, trouble } = useAttempt();
  useEffect(() => dialog.current?.showModal(), []);
  // Gives the focus back to the button that asked; removing a dialog alone would not.
  const close = () => dialog.current?.close();
  const go = () =>
    attempt(async () => {
      const result = await act();
      close();
      done(result);
    });
  const leave = () => {
    close();
    cancel();
  };
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onCancel=${leave}>
    <h2 id="confirm-title">${title}</h2>
    ${children} ${trouble}
    <div class="buttons">
      <button type="button" class=${`button-${tone}`} disabled=${isBusy} onClick=${go}>
        ${isBusy ? 'Working …' : action}
      </button>
      <button type="button" onClick=${leave} disabled=${isBusy}>Cancel</button>
    </div>
  </dialog>`;
}

/**
 * A second look before a change: the version has to be typed.
 * @param {{ label: string, typed: string, setTyped: (typed: string) => void }} props
 */
export function Typed({ label, typed, setTyped }) {
  return html`<${Field} label=${label}>
    <input value=${typed} autocomplete="off" spellcheck="false" onInput=${typedInto(setTyped)} />
  <//>`;
}

/** Under whose name a change is recorded. @param {Session} session */
export function recordedAs({ who }) {
  return `The history names ${who}, and the reason.`;
}
