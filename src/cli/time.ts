import { DURATION_FORM, parseDuration } from '../rules/duration.ts';
import { UsageError } from './exit.ts';

/** Epoch ms of a time as people write it; null for none. Throws UsageError when the text is not a time. */
export function parseTime(text: string | undefined, option: string): number | null {
  if (text === undefined) return null;
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new UsageError(`${option} is "${text}"; it must be a time like 2026-11-01 or 2026-11-01T10:00:00Z`);
  return at;
}

/** Milliseconds of --expires. Throws UsageError when the text is no duration. */
export function parseLifetime(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new UsageError(`--expires must be ${DURATION_FORM}, not "${text}"`);
  return ms;
}

/** `2026-11-21T10:00:00Z`, to the second. */
export function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
