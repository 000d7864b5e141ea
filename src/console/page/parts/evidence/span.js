import { html } from '../../html.js';
import { Field } from '../form.js';
import { knownAt, MinuteField, spanOf } from '../time-span.js';

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
 * The field `days`: how far back the decisions reach.
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
 * The time that evidence is worked out on: between the minutes that an address names, or so many days
 * back; `asOf` is the minute at whose end it was known.
 * `words` name it in another address.
 * @typedef {{
 *   readonly words: Readonly<Record<string, string>>,
 *   readonly span: { from?: number, to?: number, asOf?: number },
 * }} EvidenceTime
 */

const DAYS_AT_FIRST = '30';

/**
 * @param {URLSearchParams} query
 * @returns {EvidenceTime}
 */
export function timeIn(query) {
  const [from, to, days] = [query.get('from'), query.get('to'), query.get('days') ?? DAYS_AT_FIRST];
  const minute = query.get('asOf');
  const known = knownAt(minute);
  const span = spanOf({ from, to });
  const words = { ...(minute && { asOf: minute }) };
  if (span.from === undefined && span.to === undefined) {
    const since = sinceDays(days, known.asOf);
    return { words: { days, ...words }, span: { ...known, ...(since === undefined ? {} : { from: since }) } };
  }
  return { words: { ...(from && { from }), ...(to && { to }), ...words }, span: { ...span, ...known } };
}

/**
 * The fields for it; minutes go before days.
 * @param {{ words: EvidenceTime['words'] }} props
 */
export function TimeFields({ words }) {
  return html`<${Reach} days=${words['days'] ?? DAYS_AT_FIRST} />
    <${MinuteField} label="or from" name="from" minute=${words['from']} />
    <${MinuteField} name="to" minute=${words['to']} />
    <${MinuteField} label="as known at" name="asOf" minute=${words['asOf']} />`;
}

/**
 * The beginning of the day so many days ago, in UTC: the same question all day long. Undefined for
 * everything.
 * @param {string} days
 */
export function sinceDays(days, now = Date.now()) {
  const number = Number(days);
  if (!(number > 0)) return undefined;
  return Math.floor((now - number * DAY_MS) / DAY_MS) * DAY_MS;
}
