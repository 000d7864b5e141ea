export const DIGEST_EXAMPLE = '4c1f0d5e8b7a6c93d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9';
export const AT_EXAMPLE = Date.UTC(2026, 10, 21, 10);

export const DECISION_EXAMPLE = {
  decisionId: 'gU2xN0cVq3b1T7mZk9Lw4q.1.mwq8lds0',
  seq: 1,
  at: AT_EXAMPLE,
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
