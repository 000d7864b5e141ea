/** `2026-11-21`, UTC. */
export function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The day that segments have in common, or else their month: `2026-11-21` or `2026-11`. */
export function findCommonDay(days: readonly string[]): string {
  const [first = ''] = days;
  return days.every((day) => day === first) ? first : getMonth(first);
}

export function getMonth(day: string): string {
  return day.slice(0, '2026-11'.length);
}
