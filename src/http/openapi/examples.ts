/** Longer examples that more than one operation shows. */

export const DIGEST_EXAMPLE = '4c1f0d5e8b7a6c93d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9';
const AT = Date.UTC(2026, 10, 21, 10);

export const DECISION_EXAMPLE = {
  decisionId: 'gU2xN0cVq3b1T7mZk9Lw4q.1',
  seq: 1,
  at: AT,
  platform: 'shop',
  sellPointKey: 'shop-1',
  clientIdKey: 'ann',
  orderRef: 'order-1',
  requestId: '0b9bfa1e-3a1c-4d5c-9f0e-5d2f8f6f3c11',
  ruleVersion: 'p2.v10',
  digest: DIGEST_EXAMPLE,
  arm: 'active',
  verdict: 'GET_NEW',
  reason: 'No reason to hold the payer back.',
  isBot: false,
  clientGroup: 'NEW',
  paymentScore: '0.5000',
  rule: 'otherwise',
  signals: [],
  facts: { paidCount: 0, clientGroup: 'NEW', 'verdicts(10m)': 1 },
  ladderBefore: { level: 0, attemptOpen: false, waitUntil: null },
  ladderAfter: { level: 0, attemptOpen: true, waitUntil: null },
} as const;

export const MINUTE_EXAMPLE = {
  verdicts: [
    {
      at: AT,
      verdicts: { GET_NEW: 41, GET_SAME_STICKY: 3, WAIT: 12, BLOCK: 2 },
      groups: { NEW: 30, STICKY: 3, PAYING: 20, TRUSTED: 3, BLOCKED: 2 },
      bots: 2,
      waits: { 1: 9, 2: 3 },
    },
  ],
  requests: [{ at: AT, requests: 97, refused: 1, failed: 0, latencyMs: { p50: 0.95, p95: 2.33, p99: 4.55 } }],
} as const;

export const CLIENT_EXAMPLE = {
  clientIdKey: 'ann',
  ruleVersion: 'p2.v10',
  clientGroup: 'PAYING',
  paymentScore: '0.6667',
  isBot: false,
  signals: [],
  firstSeenAt: AT,
  lastVerdictAt: AT,
  decisionCount: 1,
  ladder: { level: 0, attemptOpen: false, waitUntil: null },
  outcomes: { paidCount: 1, unpaidCount: 0, lastPaidAt: AT, lastUnpaidAt: null },
  binding: null,
  override: null,
  facts: { paidCount: 1, clientGroup: 'PAYING' },
  decisions: [DECISION_EXAMPLE],
} as const;

export const HISTORY_EXAMPLE = {
  clientIdKey: 'ann',
  entries: [
    {
      kind: 'outcome',
      at: AT + 95_000,
      orderRef: 'order-1',
      outcome: 'PAID',
      cause: null,
      occurredAt: AT + 90_000,
    },
    { kind: 'verdict', at: AT, decision: DECISION_EXAMPLE },
    {
      kind: 'score',
      at: AT - 20_000,
      request: {
        sellPointKey: 'shop-1',
        method: 'card',
        amount: '25.00',
        currency: null,
        jsOk: true,
        honeypotTriggered: false,
        fingerprintPresent: true,
        ipPresent: true,
        userAgentPresent: true,
        userAgentIsAutomated: false,
      },
      ruleVersion: 'p2.v10',
      answer: { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false },
    },
  ],
  complete: true,
} as const;

export const ROLLOUT_EXAMPLE = {
  revision: 2,
  active: { version: 'p2.v10', digest: DIGEST_EXAMPLE },
  candidate: {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE.replace('4', '5'),
    mode: 'canary',
    percent: 5,
    trial: `p2.v11@${AT}`,
    since: AT,
    guardPoints: 2,
  },
  history: [
    {
      at: AT,
      who: 'ann',
      action: 'canary',
      from: 'p2.v10',
      to: 'p2.v11',
      digest: DIGEST_EXAMPLE.replace('4', '5'),
      percent: 5,
      reason: 'longer first wait',
    },
  ],
} as const;
