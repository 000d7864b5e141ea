import type { Ladder } from '#workbench/console/page/questions.ts';
import { formatDateTime, formatDuration, parseMoment } from './format.ts';

/** Describes a payer's position on the ladder at a moment. */
export function describeLadderPosition({ level, attemptOpen, waitUntil }: Ladder, at: string) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  const leftMs = parseMoment(waitUntil) - parseMoment(at);
  if (leftMs <= 0) return `${step}; the wait was over ${formatDuration(-leftMs)} before`;
  return `${step}; waits ${formatDuration(leftMs)}, until ${formatDateTime(waitUntil)}`;
}
