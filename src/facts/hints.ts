import { type Fact, YES_NO } from './fact.ts';

/** What the score calls of the last 24 hours told about the payer's device and page. Hints only add up. */
export const HINT_FACTS = {
  scoredBefore: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A score was asked for this client within the last 24 hours.',
    read: ({ hints }) => hints.scored,
  },
  honeypotTriggered: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A trap field was filled in within the last 24 hours.',
    read: ({ hints }) => hints.trapped,
  },
  jsOk: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description:
      'False only when the last score, within 24 hours, said that the page did not execute JavaScript.',
    read: ({ hints }) => !hints.noScript,
  },
  userAgentPresent: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A score of the last 24 hours carried a User-Agent.',
    read: ({ hints }) => hints.userAgentPresent,
  },
  userAgentIsAutomated: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A User-Agent of the last 24 hours is that of a known crawler, script or headless browser.',
    read: ({ hints }) => hints.userAgentIsAutomated,
  },
  fingerprintPresent: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A score of the last 24 hours carried a fingerprint.',
    read: ({ hints }) => hints.fingerprints.length > 0,
  },
} as const satisfies Record<string, Fact>;
