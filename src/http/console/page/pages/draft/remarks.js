import { html } from '../../html.js';
import { Trouble } from '../../parts/notice.js';
import { Pill } from '../../parts/verdict.js';

/**
 * @import { CheckedDraft } from '../../answers.d.ts'
 * @import { Refusal } from '../../api.js'
 * @typedef {CheckedDraft['problems'][number]} Remark
 * @typedef {(at: Remark['at']) => void} GoTo
 */

/**
 * What is to be told about the draft, each with a way to its place.
 * @param {{ checked: CheckedDraft | null, checking: boolean, error: Refusal | null, go: GoTo }} props
 */
export function Remarks({ checked, checking, error, go }) {
  return html`<section class="card" aria-label="Problems" aria-busy=${checking ? 'true' : 'false'}>
    <h2>Problems ${checked && html`<${Sum} checked=${checked} />`}</h2>
    ${error && html`<${Trouble} error=${error} />`}
    ${
      error &&
      error.retryAfterSeconds !== null &&
      html`<p class="faint" role="status">
        It is checked again by itself after ${error.retryAfterSeconds} s.
      </p>`
    }
    ${checked === null && error === null && html`<p class="faint" role="status">Checking …</p>`}
    ${checked && html`<p class="faint">${wordsOn(checked)}</p>`}
    ${checked && html`<${Listed} remarks=${checked.problems} go=${go} />`}
    ${
      checked &&
      checked.notes.length > 0 &&
      html`<h3>Worth knowing</h3>
        <${Listed} remarks=${checked.notes} go=${go} />`
    }
  </section>`;
}

/** @param {{ checked: CheckedDraft }} props */
function Sum({ checked: { problems, sound } }) {
  if (problems.length === 0) return html`<${Pill} tone="good">none<//>`;
  return html`<${Pill} tone=${sound ? 'note' : 'bad'}>${problems.length}<//>`;
}

/** @param {CheckedDraft} checked */
function wordsOn({ problems, sound }) {
  if (!sound)
    return 'Every node would refuse this version. Mend these first; cases and differences come after.';
  if (problems.length > 0) return 'It could be saved, but not be released before these are mended.';
  return 'Every node would take this version.';
}

/** @param {{ remarks: readonly Remark[], go: GoTo }} props */
function Listed({ remarks, go }) {
  return html`<ul class="remarks">
    ${remarks.map(
      ({ at, message, example }) => html`<li>
        <button type="button" onClick=${() => go(at)}>${at.file}:${at.line}:${at.column}</button>
        <span>${message}${example && html`<br /><span class="faint">For example: ${example}</span>`}</span>
      </li>`,
    )}
  </ul>`;
}
