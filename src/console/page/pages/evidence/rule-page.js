import { may, useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { DecisionTable } from '../../parts/decision-table.js';
import { FateLegend, IntervalBar, intervalText, OrdersBar, sumOf } from '../../parts/evidence/orders.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { count } from '../../parts/format.js';
import { toVersion } from '../../parts/links.js';
import { Answered, Empty } from '../../parts/notice.js';
import { Figures } from '../../parts/verdict.js';
import { decisions, ROLLOUT_STATUS, RULES_REPORT, ruleFolder } from '../../questions.js';
import { memberOf, OpenedRule } from './opened-rule.js';
import { Trend } from './trend.js';

/**
 * @import { FoundDecisions, OpenedRuleFolder, RulesReport, Session } from '../../answers.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

const NEWEST_DECISIONS = '10';

/**
 * A rule of a version: its text, what it was worth week by week, and its newest decisions.
 * @param {{ version: string, item: string, time: EvidenceTime, session: Session }} props
 */
export function RulePage({ version, item, time, session }) {
  const [stage = '', name = ''] = item.split('/');
  const file = `${stage}.yaml`;
  const folder = useAnswer(ruleFolder(version));
  /** @type {Evidence<RulesReport>} */
  const evidence = useEvidence(RULES_REPORT, { version, ...time.span, by: 'week' });
  const written = (/** @type {OpenedRuleFolder} */ opened) =>
    html`<${Written} folder=${opened} file=${file} name=${name} />`;
  const worth = (/** @type {RulesReport} */ report) => html`<${Worth} ...${{ report, file, name }} />`;
  return html`<p><a href=${toVersion(version, 'evidence', time.words)}>← All rules of ${version}</a></p>
    <h2>${name}</h2>
    <${OnTrial} version=${version} />
    <${Answered} answer=${folder}>${written}<//>
    <${WorkedOut} evidence=${evidence}>${worth}<//>
    ${may(session, 'decisions') && html`<${Newest} ...${{ version, file, name }} />`}`;
}

/** @param {{ folder: OpenedRuleFolder, file: string, name: string }} props */
function Written({ folder: { version, rules, files }, file, name }) {
  const rule = rules.find((one) => one.name === name && one.at.file === file);
  if (rule === undefined) return null;
  const { line } = rule.at;
  const place = `${file}:${line}`;
  const text = files.find(({ path }) => path === file)?.text ?? '';
  return html`<section class="card">
    <h3><a href=${toVersion(version, '', { file, line: String(line) })}>${place}</a></h3>
    <pre class="scroll" tabindex="0" role="region" aria-label=${place}>${itemAt(text, line)}</pre>
  </section>`;
}

/**
 * The item of a list that begins on a line.
 * @param {string} text
 * @param {number} line from 1
 */
function itemAt(text, line) {
  const [first = '', ...rest] = text.split('\n').slice(line - 1);
  const indent = first.search(/\S/);
  const end = rest.findIndex((one) => one.trim() !== '' && one.search(/\S/) <= indent);
  return [first, ...rest.slice(0, end === -1 ? rest.length : end)].join('\n').trimEnd();
}

/** @param {{ report: RulesReport, file: string, name: string }} props */
function Worth({ report, file, name }) {
  const rule = report.rules.find((one) => one.file === file && one.name === name);
  if (rule === undefined || rule.matched === 0)
    return html`<${Empty} title="It matched nothing">In none of the decisions of this time.<//>`;
  const { matched, decided, sole, orders, unpaidShare, lift, by = [] } = rule;
  const figures = [
    ['matched', count(matched)],
    ['decided', count(decided)],
    ['would have been another without it', sole === null ? '–' : count(sole)],
    ['orders', count(sumOf(orders))],
    ['unpaid, of those with an outcome', intervalText(unpaidShare)],
    ['of all orders', intervalText(report.unpaidShare)],
    ['lift', lift === null ? '–' : lift.toFixed(2)],
    ['week by week', html`<${Trend} slices=${by} />`],
  ];
  return html`<${Figures} items=${figures} />
    <section class="card">
      <${FateLegend} />
      <${OrdersBar} orders=${orders} most=${sumOf(orders)} />
      <${IntervalBar} interval=${unpaidShare} all=${report.unpaidShare} />
      <${OpenedRule} rule=${rule} report=${report} />
    </section>`;
}

/** @param {{ version: string, file: string, name: string }} props */
function Newest({ version, file, name }) {
  const member = memberOf(file);
  const query = { [member ?? '']: name, ruleVersion: version, include: 'outcomes', limit: NEWEST_DECISIONS };
  const answer = useAnswer(member === null ? null : decisions(new URLSearchParams(query)));
  if (member === null) return null;
  const listed = (/** @type {FoundDecisions} */ found) =>
    found.decisions.length === 0
      ? html`<${Empty} title="No decision of it is kept" />`
      : html`<${DecisionTable} found=${found} />`;
  return html`<h2>Its newest decisions</h2>
    <${Answered} answer=${answer}>${listed}<//>`;
}

/** Where its version is compared with another. @param {{ version: string }} props */
function OnTrial({ version }) {
  const { data } = useAnswer(ROLLOUT_STATUS);
  if (data?.rollout?.candidates.some((one) => one.version === version) !== true) return null;
  return html`<p class="notice">
    ${version} is on trial: <a href="#/rollouts">what it is worth beside the active version</a>.
  </p>`;
}
