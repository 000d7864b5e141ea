import { html } from '../../html.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { CALIBRATION } from '../../questions.js';
import { DriftOf } from './drift.js';
import { MakeDraft } from './make-draft.js';

/**
 * @import { Calibration, Session, SmoothingQuality } from '../../answers.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 * @typedef {SmoothingQuality['reliability'][number]} Decile
 */

/**
 * Whether the payment score is a true probability, as it is and with the smoothing that fits best.
 * @param {{ version: string, time: EvidenceTime, session: Session }} props
 */
export function Reliability({ version, time, session }) {
  /** @type {Evidence<Calibration>} */
  const evidence = useEvidence(CALIBRATION, { version, ...time.span });
  const shown = (/** @type {Calibration} */ found) => html`<${Found} found=${found} session=${session} />`;
  return html`<${WorkedOut} evidence=${evidence}>${shown}<//>
    <${DriftOf} version=${version} time=${time} />`;
}

/** @param {{ found: Calibration, session: Session }} props */
function Found({ found, session }) {
  const { version, before, after, notes, tables } = found;
  const isOther = after !== null && !isSame(after.smoothing, before.smoothing);
  return html`
    <${Notes} notes=${notes} />
    ${
      after &&
      html`<div class="two">
        <${Side} title=${`${version} as it is`} quality=${before} />
        ${isOther && html`<${Side} title="With the smoothing that fits best" quality=${after} />`}
      </div>`
    }
    ${
      isOther &&
      html`<${MakeDraft}
        session=${session}
        found=${{ from: version, values: valuesOf(after) }}
      />`
    }
    <${EvidenceTables} tables=${tables} />`;
}

/** @param {SmoothingQuality} quality */
function valuesOf({ smoothing: { prior, weight } }) {
  return { 'ruleset.smoothing.prior': String(prior), 'ruleset.smoothing.weight': String(weight) };
}

/**
 * @param {SmoothingQuality['smoothing']} one
 * @param {SmoothingQuality['smoothing']} other
 */
function isSame(one, other) {
  return one.prior === other.prior && one.weight === other.weight;
}

/** @param {{ title: string, quality: SmoothingQuality }} props */
function Side({ title, quality: { reliability } }) {
  return html`<section class="card">
    <h2>${title}</h2>
    <${Diagram} deciles=${reliability} />
  </section>`;
}

const SIZE = 220;
const EDGE = 20;
const TOP = 22;

/**
 * Paid share over score: on the diagonal the score is a true probability. The table has the same numbers.
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
