import { html } from '../../html.js';
import { FATES, sumOf } from '../../parts/evidence/orders.js';

/** @import { RuleReport } from '../../answers.d.ts' */

const HEIGHT = 22;
const STEP = 4;

/**
 * The orders of each day or week as small columns of paid, unpaid and unknown; the opened rule has figures.
 * @param {{ slices: NonNullable<RuleReport['by']> }} props
 */
export function Trend({ slices }) {
  const most = Math.max(0, ...slices.map(({ orders }) => sumOf(orders)));
  if (most === 0 || slices.length < 2) return html`<span class="faint">–</span>`;
  const width = slices.length * STEP;
  const size = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
  return html`<svg aria-hidden="true" ...${size}>
    ${slices.map((slice, index) => columnOf(slice, index * STEP, most))}
  </svg>`;
}

/**
 * @param {NonNullable<RuleReport['by']>[number]} slice
 * @param {number} x
 * @param {number} most
 */
function columnOf({ orders }, x, most) {
  let top = HEIGHT;
  return FATES.map(({ name, color }) => {
    const height = (HEIGHT * orders[name]) / most;
    top -= height;
    const place = { x, y: top, width: STEP - 1, height };
    return html`<rect ...${place} style=${{ fill: `var(${color})` }} />`;
  });
}
