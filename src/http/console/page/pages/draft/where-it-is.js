import { html } from '../../html.js';
import { Pill } from '../../parts/verdict.js';

/**
 * Where a draft is kept.
 * @param {{ saved: boolean }} props
 */
export function WhereItIs({ saved }) {
  return saved ? html`<${Pill} tone="good">saved<//>` : html`<${Pill} tone="note">in this browser only<//>`;
}
