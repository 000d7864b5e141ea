import type { Hints } from '../client/client-state.ts';
import { type Fact, type FactContext, YES_NO } from './fact.ts';

/** Hints older than this belong to another checkout and are not used. */
export const HINTS_VALID_MS = 24 * 3600_000;

/** What the score calls told about the payer's device and page. */
export const HINT_FACTS = {
  scoredBefore: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A score was asked for this client within the last 24 hours.',
    read: (context) => freshHints(context) !== null,
  },
  honeypotTriggered: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A trap field was filled in within the last 24 hours.',
    read: ({ state: { hints }, now }) =>
      hints !== null && hints.honeypotAt !== null && now - hints.honeypotAt < HINTS_VALID_MS,
  },
  jsOk: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description:
      'False only when the last score, if it was within 24 hours, said that the page did not execute JavaScript.',
    read: (context) => freshHints(context)?.jsOk !== false,
  },
  userAgentPresent: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'The last score within 24 hours carried a User-Agent.',
    read: (context) => freshHints(context)?.userAgentPresent === true,
  },
  userAgentIsAutomated: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description:
      'The User-Agent of the last score within 24 hours is that of a known crawler, script or headless browser.',
    read: (context) => freshHints(context)?.userAgentIsAutomated === true,
  },
  fingerprintPresent: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'The last score within 24 hours carried a fingerprint.',
    read: (context) => freshHints(context)?.fingerprint != null,
  },
} as const satisfies Record<string, Fact>;

function freshHints({ state, now }: FactContext): Hints | null {
  return currentHints(state.hints, now);
}

/** The hints of the last score, or null when they are too old to be about this checkout. */
export function currentHints(hints: Hints | null, now: number): Hints | null {
  return hints !== null && now - hints.scoredAt < HINTS_VALID_MS ? hints : null;
}
