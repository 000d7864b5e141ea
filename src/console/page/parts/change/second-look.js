import { html } from '../../html.js';
import { Field } from '../form.js';

/**
 * @import { Session } from '../../answers.d.ts'
 * @import { InputEvent } from '../form.js'
 */

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
