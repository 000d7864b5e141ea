import { html, useState } from '../../html.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { count } from '../../parts/format.js';
import { toVersion } from '../../parts/links.js';
import { Trouble } from '../../parts/notice.js';
import { keep, withValues } from '../../parts/rules/working-copy.js';
import { numbers, Table } from '../../parts/table.js';
import { Pill } from '../../parts/verdict.js';
import { MakeDraft } from './make-draft.js';

/**
 * @import { Session, SweepReport, SweptCombination, TradeOff } from '../../answers.d.ts'
 * @import { InputEvent } from '../../parts/form.js'
 * @import { Constant, WorkingCopy } from '../../parts/rules/working-copy.js'
 */

/** What a value costs and saves, as the columns say it. */
const EFFECTS = /** @type {const} */ ([
  ['unpaidStopped', 'unpaid orders stopped'],
  ['unpaidBlocked', 'unpaid orders blocked'],
  ['paidRefused', 'paid orders blocked'],
  ['paidHeldBack', 'paid orders held back'],
]);

/** A draft that was swept as it stands, with what may be varied in it. */
/** @typedef {{ readonly copy: WorkingCopy, readonly constants: readonly Constant[] }} SweptDraft */

/**
 * The trade-off of all values on the later part of the time, with a slider over them.
 * @param {{ report: SweepReport, session: Session, draft: SweptDraft | null }} props
 */
export function TradeOffCurve({ report, session, draft }) {
  const swept = inOrder(report.combinations);
  const present = swept.findIndex((one) => one.present);
  const [place, setPlace] = useState(Math.max(0, present));
  const chosen = swept[place];
  if (chosen === undefined) return null;
  if (report.tables.length === 0) return html`<${Notes} notes=${report.notes} />`;
  const move = (/** @type {InputEvent} */ { currentTarget }) => setPlace(Number(currentTarget.value));
  return html`
    <${Notes} notes=${report.notes} />
    <div class="two">
      <section class="card">
        <h2>Unpaid orders stopped over paid orders blocked or held back</h2>
        <${Curve} swept=${swept} chosen=${place} />
      </section>
      <section class="card">
        <h2>${valuesText(chosen)} ${chosen.present && html`<${Pill}>as it is<//>`}</h2>
        <label class="field">
          <span>value</span>
          <input type="range" min="0" max=${swept.length - 1} value=${place} onInput=${move}
            aria-valuetext=${valuesText(chosen)} />
        </label>
        <${Effects} chosen=${chosen} present=${swept[present] ?? chosen} />
        <${Draft} key=${valuesText(chosen)} version=${report.version} ...${{ chosen, session, draft }} />
      </section>
    </div>
    <${EvidenceTables} tables=${report.tables} />`;
}

/**
 * As a person counts: by the number that the values begin with.
 * @param {SweepReport['combinations']} combinations
 */
function inOrder(combinations) {
  const numberOf = (/** @type {SweptCombination} */ one) =>
    Number.parseFloat(Object.values(one.values)[0] ?? '');
  return [...combinations].sort((a, b) => numberOf(a) - numberOf(b));
}

/** @param {SweptCombination} one */
function valuesText({ values }) {
  return Object.entries(values)
    .map(([path, value]) => `${path.split('.').at(-1)} = ${value}`)
    .join(', ');
}

/** @param {{ chosen: SweptCombination, present: SweptCombination }} props */
function Effects({ chosen, present }) {
  const columns = ['', ...numbers('orders', 'against now'), 'share, 95 %'];
  return html`<${Table} name="What it does" columns=${columns}>
    ${EFFECTS.map(([member, name]) => {
      const { orders, share } = chosen.later[member];
      return html`<tr>
        <th scope="row">${name}</th>
        <td class="num">${count(orders)}</td>
        <td class="num">${signed(orders - present.later[member].orders)}</td>
        <td class="when">${intervalText(share)}</td>
      </tr>`;
    })}
  <//>`;
}

/** @param {number} difference */
function signed(difference) {
  return difference > 0 ? `+${count(difference)}` : count(difference);
}

/**
 * @param {{
 *   version: string, chosen: SweptCombination, session: Session, draft: SweptDraft | null,
 * }} props
 */
function Draft({ version, chosen, session, draft }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  if (chosen.present) return null;
  if (draft !== null) {
    const take = () =>
      keep(withValues(draft.copy, draft.constants, chosen.values)).then(() => {
        location.hash = toVersion(version, 'draft');
      }, setError);
    return html`<div class="buttons">
      <button type="button" onClick=${take}>Put ${valuesText(chosen)} into ${version}</button>
      ${error && html`<${Trouble} error=${error} />`}
    </div>`;
  }
  return html`<${MakeDraft} session=${session} found=${{ from: version, values: chosen.values }} />`;
}

const [WIDTH, HEIGHT, EDGE] = [420, 240, 44];

/** @param {TradeOff} later */
function costOf({ paidRefused, paidHeldBack }) {
  return paidRefused.orders + paidHeldBack.orders;
}

/**
 * Each value as a point; the table below has the same numbers.
 * @param {{ swept: readonly SweptCombination[], chosen: number }} props
 */
function Curve({ swept, chosen }) {
  const costs = swept.map(({ later }) => costOf(later));
  const gains = swept.map(({ later }) => later.unpaidStopped.orders);
  const [x, y] = [scale(costs, EDGE, WIDTH - 12), scale(gains, HEIGHT - 34, 34)];
  const points = swept.map((_, index) => [x.at(costs[index] ?? 0), y.at(gains[index] ?? 0)]);
  return html`<svg class="diagram" aria-hidden="true" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}>
    <line class="diagram-frame" x1=${EDGE - 8} y1=${HEIGHT - 24} x2=${WIDTH} y2=${HEIGHT - 24} />
    <line class="diagram-frame" x1=${EDGE - 8} y1="22" x2=${EDGE - 8} y2=${HEIGHT - 24} />
    <polyline class="diagram-curve" points=${points.map((point) => point.join(',')).join(' ')} />
    ${points.map(([cx, cy], index) => {
      const kind = index === chosen ? 'diagram-chosen' : 'diagram-point';
      return html`<circle class=${kind} ...${{ cx, cy, r: index === chosen ? 7 : 4 }} />
        ${swept[index]?.present && html`<circle class="diagram-present" ...${{ cx, cy, r: 10 }} />`}`;
    })}
    <text x=${EDGE - 12} y="38" text-anchor="end">${count(y.most)}</text>
    ${
      y.least < y.most &&
      html`<text x=${EDGE - 12} y=${HEIGHT - 30} text-anchor="end">${count(y.least)}</text>`
    }
    ${x.least < x.most && html`<text x=${EDGE} y=${HEIGHT - 8}>${count(x.least)}</text>`}
    <text x=${WIDTH} y=${HEIGHT - 8} text-anchor="end">${count(x.most)} paid orders</text>
    <text x=${EDGE - 8} y="14">unpaid orders stopped</text>
  </svg>`;
}

/**
 * Values that are all alike stand where the one label of the axis is.
 * @param {readonly number[]} values
 * @param {number} from
 * @param {number} to
 */
function scale(values, from, to) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least === most) return { least, most, at: () => to };
  const at = (/** @type {number} */ value) => from + ((value - least) / (most - least)) * (to - from);
  return { least, most, at };
}
