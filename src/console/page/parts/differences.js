import { ask, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { REWRITE_CASES, ruleDiff } from '../questions.js';
import { counted, factText } from './format.js';
import { answered, useAttempt } from './notice.js';
import { Pill } from './verdict.js';
import { withFile } from './working-copy.js';

/**
 * @import { OpenedRuleFolder, RewrittenCases, RuleDiff, Session } from '../answers.d.ts'
 * @import { Tone } from './verdict.js'
 * @import { WorkingCopy } from './working-copy.js'
 */

/** @typedef {RuleDiff['examples'][number]} Example */

const LISTED_AT_FIRST = 4;

/**
 * How a version differs from the one before it, in a few lines.
 * @param {{ before: string, after: string }} props
 */
export function ChangedSince({ before, after }) {
  return answered(useAnswer(ruleDiff(before, after)), ({ differences }) => {
    if (differences.length === 0) return html`<span class="faint">decides like ${before}</span>`;
    const more = differences.length - LISTED_AT_FIRST;
    return html`<ul class="plain">
        ${differences.slice(0, LISTED_AT_FIRST).map(({ text }) => html`<li>${arrowed(text)}</li>`)}
      </ul>
      <span class="faint">since ${before}${more > 0 && `; ${more} more below, by Compare`}</span>`;
  });
}

/** @param {{ diff: RuleDiff }} props */
export function Differences({ diff: { before, after, differences, examples, note } }) {
  const parts = Map.groupBy(differences, ({ part }) => part);
  return html`<div role="status">
    ${[...parts].map(
      ([part, ofPart]) => html`<h3>${part}</h3>
        <ul class="differences">
          ${ofPart.map(
            ({ kind, text }) => html`<li>
              <${Pill} tone=${TONES[kind] ?? 'note'}>${kind}<//> ${arrowed(text)}
            </li>`,
          )}
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

/** @type {Readonly<Record<string, Tone>>} */
const TONES = { added: 'good', removed: 'bad' };

/** @param {Example['facts']} facts */
function factsOf(facts) {
  const named = Object.entries(facts);
  if (named.length === 0) return 'an ordinary first request';
  return named.map(([label, value]) => html`<code class="fact">${label} = ${factText(value)}</code>${' '}`);
}

/**
 * @typedef {NonNullable<OpenedRuleFolder['coverage']>} CasesRun
 * @typedef {{ copy: WorkingCopy, change: (copy: WorkingCopy) => void }} Draft
 */

/**
 * What the cases of a version say: those that failed first, then what they leave untested. Those of a draft
 * may be rewritten.
 * @param {{ run: CasesRun, session: Session, draft?: Draft }} props
 */
export function Cases({ run: { passed, failed, failures, coverage }, session: { platform }, draft }) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card">
    <h2>Its cases ${casesPill(passed, failed)}</h2>
    ${platform !== '*' && html`<p class="faint">Those of other platforms are neither shown nor counted.</p>`}
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
        <summary>${counted(oneSidedConditions.length, 'condition')} seen only one way</summary>
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

/** @param {number} passed @param {number} failed */
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
  const { attempt, trouble } = useAttempt();
  const { version, files } = copy;
  const look = () => attempt(() => ask('POST', REWRITE_CASES, { version, files }).then(setFound));
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
    ${trouble}
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
