import { type Html, html } from '#workbench/console/page/html.ts';
import { splitAtOddLetters } from './odd-letters.ts';

/**
 * Renders a name of a payer or an order, so that two names that differ never look alike. `part` is the text
 * that somebody searched for. It is shown in bold.
 */
export function renderSafeName(name: string, part = '') {
  return html`<bdi>${splitAtOddLetters(name).map(({ text, mark }) =>
    mark === null ? markPart(text, part) : html`<span class="odd-letter">${mark}</span>`,
  )}</bdi>`;
}

function markPart(text: string, part: string): Html {
  const place = part === '' ? -1 : text.toLowerCase().indexOf(part.toLowerCase());
  if (place === -1) return text;
  const end = place + part.length;
  return html`${text.slice(0, place)}<b>${text.slice(place, end)}</b>${text.slice(end)}`;
}

/** Renders several names with commas between them. */
export function renderSafeNames(names: readonly string[]) {
  return names.map((name, place) => html`${place > 0 && ', '}${renderSafeName(name)}`);
}

/**
 * Formats a name as plain text for labels and messages. A letter that needs a mark is replaced by its mark
 * in brackets, like `[U+202E]`.
 */
export function formatSafeName(name: string) {
  return splitAtOddLetters(name)
    .map(({ text, mark }) => (mark === null ? text : `[${mark}]`))
    .join('');
}
