import { html } from '../../html.js';
import { count } from '../format.js';
import { cellText } from './shown.js';

/** @import { OrderCounts, ShareInterval } from '../../answers.d.ts' */

/** What became of orders, in the order in which it is stacked. */
export const FATES = /** @type {const} */ ([
  { name: 'paid', words: 'paid', color: '--get-new' },
  { name: 'unpaid', words: 'unpaid', color: '--block' },
  { name: 'turnedAway', words: 'turned away', color: '--wait' },
  { name: 'unknown', words: 'unknown', color: '--group-new' },
]);

/** @param {OrderCounts} orders */
export function sumOf({ paid, unpaid, turnedAway, unknown }) {
  return paid + unpaid + turnedAway + unknown;
}

/**
 * Orders as a bar of what became of them, as long as their part of the `most`.
 * @param {{ orders: OrderCounts, most: number }} props
 */
export function OrdersBar({ orders, most }) {
  const words = FATES.map(({ name, words: fate }) => `${count(orders[name])} ${fate}`).join(', ');
  return html`<div class="orders" role="img" aria-label=${words} title=${words}>
    ${FATES.map(({ name, color }) => {
      const width = `${most === 0 ? 0 : (100 * orders[name]) / most}%`;
      return html`<i style=${{ width, background: `var(${color})` }}></i>`;
    })}
  </div>`;
}

/** What the colours of bars mean. */
export function FateLegend() {
  return html`<ul class="legend">
    ${FATES.map(
      ({ words, color }) => html`<li><i style=${{ background: `var(${color})` }}></i>${words}</li>`,
    )}
  </ul>`;
}

/**
 * `56.4 % (55.0 to 57.9)`; `–` without a case.
 * @param {ShareInterval | null} interval
 */
export function intervalText(interval) {
  return cellText(interval, 'share');
}

/**
 * A share as a point on its 95 % interval, and the share of all as a line.
 * @param {{ interval: ShareInterval | null, all: ShareInterval | null }} props
 */
export function IntervalBar({ interval, all }) {
  if (interval === null) return html`<span class="faint">no outcome</span>`;
  const { value, low, high } = interval;
  const percent = (/** @type {number} */ part) => `${100 * part}%`;
  return html`<div class="interval" aria-hidden="true">
      ${all && html`<u style=${{ left: percent(all.value) }}></u>`}
      <i style=${{ left: percent(low), width: percent(high - low) }}></i>
      <b style=${{ left: percent(value) }}></b>
    </div>
    <span class="num">${intervalText(interval)}</span>`;
}
