import { live } from '../client/client-state.ts';
import { formatPaymentScore } from '../client/payment-score.ts';
import type { ClientView } from '../service.ts';

/** A client as the platform sees it: state in words, facts by label, the last decisions. No HMACs. */
export function viewOfClient(clientIdKey: string, { state, facts, rules, decisions, now }: ClientView) {
  const { outcomes, ladder } = state;
  const values = Object.fromEntries(rules.facts.map(({ label, index }) => [label, facts.values[index]]));
  return {
    clientIdKey,
    ruleVersion: rules.version,
    clientGroup: facts.clientGroup,
    paymentScore: formatPaymentScore(Number(values['paymentScore'])),
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
    facts: values,
    decisions,
  };
}
