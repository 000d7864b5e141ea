import { isDeepStrictEqual } from 'node:util';
import { type TProperties, Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { DecisionSchema, ScoreAnswerSchema } from '#decision/decision.ts';
import { BindingSchema, OverrideSchema } from '#decision/payer/client-state.ts';
import {
  DatedReportSchema,
  isSameResult,
  OrderOutcomeSchema,
  turnedAwaySchema,
} from '#decision/payer/order.ts';
import type { ScoreRequest } from '#decision/requests.ts';
import { ruleVersionSchema } from '#decision/rules/rule-set.ts';
import type { HistoryPage } from '#history/archive/read/decision-lookup.ts';
import type { DatedJournalPlace, JournalEntry } from '#state/journal.ts';

const at = s.epochMs('When it was accepted');

const ScoredRequestSchema = s.shape('What the caller asked with', {
  sellPointKey: s.plainText('Point of sale', 'shop-1'),
  method: s.plainText('The selectedMethodKey'),
  amount: s.plainText('The amountRequested'),
  currency: s.nullable(s.plainText("The toPayCurrency; null: the platform's")),
  jsOk: s.nullable(s.yesNo('The page executed JavaScript; null when the caller did not say')),
  honeypotTriggered: s.yesNo('A trap field was filled in'),
  fingerprintPresent: s.yesNo('A fingerprint came with it'),
  ipPresent: s.yesNo('An IP came with it'),
  userAgentPresent: s.yesNo('A User-Agent came with it'),
  userAgentIsAutomated: s.yesNo('The User-Agent is that of a program'),
  userAgentIsApp: s.yesNo("The User-Agent is that of a native app's HTTP library"),
});

function declareHistoryEntry<const Kind extends string, P extends TProperties>(
  kind: Kind,
  told: string,
  members: P,
) {
  const name = `History${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  return s.named(name, s.shape(told, { kind: s.literal(kind), at, ...members }));
}

export const HISTORY_ENTRY_SCHEMAS = {
  score: declareHistoryEntry('score', 'A score was requested', {
    request: ScoredRequestSchema,
    ruleVersion: ruleVersionSchema,
    answer: ScoreAnswerSchema,
  }),
  verdict: declareHistoryEntry('verdict', 'A verdict was requested', { decision: DecisionSchema }),
  outcome: declareHistoryEntry(
    'outcome',
    'An outcome was reported. It changed the counts, or corrected an earlier outcome',
    {
      orderRef: s.plainText("The caller's order", 'order-1'),
      ...OrderOutcomeSchema.properties,
      amount: Type.Optional(
        s.plainText(
          'The money that the result is about, like "25.5 EUR": of a payment what was captured less what was taken back; absent when it is not known',
        ),
      ),
      report: Type.Optional(s.named('DatedReport', DatedReportSchema)),
      turnedAway: Type.Optional(turnedAwaySchema),
    },
  ),
  binding: declareHistoryEntry('binding', 'A binding was set or lifted', {
    binding: s.nullable(BindingSchema),
  }),
  override: declareHistoryEntry('override', 'An override was set or lifted', {
    override: s.nullable(OverrideSchema),
  }),
  waitEnded: declareHistoryEntry('waitEnded', 'A person ended a wait before its time', {
    decisionId: s.plainText('The decision that imposed the wait'),
    reason: s.plainText('Why', 'the payer called'),
    by: s.plainText('Who, as the audit names it', 'ann'),
  }),
} as const;

const HistoryEntrySchema = s.named(
  'HistoryEntry',
  s.oneOf(
    'kind',
    HISTORY_ENTRY_SCHEMAS,
    'One thing that happened to a client; `kind` says which members it has',
  ),
);

export const ClientHistorySchema = s.named(
  'ClientHistory',
  s.shape('What happened to a client', {
    clientIdKey: s.plainText('As the caller chose it', 'ann'),
    entries: s.list(HistoryEntrySchema, 'Newest first, at most `limit`'),
    next: s.nextPageCursorSchema,
    complete: s.yesNo('False: other entries exist, or existed and are not kept any more, or cannot be read'),
  }),
);

/** A score request as the platform sees it: whether it named a device, and not which. */
type ScoredRequest = s.ValueOf<typeof ScoredRequestSchema>;

/** One entry of a client's history. `kind` says which members it has. Times are epoch ms. */
export type HistoryEntry = s.ValueOf<typeof HistoryEntrySchema>;

/** Returns a client's entries as the platform sees them, the newest first. HMACs are left out. */
export function toHistoryView(
  clientIdKey: string,
  { entries, complete, next }: HistoryPage,
): s.ValueOf<typeof ClientHistorySchema> {
  return {
    clientIdKey,
    entries: excludeRepeats(entries).map(toHistoryEntry),
    next: next === null ? null : [next.at, next.place.ms, next.place.seq].join('-'),
    complete,
  };
}

/** The form of the cursor `next` in this view: the time of an entry and its position in the journal. */
export const HISTORY_CURSOR = {
  pattern: /^\d{1,15}(-\d{1,15}){2}$/,
  read: (text: string): DatedJournalPlace => {
    const [at = 0, ms = 0, seq = 0] = text.split('-').map(Number);
    return { at, place: { ms, seq } };
  },
};

/**
 * Leaves out reports that repeat what was known of their order, because the journal holds those, too. Entries stay
 * sorted, newest first.
 */
function excludeRepeats(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const held = new Map<string, object>();
  return entries
    .toReversed()
    .filter((entry) => {
      if (entry.kind !== 'outcome') return true;
      const { orderRef, order, report = order, settledAmount, turnedAway } = entry;
      const before = held.get(orderRef);
      const after = { ...order, settledAmount, turnedAway };
      held.set(orderRef, after);
      return !isDeepStrictEqual(before, after) || !isSameResult(report, order);
    })
    .toReversed();
}

/** Returns an entry of the journal as the platform sees it. */
export function toHistoryEntry(entry: JournalEntry): HistoryEntry {
  const { at } = entry;
  switch (entry.kind) {
    case 'score': {
      const { kind, ruleVersion, answer } = entry;
      return { kind, at, request: toScoredRequest(entry.request), ruleVersion, answer };
    }
    case 'verdict':
      return { kind: entry.kind, at, decision: entry.decision };
    case 'outcome': {
      const { kind, orderRef, order, report, turnedAway, settledAmount } = entry;
      const amount = settledAmount ?? entry.amount;
      return {
        kind,
        at,
        orderRef,
        ...order,
        ...(amount === undefined ? {} : { amount }),
        ...(report === undefined ? {} : { report }),
        ...(turnedAway ? { turnedAway } : {}),
      };
    }
    case 'binding':
      return { kind: entry.kind, at, binding: entry.binding };
    case 'override':
      return { kind: entry.kind, at, override: entry.override };
    case 'waitEnded': {
      const { kind, decisionId, reason, who: by } = entry;
      return { kind, at, decisionId, reason, by };
    }
    default:
      throw new Error(entry satisfies never);
  }
}

/** The members are copied one by one, so that a future member of the request is not shown by mistake. */
function toScoredRequest(request: ScoreRequest): ScoredRequest {
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
    userAgentIsApp: request.userAgentIsApp,
  };
}
