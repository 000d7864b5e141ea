import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { ruleDiff } from '../../questions.js';
import { factText } from '../format.js';
import { Answered } from '../notice.js';
import { Pill } from '../verdict.js';

/**
 * @import { RuleDiff } from '../../answers.d.ts'
 * @typedef {RuleDiff['differences'][number]} Difference
 * @typedef {RuleDiff['examples'][number]} Example
 */

const LISTED_AT_FIRST = 4;

/**
 * How a version differs from the one before it, in a few lines.
 * @param {{ before: string, after: string }} props
 */
export function ChangedSince({ before, after }) {
  const answer = useAnswer(ruleDiff(before, after));
  const listed = (/** @type {RuleDiff} */ { differences }) => {
    if (differences.length === 0) return html`<span class="faint">decides like ${before}</span>`;
    const more = differences.length - LISTED_AT_FIRST;
    return html`<ul class="plain">
        ${differences.slice(0, LISTED_AT_FIRST).map(({ text }) => html`<li>${arrowed(text)}</li>`)}
      </ul>
      <span class="faint">since ${before}${more > 0 && `; ${more} more below, by Compare`}</span>`;
  };
  return html`<${Answered} answer=${answer}>${listed}<//>`;
}

/** @param {{ diff: RuleDiff }} props */
export function Differences({ diff: { before, after, differences, examples, note } }) {
  const parts = Map.groupBy(differences, ({ part }) => part);
  return html`<div role="status">
    ${[...parts].map(
      ([part, ofPart]) => html`<h3>${part}</h3>
        <ul class="differences">
          ${ofPart.map(({ kind, text }) => html`<li>${kindPill(kind)} ${arrowed(text)}</li>`)}
        </ul>`,
    )}
    ${differences.length > 0 && html`<h3>Payers answered differently</h3>`}
    <p>${note}</p>
    <ol class="examples">
      ${examples.map(
        ({ facts, before: was, after: is }) => html`<li>
          <p>${factsOf(facts)}</p>
          <p class="example-answers">
            <span><b>${before}</b> ${was.text}</span>
            <span><b>${after}</b> ${is.text}</span>
          </p>
        </li>`,
      )}
    </ol>
  </div>`;
}

/** @param {string} text */
function arrowed(text) {
  return text.replaceAll(' -> ', ' → ');
}

/** @param {Difference['kind']} kind */
function kindPill(kind) {
  const tone = kind === 'added' ? 'good' : kind === 'removed' ? 'bad' : 'note';
  return html`<${Pill} tone=${tone}>${kind}<//>`;
}

/** @param {Example['facts']} facts */
function factsOf(facts) {
  const named = Object.entries(facts);
  if (named.length === 0) return 'an ordinary first request';
  return named.map(([label, value]) => html`<code class="fact">${label} = ${factText(value)}</code>${' '}`);
}
