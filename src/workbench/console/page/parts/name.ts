import { html } from '#workbench/console/page/html.ts';
import { splitName } from './split-name.ts';

/** A name of a payer or an order, so that two names that differ never look alike. */
export function renderName(name: string) {
  return html`<bdi>${splitName(name).map(({ text, mark }) =>
    mark === null ? text : html`<span class="odd-letter">${mark}</span>`,
  )}</bdi>`;
}
