import { html } from '../html.js';
import { dateTime } from './format.js';
import { Pill } from './verdict.js';

/**
 * The marks of a chart in words.
 * @param {{ title: string, marks: readonly import('./marks.js').Mark[] }} props
 */
export function Happened({ title, marks }) {
  if (marks.length === 0) return null;
  return html`<section class="card">
    <h2>${title}</h2>
    <ul class="plain">
      ${marks.map(
        ({ at, text, isAlert }) => html`<li>
          <span class="when">${dateTime(at)}</span>${' '}
          ${isAlert && html`<${Pill} tone="bad">alert<//>`} ${text}
        </li>`,
      )}
    </ul>
  </section>`;
}
