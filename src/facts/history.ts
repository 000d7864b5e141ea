import { live } from '../client/client-state.ts';
import { lastOutcome, lastPaidAt, lastUnpaidAt, UNPAID_CHAIN_MAX, unpaidChain } from '../client/outcomes.ts';
import { paymentScore } from '../client/payment-score.ts';
import { count, type Fact, SECONDS, secondsSince, YES_NO } from './fact.ts';

const ANY_COUNT = count(Number.MAX_SAFE_INTEGER);

/** What became of the client's orders, and what people decided about the client. */
export const HISTORY_FACTS = {
  isNewClient: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description:
      'No verdict was asked (this request included) and no outcome, technical ones included, binding or override is known.',
    read: ({ isNew }) => isNew,
  },
  paidCount: {
    kind: 'plain',
    domain: ANY_COUNT,
    unit: 'orders',
    description: 'Orders whose final outcome is PAID.',
    read: ({ state }) => state.outcomes.paidCount,
  },
  unpaidCount: {
    kind: 'plain',
    domain: ANY_COUNT,
    unit: 'orders',
    description:
      'Orders whose final outcome is UNPAID; technical failures and orders that were turned away count neither way.',
    read: ({ state }) => state.outcomes.unpaidCount,
  },
  finalCount: {
    kind: 'plain',
    domain: ANY_COUNT,
    unit: 'orders',
    description: 'Orders with a final outcome: paidCount + unpaidCount.',
    read: ({ state }) => state.outcomes.paidCount + state.outcomes.unpaidCount,
  },
  unpaidChain: {
    kind: 'plain',
    domain: count(UNPAID_CHAIN_MAX),
    unit: 'orders',
    description: `UNPAID outcomes since the last PAID one, counted up to ${UNPAID_CHAIN_MAX}.`,
    read: ({ state }) => unpaidChain(state.outcomes),
  },
  lastOutcome: {
    kind: 'plain',
    domain: { type: 'enum', values: ['NONE', 'PAID', 'UNPAID'] },
    unit: null,
    description: 'The newest final outcome; NONE when there is none.',
    read: ({ state }) => lastOutcome(state.outcomes) ?? 'NONE',
  },
  paymentScore: {
    kind: 'plain',
    domain: { type: 'number', integer: false, min: 0, max: 1 },
    unit: null,
    description: 'Smoothed share of PAID among final outcomes, 4 decimals; 0.5 with no final outcome.',
    read: ({ state: { outcomes }, smoothing }) =>
      paymentScore(outcomes.paidCount, outcomes.paidCount + outcomes.unpaidCount, smoothing),
  },
  secondsSinceFirstSeen: {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: 'Since the first contact of any kind.',
    read: ({ state, now }) => secondsSince(state.firstSeenAt ?? now, now),
  },
  secondsSinceLastPaid: {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: 'Since the newest PAID outcome; 999999999 when there is none.',
    read: ({ state, now }) => secondsSince(lastPaidAt(state.outcomes), now),
  },
  secondsSinceLastUnpaid: {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: 'Since the newest UNPAID outcome; 999999999 when there is none.',
    read: ({ state, now }) => secondsSince(lastUnpaidAt(state.outcomes), now),
  },
  hasBinding: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'The platform bound the client to a requisite, and the binding has not expired.',
    read: ({ state, now }) => live(state.binding, now) !== null,
  },
  overrideGroup: {
    kind: 'plain',
    domain: { type: 'enum', values: ['NONE', 'BLOCKED', 'TRUSTED'] },
    unit: null,
    description: 'The group that a person set for this client; NONE when nobody did or it has expired.',
    read: ({ state, now }) => live(state.override, now)?.group ?? 'NONE',
  },
} as const satisfies Record<string, Fact>;
