/** Converts a moment, given in epoch ms or as RFC 3339 text, to epoch ms. Returns null for any other value. */
export function toEpochMs(value: unknown): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'string' || !INSTANT.test(value) || !isCalendarDay(value.slice(0, 10))) return null;
  const ms = Date.parse(value);
  return ms >= 0 ? ms : null;
}

const INSTANT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/** Checks the day, because Date.parse reads 30 February as 2 March. */
function isCalendarDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** Formats epoch ms to the second, like `2026-11-21T10:00:00Z`. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Converts a time to its age at `lastAt`, and an age back to its time. A payer's state stores times as ages. */
export function convertBetweenTimeAndAge(momentOrAge: number | null, lastAt: number): number | null {
  return momentOrAge === null ? null : lastAt - momentOrAge;
}
