import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { sinceDays } from '../../parts/evidence/span.js';
import { useEvidence } from '../../parts/evidence/worked.js';
import { LadderSteps } from '../../parts/ladder.js';
import { Answered } from '../../parts/notice.js';
import { Cases } from '../../parts/rules/cases.js';
import { RULES_REPORT, ruleFolder } from '../../questions.js';
import { Files } from './files.js';

/**
 * @import { OpenedRuleFolder, RulesReport } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @typedef {NonNullable<OpenedRuleFolder['ladder']>} LadderSettings
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
    const { problems, ladder, coverage, platforms, rules } = folder;
    return html`
      ${problems.length > 0 && html`<${Problems} problems=${problems} version=${version} />`}
      ${ladder && html`<${Ladders} version=${version} ladder=${ladder} platforms=${platforms} />`}
      <${Holdouts} rules=${rules} />
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
      ${laddersOf('All platforms', ladder)}
      ${platforms.map((one) => laddersOf(`Platform ${one.name}`, one.ladder))}
    </div>
  </section>`;
}

/**
 * The ladder of a platform or of all, and those that rules name.
 * @param {string} whose
 * @param {LadderSettings} ladder
 */
function laddersOf(whose, ladder) {
  const all = [
    { name: whose, levelsMs: ladder.levelsMs },
    ...Object.entries(ladder.ladders).map(([name, levelsMs]) => ({ name: `${whose}: ${name}`, levelsMs })),
  ];
  return all.map(
    ({ name, levelsMs }) =>
      html`<${LadderSteps} key=${name} ladder=${{ ...ladder, levelsMs }} name=${name} />`,
  );
}

/** @param {{ rules: OpenedRuleFolder['rules'] }} props */
function Holdouts({ rules }) {
  const held = rules.filter(({ holdout }) => holdout !== null);
  if (held.length === 0) return null;
  return html`<section class="card">
    <h2>Holdouts</h2>
    <p class="faint">
      For these shares of the clients a rule is skipped, so that it is seen what it costs and saves.
    </p>
    <ul class="plain">
      ${held.map(
        ({ name, at, holdout }) => html`<li>${name}: ${holdout} <code>${at.file}:${at.line}</code></li>`,
      )}
    </ul>
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
