import { html } from '../html.js';
import { dateTime, duration } from './format.js';

const WIDTH = 380;
const HEIGHT = 150;
const LEFT = 8;
const BOTTOM = 122;
const TOP = 34;

/** The waits of a cooldown ladder as steps; heights are logarithmic, because levels grow by tens. */
export function LadderSteps({ ladder, name }) {
  const { levelsMs, resetAfterMs } = ladder;
  const stepWidth = (WIDTH - 2 * LEFT) / (levelsMs.length + 1);
  const height = heightOf(levelsMs);
  const words = levelsMs.map((ms, index) => `level ${index + 1} ${duration(ms)}`).join(', ');
  const path = levelsMs.map((ms, index) => `V${height(ms)}H${LEFT + stepWidth * (index + 2)}`).join('');
  return html`<figure class="chart">
    <figcaption><h3>${name}</h3><span class="faint">reset after ${duration(resetAfterMs)} or a payment</span></figcaption>
    <svg class="steps" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`First request: no wait; ${words}; the last level repeats`}>
      <path class="steps-fill" d=${`M${LEFT} ${BOTTOM}H${LEFT + stepWidth}${path}V${BOTTOM}Z`} />
      <path class="steps-line" d=${`M${LEFT} ${BOTTOM}H${LEFT + stepWidth}${path}`} />
      <text x=${LEFT + stepWidth / 2} y=${BOTTOM - 8} text-anchor="middle">no wait</text>
      <text class="steps-axis" x=${LEFT + stepWidth / 2} y=${HEIGHT - 8} text-anchor="middle">first</text>
      ${levelsMs.map((ms, index) => {
        const x = LEFT + stepWidth * (index + 1.5);
        const last = index === levelsMs.length - 1;
        return html`<text x=${x} y=${height(ms) - 8} text-anchor="middle">${duration(ms)}</text>
          <text class="steps-axis" x=${x} y=${HEIGHT - 8} text-anchor="middle">${`level ${index + 1}${last ? ' ↻' : ''}`}</text>`;
      })}
    </svg>
  </figure>`;
}

function heightOf(levelsMs) {
  const low = Math.log(Math.min(...levelsMs));
  const high = Math.log(Math.max(...levelsMs));
  const span = high - low || 1;
  return (ms) => BOTTOM - 22 - ((Math.log(ms) - low) / span) * (BOTTOM - 22 - TOP);
}

/** Where a client stood on the ladder before a decision, and where after it; told of `beforeAt` and `at`. */
export function LadderMove({ before, after, at, beforeAt = at }) {
  const rungs = Math.max(3, before.level, after.level);
  return html`<div class="ladder-move">
    <${Standing} title="before" ladder=${before} rungs=${rungs} at=${beforeAt} />
    <span class="arrow" aria-hidden="true">→</span>
    <${Standing} title="after" ladder=${after} rungs=${rungs} at=${at} />
  </div>`;
}

function Standing({ title, ladder, rungs, at }) {
  const { level } = ladder;
  const rungHeight = 84 / (rungs + 1);
  return html`<figure>
    <figcaption>${title}</figcaption>
    <svg viewBox="0 0 150 92" role="img" aria-label=${`${title}: level ${level} of ${rungs}`}>
      <path class="rail" d="M14 4V88M76 4V88" />
      ${Array.from({ length: rungs + 1 }, (_, rung) => {
        const y = 84 - rung * rungHeight;
        const reached = rung <= level;
        return html`<path class=${reached ? 'rung rung-reached' : 'rung'} d=${`M14 ${y}H76`} />
          ${rung === level && html`<circle class="stand" cx="45" cy=${y} r="6" />`}
          <text x="84" y=${y + 4}>${rung === 0 ? 'none' : `level ${rung}`}</text>`;
      })}
    </svg>
    <p>${standingText(ladder, at)}</p>
  </figure>`;
}

function standingText({ level, attemptOpen, waitUntil }, at) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  return waitUntil > at
    ? html`${step}; waits ${duration(waitUntil - at)}, until <span class="when">${dateTime(waitUntil)}</span>`
    : `${step}; the wait was over ${duration(at - waitUntil)} before`;
}
