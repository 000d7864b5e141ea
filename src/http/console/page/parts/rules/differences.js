import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { ruleDiff } from '../../questions.js';
import { factText } from '../format.js';
import { Answered } from '../notice.js';
import { Pill, Verdict } from '../verdict.js';

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
export function Differences({ diff: { before, after, differences, examples, searched } }) {
  if (differences.length === 0) return html`<p role="status">${before} and ${after} decide alike.</p>`;
  const parts = Map.groupBy(differences, ({ part }) => part);
  return html`<div role="status">
    ${[...parts].map(
      ([part, ofPart]) => html`<h3>${part}</h3>
        <ul class="differences">
          ${ofPart.map(({ kind, text }) => html`<li>${kindPill(kind)} ${arrowed(text)}</li>`)}
        </ul>`,
    )}
    <h3>Payers answered differently</h3>
    <${Examples} before=${before} after=${after} examples=${examples} searched=${searched} />
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

/**
 * Who notices the difference: the fewest facts on which the two part ways at once.
 * @param {Omit<RuleDiff, 'differences'>} props
 */
function Examples({ before, after, examples, searched }) {
  const stopped = searched
    ? ''
    : ' The search was stopped because this node is busy; compare again for the rest.';
  if (examples.length === 0)
    return html`<p class="faint">
      No payer was found whom the two answer differently at once. What differs over time, like a longer wait,
      shows in a backtest with --mode closed-loop.${stopped}
    </p>`;
  return html`<p class="faint">
      Found by search, the simplest first. Facts that are not named are those of an ordinary first
      request.${stopped}
    </p>
    <ol class="examples">
      ${examples.map(
        ({ facts, before: was, after: is }) => html`<li>
          <p>${factsOf(facts)}</p>
          <p class="example-answers">
            <span><b>${before}</b> <${Answer} ...${was} /></span>
            <span><b>${after}</b> <${Answer} ...${is} /></span>
          </p>
        </li>`,
      )}
    </ol>`;
}

/** @param {Example['facts']} facts */
function factsOf(facts) {
  const named = Object.entries(facts);
  if (named.length === 0) return 'an ordinary first request';
  return named.map(([label, value]) => html`<code class="fact">${label} = ${factText(value)}</code>${' '}`);
}

/** @param {Example['before']} answer */
function Answer({ verdict, rule, clientGroup, isBot }) {
  return html`<${Verdict} verdict=${verdict} /> ${rule} <span class="faint">${clientGroup}</span>
    ${isBot && html` <${Pill} tone="bad">bot<//>`}`;
}
