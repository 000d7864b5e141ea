import type { ClientGroup } from '../client/client-group.ts';
import type { Verdict } from '../rules/rule-set.ts';
import type { Arm, Decision } from './decision.ts';
import { type DecisionPosition, isAfter } from './newest-first.ts';

/** Which decisions somebody looks for; members that are left out fit all. Names are compared exactly. */
export interface DecisionFilter {
  readonly verdict?: Verdict;
  readonly rule?: string;
  readonly ruleVersion?: string;
  readonly clientGroup?: ClientGroup;
  /** A bot signal that matched. */
  readonly signal?: string;
  readonly sellPointKey?: string;
  /** The method that was asked for. */
  readonly method?: string;
  readonly arm?: Arm;
  /** The amount that was asked for, whatever its currency; both are included. */
  readonly amountMin?: number;
  readonly amountMax?: number;
  /** Decided from this time on and before that one, epoch ms. */
  readonly from?: number;
  readonly to?: number;
  /** Only what is listed after this position. */
  readonly after?: DecisionPosition;
}

export function fitsFilter(decision: Decision, filter: DecisionFilter): boolean {
  const { verdict, rule, ruleVersion, clientGroup, signal, sellPointKey, method, arm, from, to, after } =
    filter;
  return (
    (verdict === undefined || decision.verdict === verdict) &&
    (rule === undefined || decision.rule === rule) &&
    (ruleVersion === undefined || decision.ruleVersion === ruleVersion) &&
    (clientGroup === undefined || decision.clientGroup === clientGroup) &&
    (signal === undefined || decision.signals.includes(signal)) &&
    (sellPointKey === undefined || decision.sellPointKey === sellPointKey) &&
    (method === undefined || decision.facts['method'] === method) &&
    (arm === undefined || decision.arm === arm) &&
    (from === undefined || decision.at >= from) &&
    (to === undefined || decision.at < to) &&
    (after === undefined || isAfter(decision, after)) &&
    fitsAmount(decision, filter)
  );
}

function fitsAmount({ facts: { amount } }: Decision, { amountMin, amountMax }: DecisionFilter): boolean {
  if (amountMin === undefined && amountMax === undefined) return true;
  return (
    typeof amount === 'number' && amount >= (amountMin ?? 0) && amount <= (amountMax ?? Number.MAX_VALUE)
  );
}

/** The time before which all lies that a filter lets through, epoch ms; null when it lets through the newest. */
export function timeBound({ to, after }: DecisionFilter): number | null {
  if (to === undefined && after === undefined) return null;
  return Math.min(
    to ?? Number.MAX_SAFE_INTEGER,
    after === undefined ? Number.MAX_SAFE_INTEGER : after.at + 1,
  );
}
