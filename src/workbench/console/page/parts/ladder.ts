import type { Ladder } from '#workbench/console/page/questions.ts';
import { dateTime, duration } from './format.ts';

/** Where a payer stands among the waits, at a moment. */
export function standingText({ level, attemptOpen, waitUntil }: Ladder, at: number) {
  const step = level === 0 ? 'No wait so far' : `Level ${level}`;
  if (attemptOpen) return `${step}; a requisite is shown and not paid`;
  if (waitUntil === null) return `${step}; no wait is due`;
  if (waitUntil <= at) return `${step}; the wait was over ${duration(at - waitUntil)} before`;
  return `${step}; waits ${duration(waitUntil - at)}, until ${dateTime(waitUntil)}`;
}
