import { html } from '../html.js';

/** @import { ComponentChildren } from '../packages/preact.js' */

/** The head of a column; one of numbers stands at the right. */
/** @typedef {string | { readonly name: string, readonly kind: 'num' | 'roomy' }} Column */

/**
 * A table that scrolls sideways where it is too wide, also with the keyboard.
 * @param {{ name: string, columns: readonly Column[], kind?: string, children: ComponentChildren }} props
 */
export function Table({ name, columns, kind, children }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}>
    <table class=${kind}>
      <thead>
        <tr>
          ${columns.map(headOf)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`;
}

/** @param {Column} column */
function headOf(column) {
  if (column === '') return html`<td></td>`;
  if (typeof column === 'string') return html`<th scope="col">${column}</th>`;
  return html`<th scope="col" class=${column.kind}>${column.name}</th>`;
}

/**
 * The heads of columns of numbers.
 * @param {readonly string[]} names
 */
export function numbers(...names) {
  return names.map((name) => /** @type {const} */ ({ name, kind: 'num' }));
}
