import { useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { dateTime } from '../../parts/format.js';
import { Answered } from '../../parts/notice.js';
import { outcomeText } from '../../parts/time-line/moment.js';
import { outcomeTone } from '../../parts/time-line/sign.js';
import { Pill } from '../../parts/verdict.js';
import { clientHistory } from '../../questions.js';
import { amountOf, methodOf } from './decision-table.js';

/**
 * @import { ClientHistory, Decision } from '../../answers.d.ts'
 */

const ENTRIES_LOOKED_AT = 500;

/**
 * What became of the order, as far as the client's history is kept; the newest report counts.
 * @param {{ decision: Decision }} props
 */
export function OrderOutcome({ decision }) {
  const { orderRef, clientIdKey } = decision;
  const answer = useAnswer(clientHistory(clientIdKey, ENTRIES_LOOKED_AT));
  const shown = (/** @type {ClientHistory} */ { entries, complete }) => {
    const outcomes = entries.flatMap((entry) =>
      entry.kind === 'outcome' && entry.orderRef === orderRef ? [entry] : [],
    );
    if (outcomes.length === 0)
      return html`<p class="faint">
        No outcome was reported${complete ? '' : ' in what is kept of its history'}.
      </p>`;
    return html`<ul class="plain">
      ${outcomes.map(
        (entry) => html`<li>
          <${Pill} tone=${outcomeTone(entry)}>${outcomeText(entry)}<//>${' '}
          <span class="when">${dateTime(entry.occurredAt)}</span>
        </li>`,
      )}
    </ul>`;
  };
  return html`<section class="card">
    <h2>What became of the order</h2>
    <p>${amountOf(decision)} by ${methodOf(decision)}</p>
    <${Answered} answer=${answer}>${shown}<//>
  </section>`;
}
