import type { FactReading, FactValue } from '#workbench/console/page/questions.ts';

export { formatCount as counted } from '#base/count-text.ts';

/** Whether all times are shown in UTC, and not in the reader's own time zone. */
let isUtc = false;

export function showTimesInUtc(wanted: boolean) {
  isUtc = wanted;
}

/** As the API writes it, RFC 3339, or epoch ms as the page reckons. */
type Moment = string | number;

/** A moment of an answer as the page reckons, epoch ms. */
export function readMoment(text: string) {
  return Date.parse(text);
}

/** The other way round, for what is asked. */
export function writeMoment(epochMs: number) {
  return new Date(epochMs).toISOString();
}

/** `2026-01-01T14:03:27.000` as a clock shows it where times are shown. */
function toClock(moment: Moment) {
  const date = new Date(moment);
  const offsetMs = isUtc ? 0 : date.getTimezoneOffset() * 60_000;
  return new Date(date.getTime() - offsetMs).toISOString().slice(0, -1);
}

/** `2026-01-01T14:03`, as fields for a minute have it. */
export function formatMinute(moment: Moment) {
  return toClock(moment).slice(0, 16);
}

/** The other way round, epoch ms. */
export function parseMinute(text: string) {
  return Date.parse(isUtc ? `${text}Z` : text);
}

/** `14:03`. */
export function formatClock(moment: Moment) {
  return toClock(moment).slice(11, 16);
}

/** `2026-01-01 14:03:27`. */
export function formatDateTime(moment: Moment | null | undefined) {
  if (moment === null || moment === undefined) return '–';
  return `${formatDay(moment)} ${formatClockSeconds(moment)}`;
}

/** `2026-01-01`. */
export function formatDay(moment: Moment) {
  return toClock(moment).slice(0, 10);
}

/** `14:03:27`. */
export function formatClockSeconds(moment: Moment) {
  return toClock(moment).slice(11, 19);
}

const UNITS: readonly (readonly [perUnit: number, below: number, unit: string])[] = [
  [86_400, Number.POSITIVE_INFINITY, 'd'],
  [3600, 24, 'h'],
  [60, 60, 'min'],
  [1, 60, 's'],
];

/** `30 s`, `5 min`, `1 h 30 min`, `2 d`; the two largest parts. */
export function formatDuration(ms: number) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = UNITS.flatMap(([perUnit, below, unit]) => {
    const whole = Math.floor(seconds / perUnit);
    const times = below === Number.POSITIVE_INFINITY ? whole : whole % below;
    return times === 0 ? [] : [`${times} ${unit}`];
  });
  return parts.length === 0 ? '0 s' : parts.slice(0, 2).join(' ');
}

export function count(number: number) {
  return number.toLocaleString('en');
}

export function formatPercent(value: number) {
  return `${value.toFixed(1)} %`;
}

/** `12.5 %`; `–` of nothing. */
export function formatShare(part: number, whole: number) {
  return whole === 0 ? '–' : formatPercent((100 * part) / whole);
}

export function formatPlatform(platform: string) {
  return platform === '*' ? 'all platforms' : platform;
}

/** A fact's value as people read it. */
export function formatFact(value: FactReading | readonly FactValue[]): string {
  if (value === null) return 'not known';
  if (value === '') return '(empty)';
  if (typeof value === 'object') return value.map(formatFact).join(', ');
  return typeof value === 'number' ? formatNumber(value) : String(value);
}

/** `25.00 EUR`: with the zeros of its currency, and with all decimals that there are. */
export function formatMoney(amount: FactReading, currency: string) {
  const text = formatFact(amount);
  const [whole, fraction = ''] = text.split('.');
  const digits = currency === '' ? fraction.length : fraction.padEnd(getDecimals(currency), '0').length;
  return `${whole}${digits === 0 ? '' : `.${fraction.padEnd(digits, '0')}`} ${currency}`.trimEnd();
}

function getDecimals(currency: string) {
  // Only names of three letters can be asked for; others, like USDT, are no currencies of a state.
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  return (
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits ?? 2
  );
}

/**
 * A number as an amount is written: every digit of `0.00012345`, no exponent, and not the last digit or two
 * of a fraction, which are those of the sum that it came from.
 */
function formatNumber(number: number) {
  return number.toLocaleString('en', { useGrouping: false, maximumSignificantDigits: 15 });
}

/** `p2.v11` for p2.v10: what a version made from this one would be called. */
export function suggestNextVersion(version: string) {
  return version.replace(/\d+$/, (number) => String(Number(number) + 1));
}

export function shortenDigest(digest: string | null | undefined) {
  return digest === null || digest === undefined ? '–' : digest.slice(0, 12);
}

/** How a version that can be released is named, for the field of a form. */
export const RELEASE_NAME = 'p(0|[1-9]\\d{0,5})\\.v(0|[1-9]\\d{0,5})';

/** How a version or a draft is named; tests hold it equal to what the service takes. */
export const VERSION_NAME = `${RELEASE_NAME}(-[a-z][a-z0-9]{0,15})?`;

/** Whether a version of this name can be released: the name of a draft may have a word more. */
export function isReleaseName(version: string) {
  return !version.includes('-');
}

/** How a draft is named, in words. */
export const VERSION_FORM = [
  'p<number>.v<number>, like p2.v10; a draft may add one hyphen and one word of at most 16 small letters',
  'and digits, like p2.v11-night',
].join(' ');

/** Why a version cannot have this name. */
export function explainTakenName(version: string) {
  return new Error(`${version} exists already; choose another name.`);
}
