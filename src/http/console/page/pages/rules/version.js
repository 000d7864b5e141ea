import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { sinceDays } from '../../parts/evidence/span.js';
import { useEvidence } from '../../parts/evidence/worked.js';
import { LadderSteps } from '../../parts/ladder.js';
import { Answered } from '../../parts/notice.js';
import { Pill } from '../../parts/verdict.js';
import { RULES_REPORT, ruleFolder } from '../../questions.js';
import { Files } from './files.js';

/**
 * @import { OpenedRuleFolder, RulesReport } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @typedef {NonNullable<OpenedRuleFolder['ladder']>} LadderSettings
 * @typedef {NonNullable<OpenedRuleFolder['coverage']>} CasesRun
 */

/**
 * A rule set: its problems, or its ladder and its cases; and its files.
 * @param {{ version: string }} props
 */
export function OpenedVersion({ version }) {
  const answer = useAnswer(ruleFolder(version));
  const sound = answer.data?.sound === true;
  /** @type {Evidence<RulesReport>} */
  const evidence = useEvidence(RULES_REPORT, sound ? { version, from: sinceDays('30') } : null);
  const opened = (/** @type {OpenedRuleFolder} */ folder) => {
    const { problems, ladder, coverage, platforms } = folder;
    return html`
      ${problems.length > 0 && html`<${Problems} problems=${problems} version=${version} />`}
      ${ladder && html`<${Ladders} version=${version} ladder=${ladder} platforms=${platforms} />`}
      ${coverage && html`<${Cases} run=${coverage} />`}
      <${Files} key=${version} folder=${folder} evidence=${evidence} />`;
  };
  return html`<${Answered} answer=${answer}>${opened}<//>`;
}

/**
 * @param {{ version: string, ladder: LadderSettings, platforms: OpenedRuleFolder['platforms'] }} props
 */
function Ladders({ version, ladder, platforms }) {
  return html`<section class="card">
    <h2>Ladder of ${version}</h2>
    <div class="charts">
      <${LadderSteps} ladder=${ladder} name="All platforms" />
      ${platforms.map(
        (one) => html`<${LadderSteps} key=${one.name} ladder=${one.ladder} name=${`Platform ${one.name}`} />`,
      )}
    </div>
  </section>`;
}

/** @param {{ problems: OpenedRuleFolder['problems'], version: string }} props */
function Problems({ problems, version }) {
  return html`<section class="notice notice-bad">
    <strong>${version} is refused until these are mended</strong>
    <ol>
      ${problems.map(
        ({ at, message }) => html`<li><code>${at.file}:${at.line}:${at.column}</code> ${message}</li>`,
      )}
    </ol>
  </section>`;
}

/** @param {{ run: CasesRun }} props */
function Cases({ run: { passed, failed, coverage } }) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card">
    <h2>Its cases ${casesPill(passed, failed)}</h2>
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
