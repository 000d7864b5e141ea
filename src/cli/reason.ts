import { UsageError } from './exit.ts';

const REASON_CHARS_MAX = 1000;

/** The value of --reason. Throws UsageError when it says nothing. */
export function parseReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_CHARS_MAX) return reason;
  throw new UsageError(`--reason must say why, in 1 to ${REASON_CHARS_MAX} characters`);
}
