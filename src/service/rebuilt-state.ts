import { decimalText, moneyText } from '../client/amount.ts';
import { repeatOutcome, setBinding, setOverride } from '../client/changes.ts';
import {
  type ClientState,
  deviceToken,
  markStage,
  rememberEvent,
  token,
  touch,
  UNKNOWN_CLIENT,
  type VerdictEvent,
} from '../client/client-state.ts';
import { knownHints } from '../client/hints.ts';
import { waitRemainingMs } from '../client/ladder.ts';
import type { KnownOrder } from '../client/order.ts';
import { isGrant, lastWaitAfter } from '../decision/conclude-verdict.ts';
import type { Decision } from '../decision/decision.ts';
import { contactByScore } from '../decision/score-hints.ts';
import { type JournalEntry, recordedExposure } from '../state/journal/entry.ts';

/**
 * A client's state as what was recorded of it tells, oldest entry first. Amounts are as exact as facts keep them;
 * the networks around an address are known again from the next score on.
 */
export function rebuiltState(entries: readonly JournalEntry[]): ClientState {
  const orders = new Map<string, KnownOrder>();
  return entries.reduce((state, entry) => after(state, entry, orders), UNKNOWN_CLIENT);
}

function after(state: ClientState, entry: JournalEntry, orders: Map<string, KnownOrder>): ClientState {
  const { at } = entry;
  switch (entry.kind) {
    case 'score':
      return contactByScore(state, entry.request, at).nextState;
    case 'verdict':
      return afterVerdict(state, entry.decision);
    case 'outcome': {
      const known = orders.get(entry.orderRef) ?? null;
      const told = { ...(entry.report ?? entry.order), orderRef: entry.orderRef };
      const { state: next, order } = repeatOutcome(
        state,
        known,
        told,
        at,
        recordedExposure(entry.turnedAway),
      );
      orders.set(entry.orderRef, order);
      return next;
    }
    case 'binding':
      return setBinding(state, entry.binding, at);
    case 'override':
      return setOverride(state, entry.override, at);
    default:
      return entry satisfies never;
  }
}

function afterVerdict(state: ClientState, decision: Decision): ClientState {
  const { at, seq, ladderAfter, draw } = decision;
  const events = rememberEvent(state.events, eventOf(state, decision));
  const lastWaitMs = lastWaitAfter(decision, state.lastWaitMs, at);
  const stage = draw === undefined ? state.stage : markStage(state.stage, draw.since, decision);
  return {
    ...touch({ ...state, events }, at),
    seq,
    lastVerdictAt: at,
    ladder: ladderAfter,
    lastWaitMs,
    stage,
  };
}

function eventOf(state: ClientState, decision: Decision): VerdictEvent {
  const { at, verdict, facts, orderRef, sellPointKey, ladderBefore } = decision;
  const { fingerprints, ips } = knownHints(state.hints, at);
  const { amount = '', currency = '', method = '' } = facts;
  return {
    at,
    early: waitRemainingMs(ladderBefore, at) > 0,
    granted: isGrant(verdict),
    settled: false,
    method: token(String(method)),
    amount: moneyText(decimalText(amount), String(currency)),
    order: token(orderRef),
    sellPoint: token(sellPointKey),
    fingerprint: deviceToken(fingerprints.at(-1) ?? null),
    ip: deviceToken(ips.at(-1) ?? null),
  };
}
