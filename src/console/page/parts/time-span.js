import { html } from '../html.js';
import { Field, formValues } from './form.js';

/** @import { FormEvent } from './form.js' */

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
 * @param {FormEvent} event
 */
export function valuesInUtc(event) {
  const values = formValues(event);
  for (const name of ['from', 'to', 'asOf']) {
    const local = values[name];
    if (local !== undefined) values[name] = `${minuteIn(new Date(local).getTime())}Z`;
  }
  return values;
}
