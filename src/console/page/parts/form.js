import { html, useRef, useState } from '../html.js';

/** @import { ComponentChildren } from 'preact' */

/** Something was typed or picked. */
/** @typedef {Event & { readonly currentTarget: HTMLInputElement }} InputEvent */

/** Hears what stands in a field now. @param {(text: string) => void} take */
export function typedInto(take) {
  return (/** @type {{ currentTarget: { value: string } }} */ event) => take(event.currentTarget.value);
}

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
 * A labelled choice of words, or of values with other words for them; `any` is the label for none of them.
 * @param {{
 *   label: string, hint?: string, name?: string, chosen?: string | null | undefined,
 *   values: readonly (string | readonly [value: string, words: string])[], any?: string,
 *   go?: (value: string) => void,
 * }} props
 */
export function Choice({ label, hint, name, chosen, values, any, go }) {
  return html`<${Field} label=${label} hint=${hint}>
    <select name=${name} onChange=${go && typedInto(go)}>
      ${any && html`<option value="">${any}</option>`}
      ${values.map((one) => {
        const [value, words] = typeof one === 'string' ? [one, one] : one;
        return html`<option key=${value} value=${value} selected=${value === chosen}>${words}</option>`;
      })}
    </select>
  <//>`;
}

/**
 * Hears the values of a form by name, without those left empty. The form is not sent anywhere.
 * @param {(values: Record<string, string>) => void} take
 */
export function sent(take) {
  return (/** @type {Event & { readonly currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const entries = [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' ? [/** @type {const} */ ([name, value])] : [],
    );
    take(Object.fromEntries(entries));
  };
}

/** Leads to another place of the page. @param {string} address after its hash */
export function goTo(address) {
  location.hash = address;
}

/**
 * The last day of something that may end by itself.
 * @param {{ otherwise: string }} props what it means to leave it empty, like "until it is removed"
 */
export function LastDay({ otherwise }) {
  return html`<${Field} label="Last day" hint=${`Counts whole, by this browser's clock. Empty: ${otherwise}`}>
    <input name="lastDay" type="date" min=${localDate(new Date())} />
  <//>`;
}

/**
 * When something with a given last day ends, for a request and in words.
 * @param {string | undefined} lastDay like 2026-12-31
 * @param {string} otherwise what it means to have none
 * @returns {{ readonly expires: { readonly expiresAt?: string }, readonly howLong: string }}
 */
export function endAfter(lastDay, otherwise) {
  if (lastDay === undefined) return { expires: {}, howLong: `, ${otherwise}` };
  const end = new Date(`${lastDay}T00:00`);
  end.setDate(end.getDate() + 1);
  return { expires: { expiresAt: end.toISOString() }, howLong: ` to the end of ${lastDay}` };
}

/** @param {Date} time */
function localDate(time) {
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

/**
 * A text to take along, with a button that copies it.
 * @param {{ label: string, text: string }} props `label` like "Link", which the button then names
 */
export function Copy({ label, text }) {
  const field = useRef(/** @type {HTMLInputElement | HTMLTextAreaElement | null} */ (null));
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Without the right to write to the clipboard the text stays selected, to be copied by hand.
      setCopied(false);
    }
  };
  const lines = text.split('\n').length;
  return html`<div class="copy">
    <label>
      <span class="faint">${label}</span>
      ${
        lines === 1
          ? html`<input ref=${field} readonly value=${text} />`
          : html`<textarea ref=${field} readonly rows=${lines + 1} value=${text}></textarea>`
      }
    </label>
    <button type="button" onClick=${copy}>${copied ? 'Copied' : `Copy ${label.toLowerCase()}`}</button>
  </div>`;
}
