import type { Command } from 'commander';
import { DURATION_FORM, parseDuration } from '#base/duration.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import { isPlatformName, PLATFORM_NAME_FORM_TEXT, type PlatformName } from '#decision/payer/client-key.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { UsageError } from './exit.ts';

/** Parses the value of --platform. Throws UsageError if it is not a platform name. */
export function parsePlatform(text: string): PlatformName {
  if (isPlatformName(text)) return text;
  throw new UsageError(`--platform must have ${PLATFORM_NAME_FORM_TEXT}, not "${text}"`);
}

/**
 * Parses the value of --platform, which may also be `*`, the whole installation. Throws UsageError for any other
 * text.
 */
export function parsePlatformOrInstallation(text: string): PlatformName {
  if (isPlatformName(text) || isInstallation(text)) return text;
  throw new UsageError(
    `--platform must have ${PLATFORM_NAME_FORM_TEXT}, or be "*" for the whole installation, not "${text}"`,
  );
}

/**
 * Converts a time that a person wrote to epoch ms. A date alone means the beginning of that day in UTC. Returns null
 * for undefined. Throws UsageError if the text is not a time, or has no time zone.
 */
export function parseTime(text: string | undefined, option: string): number | null {
  if (text === undefined) return null;
  const at = toEpochMs(DAY.test(text) ? `${text}T00:00Z` : text);
  if (at !== null) return at;
  throw new UsageError(
    `${option} is "${text}"; it must be a time like 2026-11-01 (from midnight UTC), 2026-11-01T10:00:00Z or 2026-11-01T11:00:00+01:00`,
  );
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** Adds the options that limit a time span. `parseTime` parses their values. */
export function addSpanOptions(command: Command): Command {
  return command
    .option('--from <time>', 'only decisions from this time on, like 2026-11-01 or 2026-11-01T10:00:00Z')
    .option('--to <time>', 'only decisions before this time');
}

/** Converts the value of --expires to ms. Throws UsageError if the text is no duration. */
export function parseLifetime(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new UsageError(`--expires must be ${DURATION_FORM}, not "${text}"`);
  return ms;
}

/** Parses a whole number from 1 to `max`. Throws UsageError for any other text. */
export function parseWholeNumber(option: string, text: string, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= max) return number;
  throw new UsageError(`${option} must be a whole number from 1 to ${max}, not "${text}"`);
}

const REASON_CHARS_MAX = 1000;

/** Parses the value of --reason. Throws UsageError if it is empty or too long. */
export function parseReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_CHARS_MAX) return reason;
  throw new UsageError(`--reason must say why, in 1 to ${REASON_CHARS_MAX} characters`);
}

/** Converts the name of a parameter to the name of an option: `as-of` for `asOf`. */
export function toOptionName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
