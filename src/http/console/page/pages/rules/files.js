import { html, useState } from '../../html.js';
import { sumOf } from '../../parts/evidence/orders.js';
import { count } from '../../parts/format.js';
import { Empty } from '../../parts/notice.js';

/**
 * @import { OpenedRuleFolder, RulesReport } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @typedef {OpenedRuleFolder['files'][number]} RuleFile
 * @typedef {OpenedRuleFolder['problems'][number]} Problem
 */

/**
 * The files of a version, with the orders that each rule matched beside it once they are counted.
 * @param {{ folder: OpenedRuleFolder, evidence: Evidence<RulesReport> }} props
 */
export function Files({ folder: { files, rules, problems, sound }, evidence }) {
  const [chosen, setChosen] = useState('verdicts.yaml');
  const file = files.find(({ path }) => path === chosen) ?? files[0];
  if (file === undefined) return html`<${Empty} title="No file">The folder is empty.<//>`;
  const matched = matchedByLine(file.path, rules, evidence.answer.data?.result ?? null);
  const wrong = problems.filter(({ at }) => at.file === file.path);
  return html`<section class="card">
    <h2>Files</h2>
    <div class="tabs" role="group" aria-label="Files">
      ${files.map(({ path }) => {
        const mark = problems.some(({ at }) => at.file === path) ? ' ✗' : '';
        const pressed = { 'aria-pressed': path === file.path ? 'true' : 'false' };
        const choose = () => setChosen(path);
        return html`<button type="button" ...${pressed} onClick=${choose}>${path}${mark}</button>`;
      })}
    </div>
    ${sound && html`<p class="faint">${wordsOn(evidence)}</p>`}
    <div class="scroll file" tabindex="0" role="region" aria-label=${file.path}>
      <table class="code">
        <tbody>
          ${file.text
            .trimEnd()
            .split('\n')
            .map((text, index) => {
              const number = index + 1;
              const problemsHere = wrong.filter(({ at }) => at.line === number);
              return html`<${Line} text=${text} number=${number} matched=${matched.get(number)} />
              ${problemsHere.map((problem) => html`<${ProblemLine} problem=${problem} />`)}`;
            })}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {{ text: string, number: number, matched: string | undefined }} props */
function Line({ text, number, matched }) {
  return html`<tr>
    <td class="line-number">${number}</td>
    <td class="line-hits">${matched}</td>
    <td>${text}</td>
  </tr>`;
}

/** @param {{ problem: Problem }} props */
function ProblemLine({ problem: { at, message } }) {
  return html`<tr class="line-bad">
    <td></td>
    <td></td>
    <td>${' '.repeat(at.column - 1)}▲ ${message}</td>
  </tr>`;
}

/**
 * How many orders the rule that begins on a line matched, and how many of them were unpaid.
 * @param {string} path
 * @param {OpenedRuleFolder['rules']} rules
 * @param {RulesReport | null} report
 */
function matchedByLine(path, rules, report) {
  const figures = new Map(
    (report?.rules ?? []).filter(({ file }) => file === path).map((rule) => [rule.name, rule.orders]),
  );
  return new Map(
    rules.flatMap(({ name, at }) => {
      const orders = figures.get(name);
      if (at.file !== path || orders === undefined) return [];
      return [[at.line, `${count(sumOf(orders))} (${count(orders.unpaid)})`]];
    }),
  );
}

/** @param {Evidence<RulesReport>} evidence */
function wordsOn({ answer: { data }, refusal }) {
  if (refusal) return refusal.message;
  if (data === null || data.job.state === 'waiting' || data.job.state === 'running')
    return 'The orders of the last 30 days that each rule matched are being counted.';
  if (data.result === null) return 'The orders that each rule matched could not be counted.';
  const { version, orders } = data.result;
  const all = count(sumOf(orders));
  return html`Before each rule: how many of ${all} orders of the last 30 days it matched, and how many of
    these were unpaid. <a href=${`#/evidence?version=${version}`}>Evidence</a> says more.`;
}
