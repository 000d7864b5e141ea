import { html } from '../../html.js';
import { estimateText } from '../../parts/evidence/estimate.js';
import { intervalText } from '../../parts/evidence/orders.js';
import { shareOf } from '../../parts/evidence/share-of.js';
import { Gaps, sinceDays } from '../../parts/evidence/span.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { count, dateTime } from '../../parts/format.js';
import { Empty } from '../../parts/notice.js';
import { numbers, Table } from '../../parts/table.js';
import { Figures, Pill } from '../../parts/verdict.js';
import { CALIBRATION } from '../../questions.js';
import { DriftOf } from './drift.js';
import { MakeDraft } from './make-draft.js';

/**
 * @import { Calibration, Session, SmoothingQuality } from '../../answers.d.ts'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @typedef {SmoothingQuality['reliability'][number]} Decile
 */

/**
 * Whether the payment score can be taken at its word, as it is and with the smoothing that fits best.
 * @param {{ version: string, days: string, session: Session }} props
 */
export function Reliability({ version, days, session }) {
  /** @type {Evidence<Calibration>} */
  const evidence = useEvidence(CALIBRATION, { version, from: sinceDays(days) });
  const shown = (/** @type {Calibration} */ found) => html`<${Found} found=${found} session=${session} />`;
  return html`<${WorkedOut} evidence=${evidence}>${shown}<//>
    <${DriftOf} version=${version} days=${days} />`;
}

/** @param {{ found: Calibration, session: Session }} props */
function Found({ found, session }) {
  const { before, after, change, orders, holds, splitAt, from, to, gaps, newClients } = found;
  if (before.orders === 0)
    return html`<${Empty} title="No order with an outcome in the later part of this time">
      Outcomes come by POST /v1/platform/outcomes. Choose a longer time, or wait for more of them.
    <//>`;
  const better = after !== null && isSame(after.smoothing, before.smoothing) ? null : after;
  return html`
    <p class="faint">
      Fitted on ${count(orders.earlier)} orders from ${dateTime(from)}, shown on the
      ${' '}${count(orders.later)} from ${dateTime(splitAt)} to ${dateTime(to)}; of
      ${' '}${count(orders.unknown)} nothing is known. Intervals are of 95 %, by client.
    </p>
    <${Gaps} gaps=${gaps} />
    <${NewClients} of=${newClients} all=${orders.later} />
    <div class="two">
      <${Side} title=${`${found.version} as it is`} quality=${before} />
      ${better && html`<${Side} title="With the smoothing that fits best" quality=${better} />`}
    </div>
    ${after && !better && html`<p>The smoothing is already the one that fits best.</p>`}
    ${
      better &&
      html`<p>
          ${holds ? html`<${Pill} tone="good">better<//>` : html`<${Pill}>no clear gain<//>`}
          ${' '}The Brier score changes by ${estimateText(change?.brier ?? null)}
          ${holds ? ', beyond chance.' : ', which chance explains.'}
        </p>
        <${MakeDraft}
          session=${session}
          found=${{
            from: found.version,
            values: {
              'ruleset.smoothing.prior': String(better.smoothing.prior),
              'ruleset.smoothing.weight': String(better.smoothing.weight),
            },
          }}
        />`
    }`;
}

/**
 * @param {SmoothingQuality['smoothing']} one
 * @param {SmoothingQuality['smoothing']} other
 */
function isSame(one, other) {
  return one.prior === other.prior && one.weight === other.weight;
}

/**
 * The part of the calibration error that no smoothing moves.
 * @param {{ of: Calibration['newClients'], all: number }} props
 */
function NewClients({ of: { paid, unpaid, paidShare }, all }) {
  const some = paid + unpaid;
  if (some === 0) return null;
  return html`<p class="faint">
    ${count(some)} of the later orders are of clients without a final outcome, whose score is 0.5000 by the
    ${' '}interface; ${intervalText(paidShare ?? shareOf(paid, some))} of them were paid. That alone is
    ${' '}${(Math.abs(paid - some / 2) / Math.max(1, all)).toFixed(4)} of calibration error, and no smoothing
    ${' '}moves it.
  </p>`;
}

/** @param {{ title: string, quality: SmoothingQuality }} props */
function Side({ title, quality }) {
  const { smoothing, brier, auc, calibrationError, calibrationErrorOfKnown, reliability } = quality;
  const items = [
    ['prior', String(smoothing.prior)],
    ['weight', String(smoothing.weight)],
    ['Brier score', estimateText(brier)],
    ['AUC', estimateText(auc)],
    ['calibration error', estimateText(calibrationError)],
    ['of clients with an outcome', estimateText(calibrationErrorOfKnown)],
  ];
  return html`<section class="card">
    <h2>${title}</h2>
    <${Figures} items=${items} />
    <div class="diagram-and-table">
      <${Diagram} deciles=${reliability} />
      <${Table} name=${title} columns=${['score', ...numbers('orders', 'mean score'), 'paid, 95 %']}>
        ${reliability.map(
          ({ from, to, count: orders, meanScore, paidShare }) => html`<tr>
            <th scope="row" class="when">${from.toFixed(2)} to ${to.toFixed(2)}</th>
            <td class="num">${count(orders)}</td>
            <td class="num">${meanScore.toFixed(4)}</td>
            <td class="when">${intervalText(paidShare)}</td>
          </tr>`,
        )}
      <//>
    </div>
  </section>`;
}

const SIZE = 220;
const EDGE = 20;
const TOP = 22;

/**
 * Paid share over score: on the diagonal the score can be taken at its word. The table has the same numbers.
 * @param {{ deciles: readonly Decile[] }} props
 */
function Diagram({ deciles }) {
  const x = (/** @type {number} */ share) => EDGE + share * SIZE;
  const y = (/** @type {number} */ share) => TOP + (1 - share) * SIZE;
  const [width, height] = [EDGE + SIZE + 8, TOP + SIZE + 24];
  return html`<svg class="diagram diagram-square" aria-hidden="true" viewBox=${`0 0 ${width} ${height}`}>
    <rect class="diagram-frame" x=${EDGE} y=${TOP} width=${SIZE} height=${SIZE} />
    <line class="diagram-ideal" x1=${x(0)} y1=${y(0)} x2=${x(1)} y2=${y(1)} />
    ${deciles.map(({ meanScore, paidShare: { low, high } }) => {
      const line = { x1: x(meanScore), x2: x(meanScore), y1: y(low), y2: y(high) };
      return html`<line class="diagram-interval" ...${line} />`;
    })}
    ${deciles.map(
      ({ meanScore, paidShare }) =>
        html`<circle class="diagram-point" cx=${x(meanScore)} cy=${y(paidShare.value)} r="4" />`,
    )}
    <text x=${EDGE} y=${height - 8}>0</text>
    <text x=${EDGE + SIZE} y=${height - 8} text-anchor="end">score 1</text>
    <text x=${EDGE - 6} y=${y(0)} text-anchor="end">0</text>
    <text x=${EDGE - 6} y=${TOP + 10} text-anchor="end">1</text>
    <text x=${EDGE} y="14">paid share</text>
  </svg>`;
}
