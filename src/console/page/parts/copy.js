import { html, useRef, useState } from '../html.js';

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
