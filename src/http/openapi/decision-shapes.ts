import { Type } from 'typebox';
import { clientGroup } from '../../client/client-group.ts';
import { DECISION_ID_PATTERN } from '../../client/client-key.ts';
import { isBot } from '../../decision/decision.ts';
import { factValue } from '../../facts/fact.ts';
import { DIGEST_PATTERN, ruleVersion, verdict } from '../../rules/rule-set.ts';
import { count, epochMs, list, meaning, named, nullable, shape, word, yesNo } from '../../shapes.ts';

export const paymentScore = Type.String({
  pattern: '^[01]\\.[0-9]{4}$',
  description: 'Empirical probability of successful payment, 4 decimal places; "0.5000" for a new client',
});
export const waitSeconds = Type.Integer({
  minimum: 1,
  description: 'Only with WAIT: show a timer, then ask again',
});
export const stickyRequisiteRef = word('Only with GET_SAME_STICKY: the requisite to show');

export const ladderMembers = {
  level: count('0 before any wait; otherwise the level last imposed'),
  attemptOpen: yesNo('A requisite was granted and is not paid yet'),
  waitUntil: nullable(epochMs('When the imposed wait is over; null when none is due since the last grant')),
};

export const LadderSchema = named(
  'Ladder',
  shape('Where a client stands on the cooldown ladder', ladderMembers),
);

export const DecisionSchema = named(
  'Decision',
  shape('One answered verdict with all that explains it', {
    decisionId: Type.String({ pattern: DECISION_ID_PATTERN, description: 'As in X-Decision-Id' }),
    seq: Type.Integer({ minimum: 1, description: 'Number of the decision among those of this client' }),
    at: epochMs('When'),
    platform: word('Whose client'),
    sellPointKey: word('Point of sale'),
    clientIdKey: word('Client'),
    orderRef: word("The caller's order"),
    requestId: word('As in X-Request-Id'),
    ruleVersion,
    digest: Type.String({ pattern: DIGEST_PATTERN, description: 'SHA-256 over the files of the rule set' }),
    arm: meaning(
      { active: 'the version that decides for all others', candidate: 'the one on trial' },
      'Which rule set of a rollout decided',
    ),
    verdict,
    waitSeconds: Type.Optional(waitSeconds),
    ladder: Type.Optional(word('The named ladder that the wait is of')),
    waitFloorMs: Type.Optional(
      count('How long the wait before was, ms, where the ladder would have given a shorter one'),
    ),
    stickyRequisiteRef: Type.Optional(stickyRequisiteRef),
    reason: word('As answered'),
    isBot,
    clientGroup,
    paymentScore,
    rule: word('The rule that gave the verdict, or "otherwise"'),
    signals: list(Type.String(), 'The bot signals that matched'),
    facts: Type.Record(Type.String(), factValue, {
      description: 'The values that the rules saw, by label, like "verdicts(10m)"',
    }),
    holdout: Type.Optional(
      list(
        shape('A rule that the client is held out of', {
          rule: word('Its file and name, like "groups/blocked-by-unpaid-chain"'),
          share: Type.Number({ description: 'Of the clients, from 0 to 1' }),
        }),
        'Rules that matched and were skipped',
      ),
    ),
    ladderBefore: LadderSchema,
    ladderAfter: LadderSchema,
  }),
);

export const unreadDecisions = list(
  shape('Decisions in a file of the archive that could not be read', {
    from: epochMs('When the oldest of them was made'),
    to: epochMs('When the newest of them was made'),
    decisions: count('How many they are, of all clients of the platform'),
  }),
  'Only when there are such: what they hold is not among these decisions',
);

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
