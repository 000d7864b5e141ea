import { html } from '../../html.js';
import { Pill } from '../verdict.js';

/**
 * @import { OpenedRuleFolder } from '../../answers.d.ts'
 * @typedef {NonNullable<OpenedRuleFolder['coverage']>} CasesRun
 */

/**
 * What the cases of a version say: those that failed first, then what they leave untested.
 * @param {{ run: CasesRun }} props
 */
export function Cases({ run: { passed, failed, failures, coverage } }) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card">
    <h2>Its cases ${casesPill(passed, failed)}</h2>
    ${failures.map((failure) => html`<${Failure} failure=${failure} />`)}
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
