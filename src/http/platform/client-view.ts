import type { PlatformName } from '../../client/client-key.ts';
import { live } from '../../client/client-state.ts';
import { formatPaymentScore, paymentScore } from '../../client/payment-score.ts';
import { factsByLabel } from '../../decision/assess.ts';
import { settingsOf } from '../../rules/rule-set.ts';
import type { ClientView } from '../../service/records.ts';

/** A client as the platform sees it: state in words, facts by label, the last decisions. No HMACs. */
export function viewOfClient(
  platform: PlatformName,
  clientIdKey: string,
  { state, facts, rules, decisions, now }: ClientView,
) {
  const { outcomes, ladder } = state;
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
      lastPaidAt: outcomes.lastPaidAt,
      lastUnpaidAt: outcomes.lastUnpaidAt,
    },
    binding: live(state.binding, now),
    override: live(state.override, now),
    facts: factsByLabel(rules, facts.values),
    decisions,
  };
}
