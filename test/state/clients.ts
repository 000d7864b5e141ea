import { randomUUID } from 'node:crypto';
import type { Decision } from '#decision/decision.ts';
import { NO_SHARING_QUESTION } from '#decision/facts/fact.ts';
import {
  type ClientKey,
  formatDecisionId,
  isPlatformName,
  type PlatformName,
} from '#decision/payer/client-key.ts';
import { type ClientState, recordActivity, toShortHash } from '#decision/payer/client-state.ts';
import type { OrderOutcome } from '#decision/payer/order.ts';
import { NO_SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import { isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import type { JournalEntry } from '#state/journal.ts';
import type { ClientFromStore, Commit, SightingsQueryAndNote, Store } from '#state/store.ts';
import { clientKey } from '../decision/payer/client-keys.ts';

/** 2026-11-01T00:00:00Z: stores must not care that decisions have times unlike theirs. */
export const T0 = 1_793_491_200_000;

export const MINUTE_MS = 60_000;

/** A platform of its own for every test, so that tests can share a store. */
export function newPlatform(name: string = `p-${randomUUID()}`): PlatformName {
  if (!isPlatformName(name)) throw new Error(name);
  return name;
}

export function newClient(
  platform: PlatformName = newPlatform(),
  clientIdKey: string = randomUUID(),
): ClientKey {
  return clientKey(platform, clientIdKey);
}

export function decisionFor(
  client: ClientKey,
  seq: number,
  orderRef: string,
  at: number = T0 + seq,
): Decision {
  const ladder = { level: 0, attemptOpen: false, waitUntil: null };
  const { platform, clientIdKey, hash } = client;
  return {
    ...{
      decisionId: formatDecisionId(hash, seq, at),
      seq,
      at,
      platform,
      sellPointKey: 'shop-1',
      clientIdKey,
      orderRef,
    },
    ...{
      requestId: `request-${seq}`,
      ruleVersion: ruleVersion('p1.v1'),
      digest: 'd1'.repeat(32),
      arm: 'active',
    },
    verdict: 'GET_NEW',
    reason: 'No reason to hold the payer back.',
    isBot: false,
    clientGroup: 'NEW',
    paymentScore: '0.5000',
    rule: 'otherwise',
    signals: [],
    facts: { paidCount: 0 },
    ladderBefore: ladder,
    ladderAfter: { ...ladder, attemptOpen: true },
  };
}

/** A verdict about a client in a snapshot. */
export function verdictOn(
  client: ClientKey,
  { state, stamp }: ClientFromStore,
  orderRef: string,
  at?: number,
  facts: Decision['facts'] = {},
): Commit {
  const plain = decisionFor(client, state.seq + 1, orderRef, at);
  const decision = { ...plain, facts: { ...plain.facts, ...facts } };
  const { platform, clientIdKey } = client;
  return {
    client,
    stamp,
    state: { ...recordActivity(state, decision.at), seq: decision.seq, lastVerdictAt: decision.at },
    entry: { kind: 'verdict', at: decision.at, platform, clientIdKey, decision },
    decision,
  };
}

/** A platform's report that an order was paid which is older than those that the state remembers. */
export function paymentOf(
  client: ClientKey,
  { state, stamp }: ClientFromStore,
  orderRef: string,
  at: number = T0,
): Commit {
  const order: OrderOutcome = { outcome: 'PAID', cause: null, occurredAt: at };
  const displaced = { orders: [{ ...order, token: toShortHash(orderRef) }], keptMs: 3_600_000 };
  const { platform, clientIdKey } = client;
  return {
    client,
    stamp,
    state: recordActivity(state, at),
    entry: { kind: 'outcome', at, platform, clientIdKey, orderRef, order },
    displaced,
  };
}

/** A change that keeps no record but the state and a journal entry. */
export function changeTo(client: ClientKey, { stamp }: ClientFromStore, state: ClientState): Commit {
  const { platform, clientIdKey } = client;
  return {
    client,
    stamp,
    state,
    entry: { kind: 'binding', at: state.lastAt, platform, clientIdKey, binding: null },
  };
}

export function withAnswer(change: Commit, idempotencyKey: string): Commit {
  return { ...change, idempotencyKey };
}

/** One verdict as in the service: loaded, decided, committed; repeated after a lost race. */
export async function verdict(
  store: Store,
  client: ClientKey,
  orderRef: string,
  at?: number,
  facts?: Decision['facts'],
): Promise<Decision> {
  await store.sightings(askFor(client, { at: at ?? T0, record: true }));
  for (;;) {
    const change = verdictOn(client, await store.load(client), orderRef, at, facts);
    if ((await store.commit(change)) === 'committed' && change.decision !== undefined) return change.decision;
  }
}

export function askFor(client: ClientKey, ask: Partial<SightingsQueryAndNote>): SightingsQueryAndNote {
  const question = { ...NO_SHARING_QUESTION, windowsMs: [10 * MINUTE_MS] };
  const sharing = { fingerprint: question, ip: question };
  return {
    client,
    at: T0,
    fingerprint: null,
    ip: null,
    sharing,
    marks: NO_SIGHTING_MARKS,
    record: false,
    ...ask,
  };
}

/** One entry of each kind with all its members, and those that lift a binding and an override, oldest first. */
export function entriesOfEachKind(client: ClientKey): readonly JournalEntry[] {
  const { platform, clientIdKey } = client;
  const about = (index: number) => ({ at: T0 + index, platform, clientIdKey });
  const request = {
    ...{
      sellPointKey: 'shop "1"',
      method: "card's",
      amount: '12.50',
      currency: 'EUR',
      fingerprint: 'f',
      ip: null,
    },
    jsOk: false,
    honeypotTriggered: true,
    userAgentPresent: true,
    userAgentIsAutomated: false,
    userAgentIsApp: false,
  };
  const lists = { preferredAcceptorKey: ['a', 'b'], payLimitValue: ['EUR:250.00'] };
  const answer = { clientGroup: 'STICKY', paymentScore: '0.7500', isBot: false, ...lists } as const;
  const order = { outcome: 'UNPAID', cause: 'EXPIRED', occurredAt: T0 } as const;
  const binding = { requisiteRef: 'r', acceptorKeys: ['💳', 'ü\n'], method: null, expiresAt: T0 + 1e6 };
  const override = {
    group: 'BLOCKED',
    reason: 'chargebacks, "é"',
    by: 'ann',
    at: T0 + 4,
    expiresAt: null,
  } as const;
  return [
    { kind: 'score', ...about(0), request, ruleVersion: 'p1.v1', answer },
    { kind: 'verdict', ...about(1), decision: decisionFor(client, 1, 'order-1', T0 + 1) },
    { kind: 'outcome', ...about(2), orderRef: 'order-1', order },
    { kind: 'binding', ...about(3), binding },
    { kind: 'override', ...about(4), override, who: 'key 1 of desk' },
    { kind: 'binding', ...about(5), binding: null },
    { kind: 'override', ...about(6), override: null, who: 'key 2' },
    {
      kind: 'waitEnded',
      ...about(7),
      decisionId: formatDecisionId(client.hash, 1, T0 + 1),
      reason: 'é',
      who: 'key 3',
    },
  ];
}

/** Commits them for a client of whom nothing is known yet. */
export async function commitEachKind(store: Store, client: ClientKey): Promise<void> {
  for (const entry of entriesOfEachKind(client)) {
    const { state, stamp } = await store.load(client);
    const decision = entry.kind === 'verdict' ? { decision: entry.decision } : {};
    await store.commit({ client, stamp, state: recordActivity(state, entry.at), entry, ...decision });
  }
}

export function ruleVersion(text: string): RuleVersion {
  if (!isRuleVersion(text)) throw new Error(text);
  return text;
}
