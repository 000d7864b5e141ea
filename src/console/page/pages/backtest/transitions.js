import { html } from '../../html.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { count } from '../../parts/format.js';
import { VERDICTS, Verdict } from '../../parts/verdict.js';

/**
 * @import { BacktestReport, VerdictCommand, VerdictMix } from '../../answers.d.ts'
 */

/**
 * From which verdict to which, and how often.
 * @param {{ transitions: BacktestReport['transitions'], compared: number }} props
 */
export function Matrix({ transitions, compared }) {
  const cell = (/** @type {VerdictCommand} */ from, /** @type {VerdictCommand} */ to) => {
    const { decisions: times, paid, unpaid, unknown } = transitions[from][to];
    const orders = `of orders paid ${count(paid)}, unpaid ${count(unpaid)}, unknown ${count(unknown)}`;
    return html`<td class=${cellClass(from === to, times, compared)} title=${orders}>${count(times)}</td>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Transition matrix">
    <table class="matrix">
      <thead>
        <tr>
          <td></td>
          ${VERDICTS.map(({ name }) => html`<th scope="col"><${Verdict} verdict=${name} /></th>`)}
        </tr>
      </thead>
      <tbody>
        ${VERDICTS.map(
          ({ name }) => html`<tr>
            <th scope="row"><${Verdict} verdict=${name} /></th>
            ${VERDICTS.map(({ name: to }) => cell(name, to))}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * @param {boolean} same
 * @param {number} times
 * @param {number} compared
 */
function cellClass(same, times, compared) {
  if (times === 0) return 'num cell-none';
  if (same) return 'num cell-same';
  return times * 100 >= compared ? 'num cell-many' : 'num cell-some';
}

/**
 * The verdict mix as one bar, its parts in the colours of the verdicts and read out below.
 * @param {{ name: string, mix: VerdictMix }} props
 */
export function Mix({ name, mix }) {
  const parts = VERDICTS.map(({ name: verdict, color }) => ({
    verdict,
    share: intervalText(mix[verdict]),
    width: `${100 * (mix[verdict]?.value ?? 0)}%`,
    background: `var(${color})`,
  }));
  return html`<figure class="mix">
    <figcaption>${name}</figcaption>
    <div class="mix-bar" aria-hidden="true">
      ${parts.map(({ width, background }) => html`<i style=${{ width, background }}></i>`)}
    </div>
    <ul class="legend">
      ${parts.map(
        ({ verdict, share, background }) => html`<li>
          <i style=${{ background }}></i>${verdict} <b class="num">${share}</b>
        </li>`,
      )}
    </ul>
  </figure>`;
}
