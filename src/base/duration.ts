const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const DAY_MS = UNIT_MS.d;

export const DURATION_PATTERN = /^([1-9]\d{0,8})([smhd])$/;

/** The form of a duration, for messages. */
export const DURATION_FORM = 'a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d';

/** Parses a text like `30s`, `5m`, `24h` or `7d` to milliseconds. Returns null for any other text. */
export function parseDuration(text: string): number | null {
  const match = DURATION_PATTERN.exec(text);
  if (match === null) return null;
  const [, amount, unit] = match;
  if (unit !== 's' && unit !== 'm' && unit !== 'h' && unit !== 'd') return null;
  return Number(amount) * UNIT_MS[unit];
}

/** Formats whole seconds as "1 day 2 hours 5 seconds", or in the narrow style as "1d 2h 5s". */
export function formatSeconds(seconds: number, style: 'long' | 'narrow'): string {
  if (seconds === 0) return '0 seconds';
  const parts = {
    days: Math.floor(seconds / 86_400),
    hours: Math.floor(seconds / 3600) % 24,
    minutes: Math.floor(seconds / 60) % 60,
    seconds: seconds % 60,
  };
  return new Intl.DurationFormat('en', { style }).format(parts).replaceAll(',', '');
}

/** Formats milliseconds as the shortest duration that is exact. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms >= UNIT_MS[unit] && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  }
  return `${ms / 1000}s`;
}
