import { html } from '../../html.js';
import { FateLegend, intervalText, sumOf } from '../../parts/evidence/orders.js';
import { Notes } from '../../parts/evidence/shown.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { count } from '../../parts/format.js';
import { Figures } from '../../parts/verdict.js';
import { RULES_REPORT } from '../../questions.js';
import { RuleTable } from './rule-table.js';

/**
 * @import { RulesReport } from '../../answers.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/** A trend of days is read up to here. */
const LONG_MS = 60 * 86_400_000;

/**
 * What each rule was worth on the outcomes that were seen.
 * @param {{ version: string, time: EvidenceTime }} props
 */
export function RulesOnOutcomes({ version, time }) {
  const by = (time.span.to ?? Date.now()) - (time.span.from ?? 0) > LONG_MS ? 'week' : 'day';
  /** @type {Evidence<RulesReport>} */
  const evidence = useEvidence(RULES_REPORT, { version, ...time.span, by });
  const shown = (/** @type {RulesReport} */ report) => html`<${Counted} report=${report} />`;
  return html`<${WorkedOut} evidence=${evidence}>${shown}<//>`;
}

/** @param {{ report: RulesReport }} props */
function Counted({ report }) {
  const { orders, rules, unpaidShare, notes } = report;
  if (report.decisions === 0) return html`<${Notes} notes=${notes} />`;
  const files = Map.groupBy(
    rules.filter(({ matched }) => matched > 0),
    ({ file }) => file,
  );
  const figures = [
    ['orders', count(sumOf(orders))],
    ['paid', count(orders.paid)],
    ['unpaid', count(orders.unpaid)],
    ['turned away', count(orders.turnedAway)],
    ['unknown', count(orders.unknown)],
    ['unpaid, of those with an outcome', intervalText(unpaidShare)],
  ];
  return html`
    <${Figures} items=${figures} />
    <${Notes} notes=${notes} />
    <${FateLegend} />
    ${[...files].map(
      ([file, some]) => html`<section class="card" key=${file}>
        <h2>${file}</h2>
        <${RuleTable} file=${file} rules=${some} report=${report} />
      </section>`,
    )}`;
}
