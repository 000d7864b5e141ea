import { html } from '../../html.js';
import { Field } from '../form.js';

const DAY_MS = 86_400_000;

/** How far back evidence is looked for; the number is of days. */
const REACHES = /** @type {const} */ ([
  ['1', 'the last day'],
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
  ['90', 'the last 90 days'],
  ['all', 'everything'],
]);

/**
 * The field that says how far back the decisions reach that are looked at, as `days`.
 * @param {{ days?: string }} props what is chosen at first
 */
export function Reach({ days }) {
  return html`<${Field} label="on decisions of">
    <select name="days">
      ${REACHES.map(
        ([value, text]) => html`<option value=${value} selected=${value === days}>${text}</option>`,
      )}
    </select>
  <//>`;
}

/**
 * The beginning of the day so many days ago, in UTC: the same question all day long. Undefined for
 * everything.
 * @param {string} days
 */
export function sinceDays(days) {
  const number = Number(days);
  if (!(number > 0)) return undefined;
  return Math.floor((Date.now() - number * DAY_MS) / DAY_MS) * DAY_MS;
}
