import { clientGroup } from '../../../client/client-group.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import { BindingSchema, live, OverrideSchema } from '../../../client/client-state.ts';
import { LadderSchema } from '../../../client/ladder.ts';
import { lastPaidAt, lastUnpaidAt } from '../../../client/outcomes.ts';
import { formatPaymentScore, paymentScore } from '../../../client/payment-score.ts';
import { factsByLabel } from '../../../decision/assess.ts';
import { DecisionSchema, isBot, paymentScoreText } from '../../../decision/decision.ts';
import type { FactValue } from '../../../facts/fact.ts';
import { factValue } from '../../../facts/fact.ts';
import { REQUEST_FACTS } from '../../../facts/request.ts';
import { Type } from '../../../json-schema.ts';
import { ruleVersion, settingsOf } from '../../../rules/rule-set.ts';
import type { ClientView } from '../../../service/records.ts';
import { count, epochMs, list, named, nullable, type Shape, shape, word } from '../../../shapes.ts';
import { unreadDecisions } from '../../../state/decision-search.ts';
import { DECISION_EXAMPLE } from '../../openapi/decision-shapes.ts';

export const ClientSchema = named(
  'Client',
  shape('What is known of a client', {
    clientIdKey: word('As the caller chose it'),
    ruleVersion,
    clientGroup,
    paymentScore: paymentScoreText,
    isBot,
    signals: list(Type.String(), 'The bot signals that match now'),
    firstSeenAt: nullable(epochMs('First contact')),
    lastVerdictAt: nullable(epochMs('Last verdict')),
    decisionCount: count('Decisions made'),
    ladder: LadderSchema,
    outcomes: shape('Final outcomes, each order counted once', {
      paidCount: count('Paid orders'),
      unpaidCount: count('Unpaid orders'),
      lastPaidAt: nullable(epochMs('Last payment')),
      lastUnpaidAt: nullable(epochMs('Last unpaid order')),
    }),
    binding: nullable(BindingSchema),
    override: nullable(OverrideSchema),
    facts: Type.Record(factValue, {
      description:
        'What the rules would see now, by label; none of a request, because nobody asks for anything',
    }),
    decisions: list(DecisionSchema, 'The last ones, newest first'),
    unread: Type.Optional(unreadDecisions),
  }),
);

export const CLIENT_EXAMPLE = {
  clientIdKey: 'ann',
  ruleVersion: 'p2.v10',
  clientGroup: 'PAYING',
  paymentScore: '0.6667',
  isBot: false,
  signals: [],
  firstSeenAt: DECISION_EXAMPLE.at,
  lastVerdictAt: DECISION_EXAMPLE.at,
  decisionCount: 1,
  ladder: { level: 0, attemptOpen: false, waitUntil: null },
  outcomes: { paidCount: 1, unpaidCount: 0, lastPaidAt: DECISION_EXAMPLE.at, lastUnpaidAt: null },
  binding: null,
  override: null,
  facts: { paidCount: 1, clientGroup: 'PAYING' },
  decisions: [DECISION_EXAMPLE],
} as const;

/** A client as the platform sees it: state in words, facts by label, the last decisions. No HMACs. */
export function viewOfClient(
  platform: PlatformName,
  clientIdKey: string,
  { state, ladder, facts, rules, decisions, unread, now }: ClientView,
): Shape<typeof ClientSchema> {
  const { outcomes } = state;
  const finalCount = outcomes.paidCount + outcomes.unpaidCount;
  const { smoothing } = settingsOf(rules, platform);
  return {
    clientIdKey,
    ruleVersion: rules.version,
    clientGroup: facts.clientGroup,
    paymentScore: formatPaymentScore(paymentScore(outcomes.paidCount, finalCount, smoothing)),
    isBot: facts.isBot,
    signals: facts.signals,
    firstSeenAt: state.firstSeenAt,
    lastVerdictAt: state.lastVerdictAt,
    decisionCount: state.seq,
    ladder,
    outcomes: {
      paidCount: outcomes.paidCount,
      unpaidCount: outcomes.unpaidCount,
      lastPaidAt: lastPaidAt(outcomes),
      lastUnpaidAt: lastUnpaidAt(outcomes),
    },
    binding: live(state.binding, now),
    override: live(state.override, now),
    facts: withoutRequest(factsByLabel(rules, facts.values)),
    decisions,
    ...(unread.length === 0 ? {} : { unread }),
  };
}

/** Facts of a request, like its amount, are left out: nobody made a request. */
function withoutRequest(facts: Readonly<Record<string, FactValue>>): Record<string, FactValue> {
  return Object.fromEntries(Object.entries(facts).filter(([label]) => !Object.hasOwn(REQUEST_FACTS, label)));
}
