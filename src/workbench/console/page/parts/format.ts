import type { FactValue, NullableFactValue } from '#workbench/console/page/questions.ts';

export { formatCount } from '#base/count-text.ts';

/** Whether all times are shown in UTC, and not in the reader's own time zone. */
let isUtc = false;

export function showTimesInUtc(wanted: boolean) {
  isUtc = wanted;
}

/** A moment as the API writes it, in RFC 3339, or as the page computes with it, in epoch ms. */
type Moment = string | number;

/** Converts a moment of an answer to epoch ms. */
export function parseMoment(text: string) {
  return Date.parse(text);
}

/** Converts epoch ms to a moment of a query. */
export function toMomentText(epochMs: number) {
  return new Date(epochMs).toISOString();
}

/** Formats a moment like `2026-01-01T14:03:27.000`, in the zone in which times are shown. */
function toClock(moment: Moment) {
  const date = new Date(moment);
  const offsetMs = isUtc ? 0 : date.getTimezoneOffset() * 60_000;
  return new Date(date.getTime() - offsetMs).toISOString().slice(0, -1);
}

/** Formats a moment like `2026-01-01T14:03`, for fields with minutes. */
export function formatMinute(moment: Moment) {
  return toClock(moment).slice(0, 16);
}

/** Parses a text of `formatMinute` to epoch ms. */
export function parseMinute(text: string) {
  return Date.parse(isUtc ? `${text}Z` : text);
}

/** Formats a moment like `14:03`. */
export function formatClock(moment: Moment) {
  return toClock(moment).slice(11, 16);
}

/** Formats a moment like `2026-01-01 14:03:27`. */
export function formatDateTime(moment: Moment | null | undefined) {
  if (moment === null || moment === undefined) return '–';
  return `${formatDay(moment)} ${formatClockSeconds(moment)}`;
}

/** Formats a moment like `2026-01-01`. */
export function formatDay(moment: Moment) {
  return toClock(moment).slice(0, 10);
}

/** Formats a moment like `14:03:27`. */
export function formatClockSeconds(moment: Moment) {
  return toClock(moment).slice(11, 19);
}

const UNITS: readonly (readonly [perUnit: number, below: number, unit: string])[] = [
  [86_400, Number.POSITIVE_INFINITY, 'd'],
  [3600, 24, 'h'],
  [60, 60, 'min'],
  [1, 60, 's'],
];

/** Formats a duration by its two largest parts: `30 s`, `5 min`, `1 h 30 min`, `2 d`. */
export function formatDuration(ms: number) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = UNITS.flatMap(([perUnit, below, unit]) => {
    const whole = Math.floor(seconds / perUnit);
    const times = below === Number.POSITIVE_INFINITY ? whole : whole % below;
    return times === 0 ? [] : [`${times} ${unit}`];
  });
  return parts.length === 0 ? '0 s' : parts.slice(0, 2).join(' ');
}

export function groupDigits(number: number) {
  return number.toLocaleString('en');
}

export function formatPercent(value: number) {
  return `${value.toFixed(1)} %`;
}

/** Formats a share like `12.5 %`. Returns `–` if the whole is 0. */
export function formatShare(part: number, whole: number) {
  return whole === 0 ? '–' : formatPercent((100 * part) / whole);
}

export function formatPlatform(platform: string) {
  return platform === '*' ? 'all platforms' : platform;
}

/** Formats a fact's value for people. */
export function formatFact(value: NullableFactValue | readonly FactValue[]): string {
  if (value === null) return 'not known';
  if (value === '') return '(empty)';
  if (typeof value === 'object') return value.map(formatFact).join(', ');
  return typeof value === 'number' ? formatNumber(value) : String(value);
}

/** Formats an amount like `25.00 EUR`, with the zeros of its currency and with all its decimals. */
export function formatMoney(amount: NullableFactValue, currency: string) {
  const text = formatFact(amount);
  const [whole, fraction = ''] = text.split('.');
  const digits = currency === '' ? fraction.length : fraction.padEnd(getDecimals(currency), '0').length;
  return `${whole}${digits === 0 ? '' : `.${fraction.padEnd(digits, '0')}`} ${currency}`.trimEnd();
}

function getDecimals(currency: string) {
  // Only names of three letters can be looked up. Others, like USDT, are no currencies of a state.
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  return (
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits ?? 2
  );
}

/**
 * Formats a number as an amount is written: every digit of `0.00012345`, and no exponent. At most 15
 * digits are shown, because further digits are rounding errors of a sum.
 */
function formatNumber(number: number) {
  return number.toLocaleString('en', { useGrouping: false, maximumSignificantDigits: 15 });
}

/** Suggests the name of a version that is made from this one: `p2.v11` for p2.v10. */
export function suggestNextVersion(version: string) {
  return version.replace(/\d+$/, (number) => String(Number(number) + 1));
}

export function shortenDigest(digest: string | null | undefined) {
  return digest === null || digest === undefined ? '–' : digest.slice(0, 12);
}

/** The pattern of the name of a version that can be released, for an input. */
export const RELEASE_NAME_PATTERN = 'p(0|[1-9]\\d{0,5})\\.v(0|[1-9]\\d{0,5})';

/**
 * The pattern of the name of a version or a draft. A test ensures that it is equal to the form that the
 * service accepts.
 */
export const VERSION_NAME_PATTERN = `${RELEASE_NAME_PATTERN}(-[a-z][a-z0-9]{0,15})?`;

/** Whether a version of this name can be released. The name of a draft may have one more word. */
export function isReleaseName(version: string) {
  return !version.includes('-');
}

/** The form of a draft's name, in words. */
export const VERSION_NAME_FORM_TEXT = [
  'p<number>.v<number>, like p2.v10; a draft may add one hyphen and one word of at most 16 small letters',
  'and digits, like p2.v11-night',
].join(' ');

/** Creates the error that says that another version has this name. */
export function createTakenNameError(version: string) {
  return new Error(`${version} exists already; choose another name.`);
}
