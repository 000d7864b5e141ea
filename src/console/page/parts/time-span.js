import { html } from '../html.js';
import { Choice, Field } from './form.js';

/**
 * Minutes as addresses name them, `2026-01-01T14:03Z`: a link means the same time in every time zone. Fields
 * show them in the reader's own.
 */

const MINUTE_MS = 60_000;

/**
 * When a minute begins, epoch ms; UTC where it names no zone, and undefined for what is no time.
 * @param {string | null | undefined} minute
 */
function beginOf(minute) {
  if (!minute) return undefined;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(minute) ? minute : `${minute}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/**
 * The time that an address names: from the beginning of one minute to the end of another.
 * @param {{ from?: string | null | undefined, to?: string | null | undefined }} minutes
 * @returns {{ readonly from?: number, readonly to?: number }}
 */
export function spanOf({ from, to }) {
  const [begin, end] = [beginOf(from), beginOf(to)];
  return {
    ...(begin === undefined ? {} : { from: begin }),
    ...(end === undefined ? {} : { to: end + MINUTE_MS }),
  };
}

/**
 * The moment at whose end a minute is over, as of which figures are asked for; nothing where none is named.
 * @param {string | null | undefined} minute
 * @returns {{ readonly asOf?: number }}
 */
export function knownAt(minute) {
  const { to } = spanOf({ to: minute });
  return to === undefined ? {} : { asOf: to - 1 };
}

/** @param {number} epochMs */
function minuteIn(epochMs) {
  return new Date(epochMs).toISOString().slice(0, 16);
}

/**
 * A field for a minute in the reader's time zone.
 * @param {{ name: string, label?: string, minute: string | null | undefined }} props
 */
export function MinuteField({ name, label = name, minute }) {
  const at = beginOf(minute);
  const local = at === undefined ? '' : minuteIn(at - new Date(at).getTimezoneOffset() * MINUTE_MS);
  return html`<${Field} label=${label}>
    <input type="datetime-local" name=${name} defaultValue=${local} />
  <//>`;
}

/**
 * The values of a form, with its minutes `from`, `to` and `asOf` as addresses name them.
 * @param {Readonly<Record<string, string>>} local
 * @returns {Record<string, string>}
 */
export function inUtc(local) {
  const isMinute = (/** @type {string} */ name) => ['from', 'to', 'asOf'].includes(name);
  const entries = Object.entries(local).map(([name, text]) =>
    isMinute(name) ? [name, `${minuteIn(new Date(text).getTime())}Z`] : [name, text],
  );
  return Object.fromEntries(entries);
}

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
export function Reach({ days = DAYS_AT_FIRST }) {
  return html`<${Choice} label="on decisions of" name="days" chosen=${days} values=${REACHES} />`;
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

/** @param {URLSearchParams} query @returns {EvidenceTime} */
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

/** The fields for it; minutes go before days. @param {{ words: EvidenceTime['words'] }} props */
export function TimeFields({ words }) {
  return html`<${Reach} days=${words['days']} />
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
