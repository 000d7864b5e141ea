import { html } from '../../html.js';
import { FateLegend, intervalText, sumOf } from '../../parts/evidence/orders.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { Field } from '../../parts/form.js';
import { count } from '../../parts/format.js';
import { Figures } from '../../parts/verdict.js';
import { RULES_REPORT } from '../../questions.js';
import { RuleTable } from './rule-table.js';

/**
 * @import { RulesReport, SliceName } from '../../answers.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @import { ChoiceEvent } from '../../parts/form.js'
 */

/** The longest trend of days that can still be read. */
const LONG_MS = 60 * 86_400_000;

/** What rules and money are split by, in words. @type {Readonly<Record<SliceName, string>>} */
const SLICES = {
  ...{ day: 'day', week: 'week', method: 'method', currency: 'currency', sellPoint: 'point of sale' },
  ...{ platform: 'platform', version: 'version', arm: 'arm', group: 'group', level: 'level of the ladder' },
  cause: 'cause',
};

/** The tables of money, which come first. */
const OF_MONEY = ['money', 'sliceMoney', 'ruleMoney', 'rungs'];

/**
 * What each rule was worth on the outcomes that were seen.
 * @param {{ version: string, time: EvidenceTime, query: URLSearchParams }} props
 */
export function RulesOnOutcomes({ version, time, query }) {
  const isLong = (time.span.to ?? Date.now()) - (time.span.from ?? 0) > LONG_MS;
  const by = query.get('by') ?? (isLong ? 'week' : 'day');
  /** @type {Evidence<RulesReport>} */
  const evidence = useEvidence(RULES_REPORT, { version, ...time.span, by });
  const shown = (/** @type {RulesReport} */ report) => html`<${Counted} report=${report} />`;
  const choose = (/** @type {ChoiceEvent} */ { currentTarget: { value } }) => {
    location.hash = `${location.hash.split('?')[0]}?${new URLSearchParams({ ...time.words, by: value })}`;
  };
  return html`<${Field} label="parted by">
      <select onChange=${choose}>
        ${Object.entries(SLICES).map(
          ([name, words]) => html`<option value=${name} selected=${name === by}>${words}</option>`,
        )}
      </select>
    <//>
    <${WorkedOut} evidence=${evidence}>${shown}<//>`;
}

/** @param {{ report: RulesReport }} props */
function Counted({ report }) {
  const { orders, rules, unpaidShare, notes, tables } = report;
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
    <${EvidenceTables} tables=${tables.filter(({ name }) => OF_MONEY.includes(name))} />
    <${FateLegend} />
    ${[...files].map(
      ([file, some]) => html`<section class="card" key=${file}>
        <h2>${file}</h2>
        <${RuleTable} file=${file} rules=${some} report=${report} />
      </section>`,
    )}`;
}
