import { html } from '../html.ts';
import type { Ladder } from '../questions.ts';
import { dateTime, duration } from './format.ts';

const HEIGHT = 150;
const BOTTOM = 122;
const TOP = 34;

/** The waits of a cooldown ladder as steps; heights are logarithmic, because levels grow by tens. */
export function ladderSteps(name: string, levelsMs: readonly number[], resetAfterMs: number) {
  const words = levelsMs.map((ms, index) => `level ${index + 1} ${duration(ms)}`).join(', ');
  const label = `First request: no wait; ${words}; the last level repeats`;
  return html`<figure class="chart">
    <figcaption>
      <h3>${name}</h3>
      <span class="faint">reset after ${duration(resetAfterMs)} or a payment</span>
    </figcaption>
    <svg class="steps" height=${HEIGHT} role="img" aria-label=${label}>
      ${steps(levelsMs)}
    </svg>
  </figure>`;
}

/** Across in percent, so that steps fill the width while letters keep their size. */
function steps(levelsMs: readonly number[]) {
  const width = 100 / (levelsMs.length + 1);
  const height = heightOf(levelsMs);
  const last = levelsMs.length - 1;
  return html`${step({ from: 0, width, y: BOTTOM, below: BOTTOM }, 'no wait', 'first')}
    ${levelsMs.map((ms, index) => {
      const name = `level ${index + 1}${index === last ? ' ↻' : ''}`;
      const below = index === 0 ? BOTTOM : height(levelsMs[index - 1] ?? ms);
      const place = { from: width * (index + 1), width, y: height(ms), below };
      return step(place, duration(ms), name);
    })}`;
}

type Place = Readonly<Record<'from' | 'width' | 'y' | 'below', number>>;

/** A step and the way up to it from the height of the one before, `below`. */
function step({ from, width, y, below }: Place, wait: string, name: string) {
  const [left, right, middle] = [from, from + width, from + width / 2].map((percent) => `${percent}%`);
  return html`<rect class="steps-fill" x=${left} y=${y} width=${`${width}%`} height=${BOTTOM - y} />
    <line class="steps-line" x1=${left} y1=${below} x2=${left} y2=${y} />
    <line class="steps-line" x1=${left} y1=${y} x2=${right} y2=${y} />
    <text x=${middle} y=${y - 8} text-anchor="middle">${wait}</text>
    <text class="steps-axis" x=${middle} y=${HEIGHT - 8} text-anchor="middle">${name}</text>`;
}

function heightOf(levelsMs: readonly number[]) {
  const low = Math.log(Math.min(...levelsMs));
  const high = Math.log(Math.max(...levelsMs));
  const span = high - low || 1;
  return (ms: number) => BOTTOM - 22 - ((Math.log(ms) - low) / span) * (BOTTOM - 22 - TOP);
}

/** Where a payer stands among the waits, at a moment. */
export function standingText({ level, attemptOpen, waitUntil }: Ladder, at: number) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  if (waitUntil <= at) return `${step}; the wait was over ${duration(at - waitUntil)} before`;
  return `${step}; waits ${duration(waitUntil - at)}, until ${dateTime(waitUntil)}`;
}
