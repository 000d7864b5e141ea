import { html } from '../../html.js';
import { estimateText } from '../../parts/evidence/estimate.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { NoDecision, Span, sinceDays } from '../../parts/evidence/span.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { count, dateTime } from '../../parts/format.js';
import { numbers, Table } from '../../parts/table.js';
import { DRIFT } from '../../questions.js';

/**
 * @import { Drift, FactDrift } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/**
 * What has changed between two parts of the time: answers, outcomes, calibration and facts.
 * @param {{ version: string, days: string }} props
 */
export function DriftOf({ version, days }) {
  /** @type {Evidence<Drift>} */
  const evidence = useEvidence(DRIFT, { version, from: sinceDays(days) });
  const shown = (/** @type {Drift} */ found) => html`<${Found} found=${found} />`;
  return html`<section class="card">
    <h2>Drift of the decisions of ${version}</h2>
    <${WorkedOut} evidence=${evidence}>${shown}<//>
  </section>`;
}

/** @param {{ found: Drift }} props */
function Found({ found }) {
  const { earlier, later, splitAt, facts } = found;
  const decisions = earlier.decisions + later.decisions;
  const moved = facts.filter(({ index, byChance }) => index > byChance);
  if (decisions === 0) return html`<${NoDecision} />`;
  return html`
    <${Span} span=${{ ...found, decisions }} />
    <p class="faint">
      Before and from ${dateTime(splitAt)}: ${count(earlier.decisions)} decisions of
      ${' '}${count(earlier.clients)} clients, and ${count(later.decisions)} of ${count(later.clients)}.
      ${' '}A hint where to look, no proof: payments of the later part may still be reported.
    </p>
    <${Answers} found=${found} />
    ${
      moved.length === 0
        ? html`<p>No fact has moved by more than chance explains.</p>`
        : html`<${Facts} facts=${moved} />`
    }`;
}

const VERDICTS = /** @type {const} */ (['GET_NEW', 'GET_SAME_STICKY', 'WAIT', 'BLOCK']);

/** @param {{ found: Drift }} props */
function Answers({ found: { earlier, later } }) {
  const rows = [
    ...VERDICTS.map((verdict) => [
      verdict,
      intervalText(earlier.verdicts[verdict]),
      intervalText(later.verdicts[verdict]),
    ]),
    ['paid, of orders with an outcome', intervalText(earlier.paidShare), intervalText(later.paidShare)],
    ['orders with an unknown outcome', unknownText(earlier), unknownText(later)],
    ['Brier score', estimateText(earlier.score.brier), estimateText(later.score.brier)],
    [
      'calibration error',
      estimateText(earlier.score.calibrationError),
      estimateText(later.score.calibrationError),
    ],
  ];
  return html`<${Table} name="Answers and outcomes" columns=${['', 'earlier, 95 %', 'later, 95 %']}>
    ${rows.map(
      ([name, before, after]) => html`<tr>
        <th scope="row">${name}</th>
        <td class="when">${before}</td>
        <td class="when">${after}</td>
      </tr>`,
    )}
  <//>`;
}

/** @param {Drift['earlier']} part */
function unknownText({ orders: { known, unknown } }) {
  return `${count(unknown)} of ${count(known + unknown)}`;
}

/** @param {{ facts: readonly FactDrift[] }} props */
function Facts({ facts }) {
  const columns = [
    'fact',
    ...numbers('PSI', 'by chance up to'),
    'most moved',
    ...numbers('earlier, 95 %', 'later, 95 %'),
  ];
  return html`<h3>Facts that moved by more than chance explains, the most first</h3>
    <${Table} name="Facts that moved" columns=${columns}>
      ${facts.map(
        ({ fact, index, byChance, moved }) => html`<tr>
          <th scope="row">${fact}</th>
          <td class="num">${index.toFixed(4)}</td>
          <td class="num">${byChance.toFixed(4)}</td>
          <td>${moved.values}</td>
          <td class="num when">${intervalText(moved.intervals?.earlier ?? null)}</td>
          <td class="num when">${intervalText(moved.intervals?.later ?? null)}</td>
        </tr>`,
      )}
    <//>`;
}
