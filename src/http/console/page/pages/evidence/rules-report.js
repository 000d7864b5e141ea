import { html } from '../../html.js';
import { FateLegend, intervalText, sumOf } from '../../parts/evidence/orders.js';
import { Span, sinceDays } from '../../parts/evidence/span.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { count, shortDigest } from '../../parts/format.js';
import { Empty } from '../../parts/notice.js';
import { Figures } from '../../parts/verdict.js';
import { RULES_REPORT } from '../../questions.js';
import { RuleTable } from './rule-table.js';

/**
 * @import { RulesReport } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/**
 * What each rule was worth on the outcomes that were seen.
 * @param {{ version: string, days: string }} props
 */
export function RulesOnOutcomes({ version, days }) {
  const by = days === '90' || days === 'all' ? 'week' : 'day';
  /** @type {Evidence<RulesReport>} */
  const evidence = useEvidence(RULES_REPORT, { version, from: sinceDays(days), by });
  const shown = (/** @type {RulesReport} */ report) => html`<${Counted} report=${report} />`;
  return html`<${WorkedOut} evidence=${evidence}>${shown}<//>`;
}

/** @param {{ report: RulesReport }} props */
function Counted({ report }) {
  const { orders, rules, unpaidShare, unknownReasons, version, digest } = report;
  if (report.decisions === 0)
    return html`<${Empty} title="No decision in this time">
      Decisions are shipped to the archive within ten seconds. Choose a longer time, or wait for the first
      verdicts.
    <//>`;
  const files = [...Map.groupBy(rules, ({ file }) => file)];
  const silent = rules.filter(({ matched, name }) => matched === 0 && name !== 'otherwise');
  const figures = [
    ['orders', count(sumOf(orders))],
    ['paid', count(orders.paid)],
    ['unpaid', count(orders.unpaid)],
    ['unknown', count(orders.unknown)],
    ['unpaid, of those with an outcome', intervalText(unpaidShare)],
  ];
  return html`
    <${Figures} items=${figures} />
    <div>
      <${Span} span=${report} />
      <p class="faint">
        ${version} <code>${shortDigest(digest)}</code>.${' '}
        ${
          orders.unknown > 0 &&
          `Unknown: ${count(unknownReasons.neverGranted)} never got a requisite, of
          ${count(unknownReasons.notReported)} others nothing was reported. `
        }
        ${remarks(report).join(' ')}
      </p>
      <${FateLegend} />
    </div>
    ${files.map(
      ([file, some]) => html`<section class="card" key=${file}>
        <h2>${file}</h2>
        <${RuleTable} file=${file} rules=${some.filter(({ matched }) => matched > 0)} report=${report} />
      </section>`,
    )}
    ${
      silent.length > 0 &&
      html`<p class="faint">Matched nothing: ${silent.map(({ name }) => name).join(', ')}.</p>`
    }
    <p class="faint">
      Intervals are of 95 %. What would have become of orders that were blocked nobody knows; a rule with a
      holdout shows it.
    </p>`;
}

/** @param {RulesReport} report */
function remarks({ decisions, ownDecisions, version, technical, undecidable }) {
  const others = decisions - ownDecisions;
  const { count: lacking, facts } = undecidable;
  const texts = [];
  if (technical > 0) texts.push(`Left out: ${count(technical)} orders that ended in a technical failure.`);
  if (others > 0)
    texts.push(
      `${count(others)} decisions were made by other rule sets;`,
      `${version} is asked about the facts that they recorded.`,
    );
  if (lacking > 0)
    texts.push(`${count(lacking)} decisions are counted nowhere: their records lack ${facts.join(', ')}.`);
  return texts;
}
