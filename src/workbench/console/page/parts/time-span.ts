import { html } from '#workbench/console/page/html.ts';
import { goTo, onSubmit, onTyped, renderField } from './form.ts';
import { formatDateTime, formatMinute, parseMinute, toMomentText } from './format.ts';

/**
 * The address keeps the time that all places show, in minutes like `2026-01-01T14:03Z`, so that a link means
 * the same in every time zone. Fields show minutes in the zone that the reader chose: the reader's own, or
 * UTC.
 */

const MINUTE_MS = 60_000;

/**
 * Returns when a minute begins, epoch ms. A minute without a zone is in UTC. Returns undefined for a text
 * that is no time.
 */
function parseMinuteStart(minute: string | null | undefined) {
  if (!minute) return undefined;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(minute) ? minute : `${minute}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** Reads the time that an address names: from the beginning of one minute to the end of another. */
export function readSpan({
  from,
  to,
}: {
  from?: string | null | undefined;
  to?: string | null | undefined;
}): {
  readonly from?: number;
  readonly to?: number;
} {
  const [begin, end] = [parseMinuteStart(from), parseMinuteStart(to)];
  return {
    ...(begin === undefined ? {} : { from: begin }),
    ...(end === undefined ? {} : { to: end + MINUTE_MS }),
  };
}

/**
 * Reads `asOf`: figures show what was known at the end of this minute. Returns an empty object if the
 * address names no such minute.
 */
function readAsOf(minute: string | null | undefined): { readonly asOf?: number } {
  const { to } = readSpan({ to: minute });
  return to === undefined ? {} : { asOf: to - 1 };
}

/** Formats a minute in UTC, as addresses contain it. */
export function formatUtcMinute(epochMs: number) {
  return `${new Date(epochMs).toISOString().slice(0, 16)}Z`;
}

export function renderMinuteField(name: string, minute: string | null | undefined, label = name) {
  const at = parseMinuteStart(minute);
  const defaultValue = at === undefined ? '' : formatMinute(at);
  return renderField(label, { type: 'datetime-local', name, defaultValue });
}

/**
 * Converts the minutes `from`, `to` and `asOf` of a form to UTC. The other values of the form stay unchanged.
 */
export function convertMinutesToUtc(local: Readonly<Record<string, string>>): Record<string, string> {
  const isMinute = (name: string) => ['from', 'to', 'asOf'].includes(name);
  const entries = Object.entries(local).map(([name, text]) =>
    isMinute(name) ? [name, formatUtcMinute(parseMinute(text))] : [name, text],
  );
  return Object.fromEntries(entries);
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How far back a place looks if the address names no beginning. `all` shows all that is kept. */
const SPANS_MS = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  quarter: 90 * DAY_MS,
  all: Number.POSITIVE_INFINITY,
} as const;

export type SpanName = keyof typeof SPANS_MS;

const SPAN_NAMES: readonly SpanName[] = ['hour', 'day', 'week', 'month', 'quarter', 'all'];

/** The query parameters that all places share. */
export const TIME_PARAMETERS: readonly string[] = ['span', 'from', 'to', 'asOf', 'zone'];

/** The time that the address names, or otherwise the default time of the place. */
export interface ShownTime {
  /** The query parameters for addresses of other places. Empty if this address names no time. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The name of the span. Null if the time lies between two moments. */
  readonly name: SpanName | null;
  /** Epoch ms. `from` is missing if the span is `all`. `to` is missing if the time ends now. */
  readonly span: { readonly from?: number; readonly to?: number; readonly asOf?: number };
}

/** Returns the time in the form of the API. */
export function toApiTimeParameters(
  span: ShownTime['span'],
): Readonly<Partial<Record<'from' | 'to' | 'asOf', string>>> {
  return Object.fromEntries(Object.entries(span).map(([name, at]) => [name, toMomentText(at)]));
}

/**
 * Reads the time from the query of an address. Days and longer spans begin with a day of UTC, so that the
 * page sends the same request all day.
 */
export function readShownTime(query: URLSearchParams, otherwise: SpanName): ShownTime {
  const parameters = Object.fromEntries([...query].filter(([name]) => TIME_PARAMETERS.includes(name)));
  const known = readAsOf(query.get('asOf'));
  const { from, to } = readSpan({ from: query.get('from'), to: query.get('to') });
  if (from !== undefined) return { parameters, name: null, span: { from, ...(to && { to }), ...known } };
  const name = SPAN_NAMES.find((one) => one === query.get('span')) ?? otherwise;
  const end = to ?? known.asOf ?? Date.now();
  const stepMs = SPANS_MS[name] >= DAY_MS ? DAY_MS : MINUTE_MS;
  const begin = name === 'all' ? {} : { from: Math.floor((end - SPANS_MS[name]) / stepMs) * stepMs };
  return {
    parameters,
    name: to === undefined ? name : null,
    span: { ...begin, ...(to && { to }), ...known },
  };
}

/**
 * Returns the address of this page with other values of query parameters. A parameter without a value is left
 * out.
 */
export function toThisPageWithParameters(words: Readonly<Record<string, string | null | undefined>>) {
  const [path = '', search] = location.hash.split('?');
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(words))
    if (value) query.set(name, value);
    else query.delete(name);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Shows the time of the present page, and the other times to choose from. */
export function TimeBar({ time: { parameters, name, span } }: { time: ShownTime }) {
  const none = { span: null, from: null, to: null };
  const submit = onSubmit((values) =>
    goTo(toThisPageWithParameters({ ...none, asOf: null, ...convertMinutesToUtc(values) })),
  );
  const wordOf = (at: number | undefined) => (at === undefined ? null : formatUtcMinute(at));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const minuteText = (at: number | undefined, otherwise: string) =>
    at === undefined ? otherwise : formatDateTime(at).slice(0, -3);
  const between = `${minuteText(span.from, '')} – ${minuteText(span.to, 'now')}`;
  return html`<nav class="time" aria-label="Time">
    <div class="segments">
      ${SPAN_NAMES.map((one) => {
        const link = {
          href: toThisPageWithParameters({ ...none, span: one }),
          'aria-current': one === name ? 'page' : undefined,
        };
        return html`<a ...${link}>${one}</a>`;
      })}
    </div>
    <details key=${JSON.stringify(parameters)}>
      <summary>${name === null ? between : 'Custom'}${parameters['asOf'] && ', as then known'}</summary>
      <form class="filters" onSubmit=${submit}>
        ${renderMinuteField('from', wordOf(span.from))}
        ${renderMinuteField('to', wordOf(span.to && span.to - MINUTE_MS))}
        ${renderMinuteField('asOf', parameters['asOf'], 'as known at (empty: now)')}
        <div class="buttons"><button type="submit">Show</button></div>
      </form>
    </details>
    <select aria-label="Time zone" onChange=${onTyped((zone) => goTo(toThisPageWithParameters({ zone })))}>
      <option value="" selected=${parameters['zone'] !== 'UTC'}>${own}</option>
      ${own !== 'UTC' && html`<option selected=${parameters['zone'] === 'UTC'}>UTC</option>`}
    </select>
  </nav>`;
}
