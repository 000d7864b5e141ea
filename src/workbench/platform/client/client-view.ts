import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { labelFactValues } from '#decision/assess.ts';
import { DecisionSchema, isBotSchema, paymentScoreSchema } from '#decision/decision.ts';
import { type NullableFactValue, nullableFactValueSchema } from '#decision/facts/fact.ts';
import { REQUEST_FACTS } from '#decision/facts/request.ts';
import { NextVerdictSchema } from '#decision/next-verdict.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import {
  BindingSchema,
  clientGroupSchema,
  keepUnlessExpired,
  OverrideSchema,
} from '#decision/payer/client-state.ts';
import { LadderSchema } from '#decision/payer/ladder.ts';
import { findLastPaidAt, findLastUnpaidAt } from '#decision/payer/outcomes.ts';
import { computePaymentScore, formatPaymentScore } from '#decision/payer/payment-score.ts';
import { getPlatformSettings, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { UnreadDecisionsListSchema } from '#history/archive/unread-decisions.ts';
import type { KnownClient } from '#workbench/payers/records.ts';

export const ClientSchema = s.named(
  'Client',
  s.shape('What is known of a client', {
    clientIdKey: s.plainText('As the caller chose it', 'ann'),
    ruleVersion: ruleVersionSchema,
    clientGroup: clientGroupSchema,
    paymentScore: paymentScoreSchema,
    isBot: isBotSchema,
    signals: s.list(Type.String(), 'The bot signals that match now'),
    firstSeenAt: s.nullable(s.epochMs('First contact')),
    lastVerdictAt: s.nullable(s.epochMs('Last verdict')),
    decisionCount: s.count('Decisions made'),
    ladder: LadderSchema,
    outcomes: s.shape('Final outcomes, each order counted once', {
      paidCount: s.count('Paid orders'),
      unpaidCount: s.count('Unpaid orders'),
      lastPaidAt: s.nullable(s.epochMs('Last payment')),
      lastUnpaidAt: s.nullable(s.epochMs('Last unpaid order')),
    }),
    binding: s.nullable(BindingSchema),
    override: s.nullable(OverrideSchema),
    facts: Type.Record(nullableFactValueSchema, {
      description:
        'What the rules would see now, by label; none of a request, because nobody asks for anything',
    }),
    nextVerdict: NextVerdictSchema,
    decisions: s.list(DecisionSchema, 'The last ones, newest first'),
    unread: Type.Optional(UnreadDecisionsListSchema),
  }),
);

/**
 * Returns a client as the platform sees it: its state in words, its facts by label, and its last decisions. HMACs are
 * left out.
 */
export function toClientView(
  platform: PlatformName,
  clientIdKey: string,
  { state, ladder, facts, nextVerdict, rules, decisions, unread, now }: KnownClient,
): s.ValueOf<typeof ClientSchema> {
  const { outcomes } = state;
  const finalCount = outcomes.paidCount + outcomes.unpaidCount;
  const { smoothing } = getPlatformSettings(rules, platform);
  return {
    clientIdKey,
    ruleVersion: rules.version,
    clientGroup: facts.clientGroup,
    paymentScore: formatPaymentScore(computePaymentScore(outcomes.paidCount, finalCount, smoothing)),
    isBot: facts.isBot,
    signals: facts.signals,
    firstSeenAt: state.firstSeenAt,
    lastVerdictAt: state.lastVerdictAt,
    decisionCount: state.seq,
    ladder,
    outcomes: {
      paidCount: outcomes.paidCount,
      unpaidCount: outcomes.unpaidCount,
      lastPaidAt: findLastPaidAt(outcomes),
      lastUnpaidAt: findLastUnpaidAt(outcomes),
    },
    binding: keepUnlessExpired(state.binding, now),
    override: keepUnlessExpired(state.override, now),
    facts: excludeRequestFacts(labelFactValues(rules, facts.values)),
    nextVerdict,
    decisions,
    ...(unread.length === 0 ? {} : { unread }),
  };
}

/** Leaves out the facts of a request, like its amount, because no request was made. */
function excludeRequestFacts(
  facts: Readonly<Record<string, NullableFactValue>>,
): Record<string, NullableFactValue> {
  return Object.fromEntries(Object.entries(facts).filter(([label]) => !Object.hasOwn(REQUEST_FACTS, label)));
}
