const NEVER_SECONDS = 999999999;

/** `14:03` in the reader's own time zone. */
export function clockTime(epochMs) {
  return new Date(epochMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** `2026-01-01 14:03:27` in the reader's own time zone. */
export function dateTime(epochMs) {
  if (epochMs === null || epochMs === undefined) return '–';
  return `${day(epochMs)} ${clockSeconds(epochMs)}`;
}

/** `2026-01-01` in the reader's own time zone. */
export function day(epochMs) {
  const date = new Date(epochMs);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `14:03:27` in the reader's own time zone. */
export function clockSeconds(epochMs) {
  const date = new Date(epochMs);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function two(number) {
  return String(number).padStart(2, '0');
}

/** `30 s`, `5 min`, `1 h 30 min`, `2 d`; the two largest parts. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor((seconds % 86400) / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'min'],
    [seconds % 60, 's'],
  ].filter(([count]) => count > 0);
  if (parts.length === 0) return '0 s';
  return parts
    .slice(0, 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

export function count(number) {
  return number.toLocaleString('en');
}

/** `12.5 %`; `–` of nothing. */
export function share(part, whole) {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** A fact's value as people read it. */
export function factText(value) {
  if (value === NEVER_SECONDS) return 'never';
  if (Array.isArray(value)) return value.map(factText).join(', ');
  if (value === '') return '(empty)';
  return typeof value === 'number' ? String(Math.round(value * 10000) / 10000) : String(value);
}

/** `p2.v11` for p2.v10: what a version made from this one would be called. */
export function versionAfter(version) {
  return version.replace(/\d+$/, (number) => String(Number(number) + 1));
}

export function shortDigest(digest) {
  return digest === null || digest === undefined ? '–' : digest.slice(0, 12);
}
