import type { Arm, Decision } from './decision.ts';
import { clientNumber } from './payer/client-key.ts';
import type { ClientGroup } from './payer/client-state.ts';
import type { Verdict } from './rules/rule-set.ts';

/**
 * A decision's place in the list of all decisions of a platform: newest first, within a millisecond by client and
 * number, so that paging can continue anywhere.
 */
export interface DecisionPosition {
  /** Epoch ms. */
  readonly at: number;
  readonly clientHash: string;
  readonly seq: number;
}

export function newestFirst(a: Decision, b: Decision): number {
  // The times nearly always differ, and searches sort thousands while requests wait.
  return b.at - a.at || comparePositions(positionOf(a), positionOf(b));
}

/** Whether a decision comes after a position in the list. */
export function isAfter(decision: Decision, position: DecisionPosition): boolean {
  return comparePositions(positionOf(decision), position) > 0;
}

function positionOf({ decisionId, seq, at }: Decision): DecisionPosition {
  return { at, clientHash: decisionId.slice(0, CLIENT_HASH_CHARACTERS), seq };
}

const CLIENT_HASH_CHARACTERS = 22;

function comparePositions(a: DecisionPosition, b: DecisionPosition): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.clientHash !== b.clientHash)
    return BigInt(clientNumber(a.clientHash)) < BigInt(clientNumber(b.clientHash)) ? 1 : -1;
  return b.seq - a.seq;
}

/** Which decisions to find; members that are left out match all. Names are compared exactly. */
export interface DecisionFilter {
  readonly verdict?: Verdict;
  readonly rule?: string;
  readonly ruleVersion?: string;
  readonly clientGroup?: ClientGroup;
  /** A bot signal that matched. */
  readonly signal?: string;
  /** A flag that it was recorded with. */
  readonly flag?: string;
  readonly sellPointKey?: string;
  readonly requestId?: string;
  readonly method?: string;
  readonly arm?: Arm;
  /** The amount that was asked for, whatever its currency; both are included. */
  readonly amountMin?: number;
  readonly amountMax?: number;
  /** Decided at or after `from` and before `to`, epoch ms. */
  readonly from?: number;
  readonly to?: number;
  /** Only what is listed after this position. */
  readonly after?: DecisionPosition;
}

export function fitsFilter(decision: Decision, filter: DecisionFilter): boolean {
  const { verdict, rule, ruleVersion, clientGroup, signal, flag, sellPointKey, requestId } = filter;
  const { method, arm, from, to, after } = filter;
  return (
    (verdict === undefined || decision.verdict === verdict) &&
    (rule === undefined || decision.rule === rule) &&
    (ruleVersion === undefined || decision.ruleVersion === ruleVersion) &&
    (clientGroup === undefined || decision.clientGroup === clientGroup) &&
    (signal === undefined || decision.signals.includes(signal)) &&
    (flag === undefined || decision.flags?.includes(flag) === true) &&
    (sellPointKey === undefined || decision.sellPointKey === sellPointKey) &&
    (requestId === undefined || decision.requestId === requestId) &&
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

/** The time before which all matching decisions were made, epoch ms; null when the newest may match. */
export function timeBound({ to, after }: DecisionFilter): number | null {
  if (to === undefined && after === undefined) return null;
  return Math.min(
    to ?? Number.MAX_SAFE_INTEGER,
    after === undefined ? Number.MAX_SAFE_INTEGER : after.at + 1,
  );
}
