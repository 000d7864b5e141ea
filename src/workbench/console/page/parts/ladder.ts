import type { Ladder } from '#workbench/console/page/questions.ts';
import { dateTime, duration, readMoment } from './format.ts';

/** Where a payer stands among the waits, at a moment. */
export function standingText({ level, attemptOpen, waitUntil }: Ladder, at: string) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  const leftMs = readMoment(waitUntil) - readMoment(at);
  if (leftMs <= 0) return `${step}; the wait was over ${duration(-leftMs)} before`;
  return `${step}; waits ${duration(leftMs)}, until ${dateTime(waitUntil)}`;
}
