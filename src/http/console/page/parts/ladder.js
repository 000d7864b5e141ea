import { html } from '../html.js';
import { dateTime, duration } from './format.js';

/**
 * @import { Ladder, OpenedRuleFolder } from '../answers.d.ts'
 * @typedef {NonNullable<OpenedRuleFolder['ladder']>} LadderSettings
 */

const WIDTH = 380;
const HEIGHT = 150;
const LEFT = 8;
const BOTTOM = 122;
const TOP = 34;

/**
 * The waits of a cooldown ladder as steps; heights are logarithmic, because levels grow by tens.
 * @param {{ ladder: LadderSettings, name: string }} props
 */
export function LadderSteps({ ladder: { levelsMs, resetAfterMs }, name }) {
  const words = levelsMs.map((ms, index) => `level ${index + 1} ${duration(ms)}`).join(', ');
  const label = `First request: no wait; ${words}; the last level repeats`;
  return html`<figure class="chart">
    <figcaption>
      <h3>${name}</h3>
      <span class="faint">reset after ${duration(resetAfterMs)} or a payment</span>
    </figcaption>
    <svg class="steps" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${label}>
      <${Steps} levelsMs=${levelsMs} />
    </svg>
  </figure>`;
}

/** @param {{ levelsMs: readonly number[] }} props */
function Steps({ levelsMs }) {
  const stepWidth = (WIDTH - 2 * LEFT) / (levelsMs.length + 1);
  const height = heightOf(levelsMs);
  const path = levelsMs.map((ms, index) => `V${height(ms)}H${LEFT + stepWidth * (index + 2)}`).join('');
  const line = `M${LEFT} ${BOTTOM}H${LEFT + stepWidth}${path}`;
  return html`<path class="steps-fill" d=${`${line}V${BOTTOM}Z`} />
    <path class="steps-line" d=${line} />
    <${Step} x=${LEFT + stepWidth / 2} y=${BOTTOM - 8} wait="no wait" name="first" />
    ${levelsMs.map((ms, index) => {
      const name = `level ${index + 1}${index === levelsMs.length - 1 ? ' ↻' : ''}`;
      const x = LEFT + stepWidth * (index + 1.5);
      return html`<${Step} x=${x} y=${height(ms) - 8} wait=${duration(ms)} name=${name} />`;
    })}`;
}

/** @param {{ x: number, y: number, wait: string, name: string }} props */
function Step({ x, y, wait, name }) {
  return html`<text x=${x} y=${y} text-anchor="middle">${wait}</text>
    <text class="steps-axis" x=${x} y=${HEIGHT - 8} text-anchor="middle">${name}</text>`;
}

/** @param {readonly number[]} levelsMs */
function heightOf(levelsMs) {
  const low = Math.log(Math.min(...levelsMs));
  const high = Math.log(Math.max(...levelsMs));
  const span = high - low || 1;
  return (/** @type {number} */ ms) => BOTTOM - 22 - ((Math.log(ms) - low) / span) * (BOTTOM - 22 - TOP);
}

/**
 * Where a client stood on the ladder before a decision, and where after it; told of `beforeAt` and `at`.
 * @param {{ before: Ladder, after: Ladder, at: number, beforeAt?: number }} props
 */
export function LadderMove({ before, after, at, beforeAt = at }) {
  const rungs = Math.max(3, before.level, after.level);
  return html`<div class="ladder-move">
    <${Standing} title="before" ladder=${before} rungs=${rungs} at=${beforeAt} />
    <span class="arrow" aria-hidden="true">→</span>
    <${Standing} title="after" ladder=${after} rungs=${rungs} at=${at} />
  </div>`;
}

/** @param {{ title: string, ladder: Ladder, rungs: number, at: number }} props */
function Standing({ title, ladder, rungs, at }) {
  const { level } = ladder;
  const rungHeight = 84 / (rungs + 1);
  const label = `${title}: level ${level} of ${rungs}`;
  return html`<figure>
    <figcaption>${title}</figcaption>
    <svg viewBox="0 0 150 92" role="img" aria-label=${label}>
      <path class="rail" d="M14 4V88M76 4V88" />
      ${Array.from({ length: rungs + 1 }, (_, rung) => {
        const y = 84 - rung * rungHeight;
        return html`<path class=${rung <= level ? 'rung rung-reached' : 'rung'} d=${`M14 ${y}H76`} />
          ${rung === level && html`<circle class="stand" cx="45" cy=${y} r="6" />`}
          <text x="84" y=${y + 4}>${rung === 0 ? 'none' : `level ${rung}`}</text>`;
      })}
    </svg>
    <p>${standingText(ladder, at)}</p>
  </figure>`;
}

/**
 * @param {Ladder} ladder
 * @param {number} at
 */
function standingText({ level, attemptOpen, waitUntil }, at) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  if (waitUntil <= at) return `${step}; the wait was over ${duration(at - waitUntil)} before`;
  const until = html`<span class="when">${dateTime(waitUntil)}</span>`;
  return html`${step}; waits ${duration(waitUntil - at)}, until ${until}`;
}
