import { html } from '../../html.js';
import { count } from '../format.js';
import { cellText } from './shown.js';

/** @import { OrderCounts, ShareInterval } from '../../answers.d.ts' */

/** What became of orders, in the order in which it is stacked. */
export const FATES = /** @type {const} */ ([
  { name: 'paid', color: '--get-new' },
  { name: 'unpaid', color: '--block' },
  { name: 'unknown', color: '--group-new' },
]);

/** @param {OrderCounts} orders */
export function sumOf({ paid, unpaid, unknown }) {
  return paid + unpaid + unknown;
}

/**
 * Orders as a bar of paid, unpaid and unknown, as long as their part of the `most`.
 * @param {{ orders: OrderCounts, most: number }} props
 */
export function OrdersBar({ orders, most }) {
  const words = FATES.map(({ name }) => `${count(orders[name])} ${name}`).join(', ');
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
    ${FATES.map(({ name, color }) => html`<li><i style=${{ background: `var(${color})` }}></i>${name}</li>`)}
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
