import { ask } from '../../api.js';
import { html, useState } from '../../html.js';
import { REWRITE_CASES } from '../../questions.js';
import { counted } from '../format.js';
import { Trouble } from '../notice.js';
import { Pill } from '../verdict.js';
import { withFile } from './working-copy.js';

/**
 * @import { OpenedRuleFolder, RewrittenCases } from '../../answers.d.ts'
 * @import { WorkingCopy } from './working-copy.js'
 * @typedef {NonNullable<OpenedRuleFolder['coverage']>} CasesRun
 * @typedef {{ copy: WorkingCopy, change: (copy: WorkingCopy) => void }} Draft
 */

/**
 * What the cases of a version say: those that failed first, then what they leave untested. Those of a draft
 * may be rewritten.
 * @param {{ run: CasesRun, draft?: Draft }} props
 */
export function Cases({ run: { passed, failed, failures, coverage }, draft }) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card">
    <h2>Its cases ${casesPill(passed, failed)}</h2>
    ${failures.map((failure) => html`<${Failure} failure=${failure} />`)}
    ${failed > 0 && draft && html`<${NewLengths} key=${draft.copy.files} ...${draft} />`}
    ${failed > failures.length && html`<p class="faint">And ${failed - failures.length} more.</p>`}
    <div class="two">
      <${Covered} name="rules that decided in a case" share=${rules} />
      <${Covered} name="conditions seen both true and false" share=${conditions} />
    </div>
    ${
      untestedRules.length > 0 &&
      html`<h3>Rules without a test</h3>
        <ul class="plain">
          ${untestedRules.map(({ name, at }) => html`<li>${name} <code>${at.file}:${at.line}</code></li>`)}
        </ul>`
    }
    ${
      oneSidedConditions.length > 0 &&
      html`<details>
        <summary>${oneSidedConditions.length} conditions seen only one way</summary>
        <ul class="plain">
          ${oneSidedConditions.map(
            ({ rule, condition, missing }) =>
              html`<li>${rule}: <code>${condition}</code> never ${missing}</li>`,
          )}
        </ul>
      </details>`
    }
  </section>`;
}

/**
 * @param {number} passed
 * @param {number} failed
 */
function casesPill(passed, failed) {
  if (passed + failed === 0)
    return html`<span class="faint">There is no cases/*.yaml in this version.</span>`;
  if (failed === 0) return html`<${Pill} tone="good">${passed} passed<//>`;
  return html`<${Pill} tone="bad">${failed} failed<//> ${passed} passed`;
}

/** @param {{ name: string, share: CasesRun['coverage']['rules'] }} props */
function Covered({ name, share: { tested, total, percent } }) {
  return html`<p class="covered">
    <span>${name}</span>
    <span class="bar"><i style=${{ width: `${percent}%` }}></i></span>
    <b class="num">${tested} of ${total}</b>
  </p>`;
}

/** @param {{ failure: CasesRun['failures'][number] }} props */
function Failure({ failure: { caseName, at, lines } }) {
  return html`<details class="case-failure">
    <summary><span class="bad">✗</span> ${caseName} <code>${at.file}:${at.line}</code></summary>
    <pre class="scroll" tabindex="0">${lines.join('\n')}</pre>
  </details>`;
}

/**
 * Once somebody has seen them, writes the draft's answers into cases that fail only by the length of a wait.
 * @param {Draft} props
 */
function NewLengths({ copy, change }) {
  const [found, setFound] = useState(/** @type {RewrittenCases | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const { version, files } = copy;
  const look = () => {
    setError(null);
    ask('POST', REWRITE_CASES, { version, files }).then(setFound, setError);
  };
  const write = () =>
    change(Object.entries(found?.files ?? {}).reduce((all, [path, text]) => withFile(all, path, text), copy));
  return html`<div class="buttons">
      <button type="button" onClick=${look}>Show new lengths of waits</button>
      ${
        found &&
        found.lines.length > 0 &&
        html`<button type="button" class="button-accent" onClick=${write}>
          Write ${counted(found.lines.length, 'line')} into the cases
        </button>`
      }
    </div>
    ${error && html`<${Trouble} error=${error} />`}
    <div role="status">${found && html`<${Lines} found=${found} />`}</div>`;
}

/** @param {{ found: RewrittenCases }} props */
function Lines({ found: { lines, left } }) {
  return html`${lines.length === 0 && html`<p>No case fails by the length of a wait alone.</p>`}
    ${
      lines.length > 0 &&
      html`<pre class="scroll" tabindex="0">
${lines.map(lineText).join('')}</pre
      >`
    }
    ${left > 0 && html`<p class="faint">Failing by more than that, and left: ${counted(left, 'case')}.</p>`}`;
}

/** @param {RewrittenCases['lines'][number]} line */
function lineText({ file, line, before, after }) {
  return `${file}:${line}\n- ${before.trim()}\n+ ${after.trim()}\n`;
}
