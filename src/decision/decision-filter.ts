import type { ClientGroup } from '../client/client-group.ts';
import type { Verdict } from '../rules/rule-set.ts';
import type { Decision } from './decision.ts';

/** Which decisions somebody looks for; members that are left out fit all. Names are compared exactly. */
export interface DecisionFilter {
  readonly verdict?: Verdict;
  readonly rule?: string;
  readonly ruleVersion?: string;
  readonly clientGroup?: ClientGroup;
  /** A bot signal that matched. */
  readonly signal?: string;
  /** The amount that was asked for, whatever its currency; both are included. */
  readonly amountMin?: number;
  readonly amountMax?: number;
  /** Decided from this time on and before that one, epoch ms. */
  readonly from?: number;
  readonly to?: number;
}

export function fitsFilter(decision: Decision, filter: DecisionFilter): boolean {
  const { verdict, rule, ruleVersion, clientGroup, signal, from, to } = filter;
  return (
    (verdict === undefined || decision.verdict === verdict) &&
    (rule === undefined || decision.rule === rule) &&
    (ruleVersion === undefined || decision.ruleVersion === ruleVersion) &&
    (clientGroup === undefined || decision.clientGroup === clientGroup) &&
    (signal === undefined || decision.signals.includes(signal)) &&
    (from === undefined || decision.at >= from) &&
    (to === undefined || decision.at < to) &&
    fitsAmount(decision, filter)
  );
}

function fitsAmount({ facts: { amount } }: Decision, { amountMin, amountMax }: DecisionFilter): boolean {
  if (amountMin === undefined && amountMax === undefined) return true;
  return (
    typeof amount === 'number' && amount >= (amountMin ?? 0) && amount <= (amountMax ?? Number.MAX_VALUE)
  );
}
