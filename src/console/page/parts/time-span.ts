import { html } from '../html.ts';
import { Choice, Field } from './form.ts';

/**
 * Minutes as addresses name them, `2026-01-01T14:03Z`: a link means the same time in every time zone. Fields
 * show them in the reader's own.
 */

const MINUTE_MS = 60_000;

/** When a minute begins, epoch ms; UTC where it names no zone, and undefined for what is no time. */
function beginOf(minute: string | null | undefined) {
  if (!minute) return undefined;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(minute) ? minute : `${minute}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** The time that an address names: from the beginning of one minute to the end of another. */
export function spanOf({ from, to }: { from?: string | null | undefined; to?: string | null | undefined }): {
  readonly from?: number;
  readonly to?: number;
} {
  const [begin, end] = [beginOf(from), beginOf(to)];
  return {
    ...(begin === undefined ? {} : { from: begin }),
    ...(end === undefined ? {} : { to: end + MINUTE_MS }),
  };
}

/**
 * The moment at whose end a minute is over, as of which figures are asked for; nothing where none is named.
 */
export function knownAt(minute: string | null | undefined): { readonly asOf?: number } {
  const { to } = spanOf({ to: minute });
  return to === undefined ? {} : { asOf: to - 1 };
}

function minuteIn(epochMs: number) {
  return new Date(epochMs).toISOString().slice(0, 16);
}

/** A field for a minute in the reader's time zone. */
export function MinuteField({
  name,
  label = name,
  minute,
}: {
  name: string;
  label?: string;
  minute: string | null | undefined;
}) {
  const at = beginOf(minute);
  const local = at === undefined ? '' : minuteIn(at - new Date(at).getTimezoneOffset() * MINUTE_MS);
  return html`<${Field} label=${label}>
    <input type="datetime-local" name=${name} defaultValue=${local} />
  <//>`;
}

/** The values of a form, with its minutes `from`, `to` and `asOf` as addresses name them. */
export function inUtc(local: Readonly<Record<string, string>>): Record<string, string> {
  const isMinute = (name: string) => ['from', 'to', 'asOf'].includes(name);
  const entries = Object.entries(local).map(([name, text]) =>
    isMinute(name) ? [name, `${minuteIn(new Date(text).getTime())}Z`] : [name, text],
  );
  return Object.fromEntries(entries);
}

const DAY_MS = 86_400_000;

/** How far back evidence is looked for; the number is of days. */
const REACHES = [
  ['1', 'the last day'],
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
  ['90', 'the last 90 days'],
  ['all', 'everything'],
] as const;

/** The field `days`: how far back the decisions reach. What is chosen at first. */
export function Reach({ days = DAYS_AT_FIRST }: { days?: string }) {
  return html`<${Choice} label="on decisions of" name="days" chosen=${days} values=${REACHES} />`;
}

/**
 * The time that evidence is worked out on: between the minutes that an address names, or so many days
 * back; `asOf` is the minute at whose end it was known.
 * `words` name it in another address.
 */
export interface EvidenceTime {
  readonly words: Readonly<Record<string, string>>;
  readonly span: { from?: number; to?: number; asOf?: number };
}

const DAYS_AT_FIRST = '30';

export function timeIn(query: URLSearchParams): EvidenceTime {
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

/** The fields for it; minutes go before days. */
export function TimeFields({ words }: { words: EvidenceTime['words'] }) {
  return html`<${Reach} days=${words['days']} />
    <${MinuteField} label="or from" name="from" minute=${words['from']} />
    <${MinuteField} name="to" minute=${words['to']} />
    <${MinuteField} label="as known at" name="asOf" minute=${words['asOf']} />`;
}

/**
 * The beginning of the day so many days ago, in UTC: the same question all day long. Undefined for
 * everything.
 */
export function sinceDays(days: string, now = Date.now()) {
  const number = Number(days);
  if (!(number > 0)) return undefined;
  return Math.floor((now - number * DAY_MS) / DAY_MS) * DAY_MS;
}
