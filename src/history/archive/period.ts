/** Formats epoch ms as a UTC day: `2026-11-21`. */
export function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/**
 * Returns the day if all `days` are the same, like `2026-11-21`. Otherwise returns the month of the first day,
 * `2026-11`.
 */
export function getCommonDayOrMonth(days: readonly string[]): string {
  const [first = ''] = days;
  return days.every((day) => day === first) ? first : getMonth(first);
}

export function getMonth(day: string): string {
  return day.slice(0, '2026-11'.length);
}
