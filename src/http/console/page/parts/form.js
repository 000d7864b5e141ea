import { html } from '../html.js';

/** @import { ComponentChildren } from '../packages/preact.js' */

/** A form was sent. @typedef {Event & { readonly currentTarget: HTMLFormElement }} FormEvent */
/** Something else was chosen. @typedef {Event & { readonly currentTarget: HTMLSelectElement }} ChoiceEvent */
/** Something was typed or picked. */
/** @typedef {Event & { readonly currentTarget: HTMLInputElement }} InputEvent */

/**
 * A labelled field; `hint` says what belongs into it.
 * @param {{ label: string, hint?: string, children: ComponentChildren }} props
 */
export function Field({ label, hint, children }) {
  return html`<label class="field">
    <span>${label}</span>${children}${hint && html`<small>${hint}</small>`}
  </label>`;
}

/**
 * The values of a form by name, without those left empty. The form is not sent anywhere.
 * @param {FormEvent} event
 * @returns {Record<string, string>}
 */
export function formValues(event) {
  event.preventDefault();
  const entries = [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [/** @type {const} */ ([name, value])] : [],
  );
  return Object.fromEntries(entries);
}
