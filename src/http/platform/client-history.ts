import type { Binding, Override } from '../../client/client-state.ts';
import type { OrderOutcome } from '../../client/outcomes.ts';
import type { ScoreRequest } from '../../decision/decide.ts';
import type { Decision, ScoreAnswer } from '../../decision/decision.ts';
import type { ClientJournal, JournalEntry } from '../../state/store.ts';

/** How many entries one answer lists. */
export const HISTORY_LISTED = { default: 100, max: 500 } as const;

/** A score request as the platform sees it: whether a device was told, and not which. */
export interface ScoredRequest extends Omit<ScoreRequest, 'fingerprint' | 'ip'> {
  readonly fingerprintPresent: boolean;
  readonly ipPresent: boolean;
}

/** One thing that happened to a client; `kind` says which members it has. Times are epoch ms. */
export type HistoryEntry =
  | {
      readonly kind: 'score';
      readonly at: number;
      readonly request: ScoredRequest;
      readonly ruleVersion: string;
      readonly answer: ScoreAnswer;
    }
  | { readonly kind: 'verdict'; readonly at: number; readonly decision: Decision }
  | ({ readonly kind: 'outcome'; readonly at: number; readonly orderRef: string } & OrderOutcome)
  | { readonly kind: 'binding'; readonly at: number; readonly binding: Binding | null }
  | { readonly kind: 'override'; readonly at: number; readonly override: Override | null };

/** What happened to a client as the platform sees it, newest first. No HMACs. */
export function viewOfHistory(clientIdKey: string, { entries, complete }: ClientJournal) {
  return { clientIdKey, entries: entries.map(viewOfEntry), complete };
}

function viewOfEntry(entry: JournalEntry): HistoryEntry {
  const { at } = entry;
  switch (entry.kind) {
    case 'score': {
      const { kind, ruleVersion, answer } = entry;
      return { kind, at, request: scoredRequest(entry.request), ruleVersion, answer };
    }
    case 'verdict':
      return { kind: entry.kind, at, decision: entry.decision };
    case 'outcome': {
      const { outcome, cause, occurredAt } = entry.order;
      return { kind: entry.kind, at, orderRef: entry.orderRef, outcome, cause, occurredAt };
    }
    case 'binding':
      return { kind: entry.kind, at, binding: entry.binding };
    case 'override':
      return { kind: entry.kind, at, override: entry.override };
    default:
      throw new Error(entry satisfies never);
  }
}

/** Member by member, so that what the request may hold one day is not shown by mistake. */
function scoredRequest(request: ScoreRequest): ScoredRequest {
  return {
    sellPointKey: request.sellPointKey,
    method: request.method,
    amount: request.amount,
    currency: request.currency,
    jsOk: request.jsOk,
    honeypotTriggered: request.honeypotTriggered,
    fingerprintPresent: request.fingerprint !== null,
    ipPresent: request.ip !== null,
    userAgentPresent: request.userAgentPresent,
    userAgentIsAutomated: request.userAgentIsAutomated,
  };
}
