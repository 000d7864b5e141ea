import { html } from '../../html.js';
import { estimateText } from '../../parts/evidence/estimate.js';
import { count } from '../../parts/format.js';
import { numbers, Table } from '../../parts/table.js';

/**
 * @import { BacktestReport, ScoreQuality } from '../../answers.d.ts'
 */

const FIGURES = /** @type {const} */ ([
  ['AUC', 'auc'],
  ['Brier score', 'brier'],
  ['calibration error', 'calibrationError'],
]);

/**
 * How well the scores of both sides told what became of the orders.
 * @param {{ scores: BacktestReport['scores'], names: { base: string, candidate: string } }} props
 */
export function Scores({ scores: { base, candidate }, names }) {
  const columns = ['', ...numbers(`${names.base}, 95 %`, `${names.candidate}, 95 %`)];
  return html`<${Table} name="Scores" columns=${columns}>
      ${FIGURES.map(
        ([name, figure]) => html`<tr>
          <th scope="row">${name}</th>
          <td class="num when">${figureText(base, figure)}</td>
          <td class="num when">${figureText(candidate, figure)}</td>
        </tr>`,
      )}
    <//>
    <p class="faint">
      ${count(base.orders)} orders with an outcome, by the score that they had when they were first asked
      for. AUC 1 is perfect order and 0.5 guessing; the other two are better the smaller they are.
    </p>`;
}

/**
 * Results that an earlier version printed hold no intervals.
 * @param {ScoreQuality} quality
 * @param {typeof FIGURES[number][1]} figure
 */
function figureText(quality, figure) {
  return quality.intervals ? estimateText(quality.intervals[figure]) : (quality[figure]?.toFixed(4) ?? '–');
}
