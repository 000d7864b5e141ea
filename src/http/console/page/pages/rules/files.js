import { html, useState } from '../../html.js';
import { count } from '../../parts/format.js';
import { Empty } from '../../parts/notice.js';

/**
 * @import { OpenedRuleFolder } from '../../answers.d.ts'
 * @typedef {OpenedRuleFolder['files'][number]} RuleFile
 * @typedef {OpenedRuleFolder['problems'][number]} Problem
 */

/** @param {{ folder: OpenedRuleFolder }} props */
export function Files({ folder: { files, hits, problems, sound } }) {
  const [chosen, setChosen] = useState('verdicts.yaml');
  const file = files.find(({ path }) => path === chosen) ?? files[0];
  if (file === undefined) return html`<${Empty} title="No file">The folder is empty.<//>`;
  const decided = decidedByLine(file.path, hits);
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
    ${
      hits === null &&
      sound &&
      html`<p class="faint">
        How often each rule decided is shown to keys with the operation decisions.
      </p>`
    }
    ${
      hits &&
      html`<p class="faint">
        Before each rule: how often it decided (and held) among the newest ${count(hits.decisions)} decisions
        of ${hits.platform} under this digest.
      </p>`
    }
    <div class="scroll file" tabindex="0" role="region" aria-label=${file.path}>
      <table class="code">
        <tbody>
          ${file.text
            .trimEnd()
            .split('\n')
            .map((text, index) => {
              const number = index + 1;
              const problemsHere = wrong.filter(({ at }) => at.line === number);
              return html`<${Line} text=${text} number=${number} decided=${decided.get(number)} />
              ${problemsHere.map((problem) => html`<${ProblemLine} problem=${problem} />`)}`;
            })}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {{ text: string, number: number, decided: string | undefined }} props */
function Line({ text, number, decided }) {
  return html`<tr>
    <td class="line-number">${number}</td>
    <td class="line-hits">${decided}</td>
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
 * How often the rule that begins on a line decided, in words.
 * @param {string} path
 * @param {OpenedRuleFolder['hits']} hits
 */
function decidedByLine(path, hits) {
  const rules = (hits?.rules ?? []).filter(({ file }) => file === path);
  return new Map(
    rules.map(({ line, decided, held }) => [
      line,
      decided === held ? `${count(decided)} ×` : `${count(decided)} × (${count(held)})`,
    ]),
  );
}
