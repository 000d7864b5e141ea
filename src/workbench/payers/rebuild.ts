import { hash } from 'node:crypto';
import { parseRollout } from '#checkout/rollout/rollout.ts';
import { computeLastWaitAfterVerdict, isAttempt } from '#decision/conclude-verdict.ts';
import type { Decision } from '#decision/decision.ts';
import { formatDecimal, formatMoney } from '#decision/payer/amount.ts';
import { endCurrentWait, reapplyOutcome, setBinding, setOverride } from '#decision/payer/changes.ts';
import { type ClientKey, parseDecisionId } from '#decision/payer/client-key.ts';
import {
  addStageAnswer,
  addVerdictEvent,
  type ClientState,
  recordActivity,
  shortenDeviceId,
  toShortHash,
  UNKNOWN_CLIENT_STATE,
  type VerdictEvent,
} from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-set-back.ts';
import { getKnownHints } from '#decision/payer/hints.ts';
import { getRemainingWaitMs } from '#decision/payer/ladder.ts';
import type { KnownOrder } from '#decision/payer/order.ts';
import { decodeClientState, encodeClientState } from '#decision/payer/state-document.ts';
import { noteScoreToAnswer } from '#decision/score-hints.ts';
import type { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { createClientKeys, SALT_REGISTER } from '#state/client-salt.ts';
import { getRecordedOrderStage, type JournalEntry } from '#state/journal.ts';
import type { Store, StoredText, TextPlace } from '#state/store.ts';
import type { Audit } from '#workbench/access/audit.ts';
import { parseKnownSecret, SECRET_REGISTER } from '#workbench/upkeep/signal-secret.ts';

/** A stored text that cannot be read, and why. */
export interface UnreadableText extends TextPlace {
  readonly why: string;
}

/** Checks every text of a store and yields those that cannot be read. `onLook` is called for each text. */
export async function* findUnreadableTexts(store: Store, onLook: () => void): AsyncGenerator<UnreadableText> {
  for await (const text of store.texts.all()) {
    onLook();
    const why = explainUnreadable(text);
    if (why === null) continue;
    yield { kind: text.kind, name: text.name, why };
  }
}

function explainUnreadable({ kind, name, text }: StoredText): string | null {
  try {
    switch (kind) {
      case 'client':
        decodeClientState(text);
        return null;
      case 'document':
        return explainBadDocument(text);
      case 'register':
        return explainBadRegister(name, text);
      default:
        return kind satisfies never;
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function explainBadRegister(name: string, text: string): string | null {
  if (name === 'rollout') return parseRollout(text) === null ? 'it holds no rollout' : null;
  if (name === SECRET_REGISTER) parseKnownSecret(text);
  if (name === SALT_REGISTER) createClientKeys(text);
  return null;
}

function explainBadDocument(text: string): string | null {
  const document: unknown = JSON.parse(text);
  const isDocument = typeof document === 'object' && document !== null && 'value' in document;
  return isDocument ? null : 'it holds no document';
}

export interface RebuiltClient {
  /** Why the replaced state could not be read. */
  readonly why: string;
  readonly state: ClientState;
  /** From how many entries the state was rebuilt. If there were none, it is the state of an unknown client. */
  readonly entries: number;
  /** The time of the oldest entry, in epoch ms. Null if there are no entries. */
  readonly since: number | null;
  /** Whether the entries begin with the first contact. */
  readonly complete: boolean;
}

interface RebuildParts {
  readonly store: Store;
  readonly decisions: DecisionLookup;
  readonly audit: Audit;
}

/** The most entries of one client from which a state is rebuilt. They cover years of an ordinary payer. */
const ENTRIES_MAX = 10_000;

/**
 * Replaces a state that cannot be read by one that is rebuilt from the client's entries, and notes it in the audit.
 * Returns null if there is no state, if it can be read, or if it changed in the meantime.
 */
export async function rebuildClient(
  { store, decisions, audit }: RebuildParts,
  client: ClientKey,
  who: string,
  reason: string,
): Promise<RebuiltClient | null> {
  const place = { kind: 'client', name: client.hash } as const;
  const found = await store.texts.read(place);
  const why = found === null ? null : explainUnreadable({ ...place, text: found.text });
  if (found === null || why === null) return null;
  const { entries, complete } = await decisions.history(client, ENTRIES_MAX);
  const told = rebuildState(entries.toReversed());
  // A number that a decision has had is never given to another decision.
  const seq = Math.max(told.seq, await store.texts.findNewestDecisionNumber(client.hash));
  const state = { ...told, seq };
  const next = encodeClientState(state);
  if (!(await store.texts.replace(place, found.stamp, next))) return null;
  await audit.note(
    {
      who,
      action: 'client rebuilt',
      platform: client.platform,
      subject: client.clientIdKey,
      before: toDigest(found.text),
      after: toDigest(next),
      reason,
    },
    client,
  );
  return { why, state, entries: entries.length, since: entries.at(-1)?.at ?? null, complete };
}

/** Identifies a text for the audit without revealing its content. */
function toDigest(text: string) {
  return { sha256: hash('sha256', text), bytes: Buffer.byteLength(text) };
}

/**
 * Rebuilds a client's state from its entries, oldest first. Amounts are as exact as facts keep them. The networks
 * around an address are missing until the next score.
 */
export function rebuildState(entries: readonly JournalEntry[]): ClientState {
  const orders = new Map<string, KnownOrder>();
  return entries.reduce(
    (state, entry) => applyEntry(moveStateBack(state, entry.at), entry, orders),
    UNKNOWN_CLIENT_STATE,
  );
}

function applyEntry(state: ClientState, entry: JournalEntry, orders: Map<string, KnownOrder>): ClientState {
  const { at } = entry;
  switch (entry.kind) {
    case 'score':
      return noteScoreToAnswer(state, entry.request, at).nextState;
    case 'verdict':
      return applyVerdict(state, entry.decision);
    case 'outcome': {
      const known = orders.get(entry.orderRef) ?? null;
      const told = { ...(entry.report ?? entry.order), orderRef: entry.orderRef };
      const { state: next, order } = reapplyOutcome(
        state,
        known,
        told,
        at,
        getRecordedOrderStage(entry.turnedAway),
      );
      orders.set(entry.orderRef, order);
      return next;
    }
    case 'binding':
      return setBinding(state, entry.binding, at);
    case 'override':
      return setOverride(state, entry.override, at);
    case 'waitEnded':
      return endCurrentWait(state, parseDecisionId(entry.decisionId)?.seq ?? 0, at);
    default:
      return entry satisfies never;
  }
}

function applyVerdict(state: ClientState, decision: Decision): ClientState {
  const { at, seq, ladderAfter, draw } = decision;
  const requests = addVerdictEvent(state, toVerdictEvent(state, decision));
  const stage = draw === undefined ? state.stage : addStageAnswer(state.stage, draw.since, decision);
  return {
    ...recordActivity({ ...state, ...requests }, at),
    seq,
    lastVerdictAt: at,
    lastVerdictBlocked: decision.verdict === 'BLOCK',
    ladder: ladderAfter,
    ...computeLastWaitAfterVerdict(decision, state, at),
    stage,
  };
}

function toVerdictEvent(state: ClientState, decision: Decision): VerdictEvent {
  const { at, verdict, facts, orderRef, sellPointKey, ladderBefore } = decision;
  const { fingerprints, ips } = getKnownHints(state.hints, at);
  const { amount = '', currency = '', method = '' } = facts;
  return {
    at,
    early: getRemainingWaitMs(ladderBefore, at) > 0,
    granted: isAttempt(verdict),
    settled: false,
    waited: verdict === 'WAIT',
    blocked: verdict === 'BLOCK',
    method: toShortHash(String(method)),
    amount: formatMoney(formatDecimal(amount), String(currency)),
    order: toShortHash(orderRef),
    sellPoint: toShortHash(sellPointKey),
    fingerprint: shortenDeviceId(fingerprints.at(-1) ?? null),
    ip: shortenDeviceId(ips.at(-1) ?? null),
  };
}
