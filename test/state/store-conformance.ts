import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { toVerdictAnswer } from '#decision/decision.ts';
import {
  CLIENTS_ON_DEVICE_MAX,
  NO_SHARING_QUESTION,
  NOBODY_SEEN,
  type Sightings,
} from '#decision/facts/fact.ts';
import { type ClientKey, formatDecisionId, toClientNumberText } from '#decision/payer/client-key.ts';
import { recordActivity, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { NO_SIGHTING_MARKS, SIGHTING_MARKS, type SightingMarks } from '#decision/payer/sighting-marks.ts';
import type { AnyJournalEntry } from '#state/journal.ts';
import type { SightingsQueryAndNote, Store } from '#state/store.ts';
import { until } from '../servers/until.ts';
import { describeAttributeSightings } from './attribute-conformance.ts';
import { describeAuditLog } from './audit-conformance.ts';
import {
  askFor,
  changeTo,
  commitEachKind,
  decisionFor,
  entriesOfEachKind,
  MINUTE_MS,
  newClient,
  newPlatform,
  paymentOf,
  T0,
  verdict,
  verdictOn,
  withAnswer,
} from './clients.ts';
import { describeListLog } from './list-log-conformance.ts';
import { endOfJournal, entriesAbout, readAll } from './read-journal.ts';
import { describeSightingLaw, everythingOver } from './sighting-conformance.ts';

const DAY_MS = 24 * 60 * MINUTE_MS;

/** A store that was made for the tests. */
export interface StoreUnderTest {
  readonly store: Store;
  /** All stored data, as text that can be searched. */
  dump(): Promise<string>;
  /** Replaces a client's stored state behind the store's back. */
  spoil(client: ClientKey, text: string): Promise<void>;
  /** Closes the store and removes what it kept. */
  end(): Promise<void>;
}

/** The conformance suite of `Store`, for every adapter. */
export function describeStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describeClientStore(name, open, (store, dump) => {
    describe('documents', () => describeDocuments(store));
    describe('registers', () => describeRegisters(store));
    describe('the records of shared lists', () => describeListLog(store));
    describe('the entries of the audit', () => describeAuditLog(store, dump));
    describe('rate buckets', () => describeRateBuckets(store));
    describe('the journal', () => describeJournal(store));
    it('checks its health by a write on every server, and says which store it is', async () => {
      const health = await store().check();
      expect(health).not.to.deep.equal([]);
      expect(health.map(({ failure }) => failure)).to.deep.equal(health.map(() => null));
      expect(store().name).to.be.a('string').and.not.equal('');
    });
  });
}

/** The part of it that concerns clients alone, and what else the store has. */
export function describeClientStore(
  name: string,
  open: () => Promise<StoreUnderTest>,
  describeMore: (store: () => Store, dump: () => Promise<string>) => void = () => {},
): void {
  describe(`the store port on ${name}`, () => {
    let opened: StoreUnderTest;
    before(async () => {
      opened = await open();
    });
    after(() => opened?.end());
    const store = () => opened.store;

    describe('a client', () => describeClients(store));
    describe('values of attributes', () => describeAttributeSightings(store));
    describe('decisions', () => describeDecisions(store));
    describe('orders, answers and claims', () => describeOrders(store));
    describe('sightings', () => {
      describeSightings(store);
      describeSightingLaw(store);
    });
    describe('erasure', () => describeErasure(store, () => opened.dump()));
    describe('a state that cannot be read', () => describeUnreadable(() => opened));
    describeMore(store, () => opened.dump());
  });
}

function describeClients(store: () => Store): void {
  it('that is unknown has the unknown state and nothing else', async () => {
    const { stamp: _, ...snapshot } = await store().load(newClient(), { orderRef: 'o', idempotencyKey: 'k' });
    expect(snapshot).to.deep.equal({ state: UNKNOWN_CLIENT_STATE, order: null, answer: null });
  });

  it('is loaded as it was committed', async () => {
    const client = newClient();
    const change = verdictOn(client, await store().load(client), 'order-1');
    expect(await store().commit(change)).to.equal('committed');
    expect((await store().load(client)).state).to.deep.equal(change.state);
  });

  for (const [how, before, meanwhile, seq] of [
    ['its state changed', ['order-1'], (client: ClientKey) => verdict(store(), client, 'order-2'), 2],
    ['it was created', [], (client: ClientKey) => verdict(store(), client, 'order-1'), 1],
    ['it was erased', ['order-1'], (client: ClientKey) => store().erase(client), 0],
  ] as const)
    it(`is not committed when ${how} meanwhile`, async () => {
      const client = newClient();
      for (const orderRef of before) await verdict(store(), client, orderRef);
      const snapshot = await store().load(client);
      await meanwhile(client);
      expect(await store().commit(verdictOn(client, snapshot, 'order-3'))).to.equal('conflict');
      const { state } = await store().load(client);
      expect(state.seq).to.equal(seq);
      if (seq === 0) expect(state).to.deep.equal(UNKNOWN_CLIENT_STATE);
    });

  it('is left as it is by a change that lost the race', async () => {
    const client = newClient();
    const snapshot = await store().load(client);
    await verdict(store(), client, 'order-1');
    const start = await endOfJournal(store());
    const lost = verdictOn(client, { ...snapshot, state: { ...snapshot.state, seq: 6 } }, 'lost-order');
    const change = { ...paymentOf(client, snapshot, 'lost-order'), ...withAnswer(lost, 'lost-key') };
    expect(await store().commit(change)).to.equal('conflict');

    expect(await store().decision(lost.decision?.decisionId ?? '')).to.equal(null);
    expect(await store().decisionsOfOrder(client.platform, 'lost-order')).to.deep.equal([]);
    const loaded = await store().load(client, { orderRef: 'lost-order', idempotencyKey: 'lost-key' });
    expect([loaded.order, loaded.answer]).to.deep.equal([null, null]);
    expect((await readAll(store(), start, 100)).entries).to.deep.equal([]);
  });

  it('takes exactly 50 steps from 50 parallel verdicts', async () => {
    const client = newClient();
    const decisions = await Promise.all(
      Array.from({ length: 50 }, (_, index) => verdict(store(), client, `order-${index}`)),
    );
    expect((await store().load(client)).state.seq).to.equal(50);
    const seqs = decisions.map(({ seq }) => seq).sort((a, b) => a - b);
    expect(seqs).to.deep.equal(Array.from({ length: 50 }, (_, index) => index + 1));
    const kept = await store().decisionsOfClient(client, 100);
    expect(kept.map(({ seq }) => seq)).to.deep.equal(seqs.toReversed());
  });

  it('is distinguished whatever characters its names have', async () => {
    const platform = newPlatform();
    const long = ['x', '💶'].map((text) => text.repeat(256));
    for (const text of ['a\0b', 'a', '💳💳', '}{', '{a}', `"'\\`, ' ', ...long, 'é', 'e\u0301']) {
      const client = newClient(platform, text);
      const decision = await verdict(store(), client, text);
      await store().commit(paymentOf(client, await store().load(client), text));
      expect(await store().decision(decision.decisionId)).to.deep.equal(decision);
      expect(await store().decisionsOfOrder(platform, text)).to.deep.equal([decision]);
      expect((await store().load(client, { orderRef: text })).order?.outcome).to.equal('PAID');
    }
  });
}

function describeDecisions(store: () => Store): void {
  it('are found by their id, and by no other', async () => {
    const decision = await verdict(store(), newClient(), 'order-1');
    expect(await store().decision(decision.decisionId)).to.deep.equal(decision);
    for (const id of ['', 'nonsense', `${'A'.repeat(22)}.1`, `${'A'.repeat(22)}.0`, '*', '{A}'])
      expect(await store().decision(id), id).to.equal(null);
  });

  it('about an order of two clients come newest first', async () => {
    const platform = newPlatform();
    const [first, second] = [newClient(platform), newClient(platform)];
    const oldest = await verdict(store(), first, 'shared', T0 + 1);
    const middle = await verdict(store(), second, 'shared', T0 + 2);
    await verdict(store(), first, 'another', T0 + 3);
    const newest = await verdict(store(), first, 'shared', T0 + 4);
    expect(await store().decisionsOfOrder(platform, 'shared')).to.deep.equal([newest, middle, oldest]);
    expect(await store().decisionsOfOrder(newPlatform(), 'shared')).to.deep.equal([]);
  });

  it('about an order of 25 clients are all found, up to 100', async () => {
    const platform = newPlatform();
    for (const [order, clients] of Object.entries({ few: 25, many: 104 })) {
      for (let count = 0; count < clients; count++)
        await verdict(store(), newClient(platform), order, T0 + count);
      const ats = (await store().decisionsOfOrder(platform, order)).map(({ at }) => at - T0);
      const found = Math.min(clients, 100);
      expect(ats).to.deep.equal(Array.from({ length: found }, (_, index) => clients - 1 - index));
    }
  });

  it('about an order within one millisecond are the newest hundred', async () => {
    const client = newClient();
    for (let count = 0; count < 104; count++) await verdict(store(), client, 'order', T0);
    const found = await store().decisionsOfOrder(client.platform, 'order');
    expect(found.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 100 }, (_, index) => 104 - index));
  });

  it('about a client come in pages, newest first', async () => {
    const client = newClient();
    const seqs = async (limit: number, before?: number) =>
      (await store().decisionsOfClient(client, limit, before)).map(({ seq }) => seq);
    for (let count = 0; count < 5; count += 1) await verdict(store(), client, `order-${count}`);
    expect(await seqs(2)).to.deep.equal([5, 4]);
    expect(await seqs(2, 4)).to.deep.equal([3, 2]);
    expect(await seqs(2, 2)).to.deep.equal([1]);
    expect(await seqs(2, 1)).to.deep.equal([]);
    expect(await seqs(100, 1000)).to.deep.equal([5, 4, 3, 2, 1]);
    expect(await store().decisionsOfClient(newClient(), 10)).to.deep.equal([]);
  });
}

function describeOrders(store: () => Store): void {
  it('keep with its client the last outcome of an order that the state does not remember', async () => {
    const client = newClient();
    const orderOf = async (of: ClientKey, orderRef: string) => (await store().load(of, { orderRef })).order;
    for (const occurredAt of [T0, T0 + 5]) {
      await store().commit(paymentOf(client, await store().load(client), 'order-1', occurredAt));
      const order = { outcome: 'PAID', cause: null, occurredAt };
      expect(await orderOf(client, 'order-1')).to.deep.equal(order);
    }
    expect(await orderOf(client, 'order-2')).to.equal(null);
    expect(await orderOf(newClient(client.platform), 'order-1')).to.equal(null);
  });

  it('keep an answer under its Idempotency-Key', async () => {
    const client = newClient();
    await store().claimIdempotencyKey(client.platform, 'key-1', 'hash');
    const change = withAnswer(verdictOn(client, await store().load(client), 'order-1'), 'key-1');
    await store().commit(change);
    const decision = decisionFor(client, 1, 'order-1');
    expect((await store().load(client, { idempotencyKey: 'key-1' })).answer).to.deep.equal({
      answer: toVerdictAnswer(decision),
      decisionId: decision.decisionId,
    });
    expect((await store().load(client, { idempotencyKey: 'key-2' })).answer).to.equal(null);
    const another = newClient(client.platform);
    expect((await store().load(another, { idempotencyKey: 'key-1' })).answer).to.equal(null);
  });

  it('bind an Idempotency-Key to the request that came first', async () => {
    const platform = newPlatform();
    expect(await store().claimIdempotencyKey(platform, 'key', 'first')).to.equal('first');
    expect(await store().claimIdempotencyKey(platform, 'key', 'second')).to.equal('first');
    expect(await store().claimIdempotencyKey(platform, 'key', 'first')).to.equal('first');
    expect(await store().claimIdempotencyKey(newPlatform(), 'key', 'second')).to.equal('second');
  });

  it('let one of many parallel claims win', async () => {
    const platform = newPlatform();
    const seen = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store().claimIdempotencyKey(platform, 'key', `hash-${index}`)),
    );
    expect(new Set(seen).size).to.equal(1);
  });
}

function describeSightings(store: () => Store): void {
  const record = true;
  const count = async (client: ClientKey, device: string, at = T0, windowMs = 10 * MINUTE_MS) => {
    const sharing = {
      fingerprint: { ...NO_SHARING_QUESTION, windowsMs: [windowMs] },
      ip: NO_SHARING_QUESTION,
    };
    const seen = await store().sightings(askFor(client, { at, fingerprint: device, sharing }));
    return seen.fingerprint.get(windowMs)?.clients;
  };
  const see = (client: ClientKey, device: string, at = T0) =>
    store().sightings(askFor(client, { at, fingerprint: device, record }));

  it('count the asking client, whether noted or not', async () => {
    const client = newClient();
    expect(await count(client, 'device')).to.equal(1);
    await see(client, 'device');
    expect(await count(client, 'device')).to.equal(1);
  });

  it('count the clients of each window, separately by fingerprint and IP', async () => {
    const platform = newPlatform();
    await store().sightings(askFor(newClient(platform), { at: T0, fingerprint: 'f', ip: 'i', record }));
    await store().sightings(askFor(newClient(platform), { at: T0 + MINUTE_MS, ip: 'i', record }));
    const seen = await store().sightings(
      askFor(newClient(platform), {
        at: T0 + 2 * MINUTE_MS,
        fingerprint: 'f',
        ip: 'i',
        sharing: {
          fingerprint: { ...NO_SHARING_QUESTION, windowsMs: [MINUTE_MS, 10 * MINUTE_MS] },
          ip: { ...NO_SHARING_QUESTION, windowsMs: [1.5 * MINUTE_MS, 10 * MINUTE_MS] },
        },
        record,
      }),
    );
    const clients = (windows: Sightings['ip']) =>
      [...windows].map(([windowMs, counts]) => [windowMs, counts.clients]);
    expect(clients(seen.fingerprint)).to.deep.equal([
      [MINUTE_MS, 1],
      [10 * MINUTE_MS, 2],
    ]);
    expect(clients(seen.ip)).to.deep.equal([
      [1.5 * MINUTE_MS, 2],
      [10 * MINUTE_MS, 3],
    ]);
  });

  const marksOn = async (
    client: ClientKey,
    device: string,
    marks = NO_SIGHTING_MARKS,
    at = T0,
    ago = 10 * MINUTE_MS,
  ) => {
    const question = { ...NO_SHARING_QUESTION, windowsMs: [ago], marks: SIGHTING_MARKS };
    const sharing = { fingerprint: question, ip: question };
    const seen = await store().sightings(
      askFor(client, { at, fingerprint: device, ip: device, sharing, marks }),
    );
    expect(seen.ip).to.deep.equal(seen.fingerprint);
    return seen.fingerprint.get(ago);
  };
  const noteAs = (client: ClientKey, device: string, marks: Partial<SightingMarks>, at = T0) =>
    store().sightings(
      askFor(client, {
        at,
        fingerprint: device,
        ip: device,
        marks: { ...NO_SIGHTING_MARKS, ...marks },
        record,
      }),
    );

  it('count the clients with each mark, the asking one as it stands', async () => {
    const platform = newPlatform();
    const paid = newClient(platform);
    const asking = newClient(platform);
    await noteAs(paid, 'device', { paying: true });
    await noteAs(newClient(platform), 'device', { unpaid: true });
    await noteAs(newClient(platform), 'device', { blocked: true });
    await noteAs(newClient(platform), 'device', { paying: true, unpaid: true, blocked: true });
    const counts = { ...NOBODY_SEEN, clients: 5, paying: 2, unpaid: 2, blocked: 2 };
    expect(await marksOn(asking, 'device')).to.deep.equal(counts);
    const paying = { ...NO_SIGHTING_MARKS, paying: true };
    expect(await marksOn(asking, 'device', paying)).to.deep.equal({ ...counts, paying: 3 });
    expect(await marksOn(paid, 'device', NO_SIGHTING_MARKS), 'as it was not noted').to.deep.equal({
      ...counts,
      clients: 4,
      paying: 1,
    });
    expect(await marksOn(newClient(platform), 'new', paying)).to.deep.equal({
      ...NOBODY_SEEN,
      clients: 1,
      paying: 1,
      unpaid: 0,
      blocked: 0,
    });
  });

  it('have the marks that a client was noted with last', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    await noteAs(client, 'device', { unpaid: true, blocked: true });
    await noteAs(client, 'device', { paying: true });
    const counts = { ...NOBODY_SEEN, clients: 2, paying: 1, unpaid: 0, blocked: 0 };
    expect(await marksOn(newClient(platform), 'device')).to.deep.equal(counts);
    await noteAs(client, 'device', {});
    expect(await marksOn(newClient(platform), 'device')).to.deep.equal({ ...counts, paying: 0 });
  });

  it('count marks in the window of their client, and only those that are asked for', async () => {
    const platform = newPlatform();
    await noteAs(newClient(platform), 'device', { paying: true });
    const counts = { ...NOBODY_SEEN, clients: 2, paying: 1, unpaid: 0, blocked: 0 };
    const asking = newClient(platform);
    expect(await marksOn(asking, 'device', NO_SIGHTING_MARKS, T0 + 999, 1000)).to.deep.equal(counts);
    expect(await marksOn(asking, 'device', NO_SIGHTING_MARKS, T0 + 1000, 1000)).to.deep.equal({
      ...counts,
      clients: 1,
      paying: 0,
    });
    const unasked = await store().sightings(askFor(asking, { fingerprint: 'device' }));
    expect([...unasked.fingerprint.values()]).to.deep.equal([{ ...counts, paying: 0 }]);
  });

  it('know of a payment of the last day on every device, and of none on older sightings', async () => {
    const client = newClient();
    for (const [device, at] of [
      ['old', T0],
      ['young', T0 + 2],
      ['newest', T0 + 3],
    ] as const) {
      await noteAs(client, device, { unpaid: true, blocked: true }, at);
      const change = verdictOn(client, await store().load(client), `order-${device}`, at);
      await store().commit({ ...change, state: { ...change.state, hints: hintsOn(device, device) } });
    }
    await store().notePayment({ client, since: T0, isUnpaid: false });
    await store().notePayment({ client: newClient(client.platform), since: T0, isUnpaid: false });
    const at = T0 + MINUTE_MS;
    const seen = (device: string) => marksOn(newClient(client.platform), device, NO_SIGHTING_MARKS, at);
    const marked = { ...NOBODY_SEEN, clients: 2, paying: 1, unpaid: 0, blocked: 1 };
    expect(await seen('old')).to.deep.equal({ ...marked, paying: 0, unpaid: 1 });
    expect(await seen('young')).to.deep.equal(marked);
    expect(await seen('newest')).to.deep.equal(marked);
  });

  it('keep the mark of an unpaid order that is newer than the payment', async () => {
    const client = newClient();
    await noteAs(client, 'device', { unpaid: true });
    const change = verdictOn(client, await store().load(client), 'order');
    await store().commit({ ...change, state: { ...change.state, hints: hintsOn('device', 'device') } });
    await store().notePayment({ client, since: T0 - 1, isUnpaid: true });
    expect(await marksOn(newClient(client.platform), 'device')).to.deep.equal({
      ...NOBODY_SEEN,
      clients: 2,
      paying: 1,
      unpaid: 1,
      blocked: 0,
    });
  });

  it('forget marks with their clients, the longest unseen of too many included', async () => {
    const platform = newPlatform();
    const all = { paying: true, unpaid: true, blocked: true };
    const crowd = Array.from({ length: CLIENTS_ON_DEVICE_MAX + 3 }, () => newClient(platform));
    for (const [index, client] of crowd.entries())
      await noteAs(client, 'crowd', index < 3 ? all : {}, T0 + index);
    const at = T0 + crowd.length;
    expect(await marksOn(newClient(platform), 'crowd', NO_SIGHTING_MARKS, at)).to.deep.equal({
      ...NOBODY_SEEN,
      clients: CLIENTS_ON_DEVICE_MAX,
      paying: 0,
      unpaid: 0,
      blocked: 0,
    });
    await noteAs(newClient(platform), 'quiet', all);
    await noteAs(newClient(platform), 'quiet', {}, T0 + 7 * DAY_MS);
    expect(
      await marksOn(newClient(platform), 'quiet', NO_SIGHTING_MARKS, T0 + 7 * DAY_MS, 7 * DAY_MS),
    ).to.deep.equal({
      ...NOBODY_SEEN,
      clients: 2,
      paying: 0,
      unpaid: 0,
      blocked: 0,
    });
  });

  it('say nothing about a device that was not sent', async () => {
    const seen = await store().sightings(askFor(newClient(), { record }));
    expect([seen.fingerprint.size, seen.ip.size]).to.deep.equal([0, 0]);
  });

  const noteAll = (client: ClientKey, at: number, more: Partial<SightingsQueryAndNote> = {}) =>
    store().sightings(
      askFor(client, {
        at,
        fingerprint: 'd',
        ip: 'd',
        record,
        sharing: everythingOver([10 * MINUTE_MS]),
        ...more,
      }),
    );
  const countsNow = async (client: ClientKey, at: number, windowMs: number) => {
    const sharing = everythingOver([windowMs]);
    const seen = await store().sightings(askFor(client, { at, fingerprint: 'd', ip: 'd', sharing }));
    expect(seen.ip).to.deep.equal(seen.fingerprint);
    return seen.fingerprint.get(windowMs);
  };
  // The beginning of an hour.
  const HOUR = Math.floor(T0 / (60 * MINUTE_MS)) * 60 * MINUTE_MS;

  it('count the verdicts on a device in steps, all within the window and up to a step more', async () => {
    const platform = newPlatform();
    const [one, other] = [newClient(platform), newClient(platform)];
    const verdicts = async (at: number, windowMs: number) =>
      (await countsNow(newClient(platform), at, windowMs))?.verdicts;
    for (const minute of [0, 1, 9, 10, 70])
      await noteAll(minute % 2 === 0 ? one : other, HOUR + minute * MINUTE_MS);
    const first = await noteAll(one, HOUR + 75 * MINUTE_MS);
    expect(first.fingerprint.get(10 * MINUTE_MS)?.verdicts, 'this request included').to.equal(2);
    const at = HOUR + 79 * MINUTE_MS;
    expect(await verdicts(at, 10 * MINUTE_MS)).to.equal(2);
    expect(await verdicts(at, 60 * MINUTE_MS), 'from minute 10 on').to.equal(3);
    expect(await verdicts(at, 70 * MINUTE_MS), 'from minute 0 on').to.equal(6);
    expect(await verdicts(at, 3 * 60 * MINUTE_MS)).to.equal(6);
    expect(await verdicts(HOUR + DAY_MS + 59 * MINUTE_MS, DAY_MS)).to.equal(6);
    expect(await verdicts(HOUR + DAY_MS + 60 * MINUTE_MS, DAY_MS)).to.equal(2);
    expect(await verdicts(HOUR + 3 * DAY_MS, DAY_MS), 'the asking client alone').to.equal(1);
  });

  it('count a verdict once that is decided again, and none where no rule set asks for them', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    await noteAll(client, HOUR);
    await noteAll(client, HOUR, { isRepeated: true });
    await noteAll(client, HOUR, { sharing: askFor(client, {}).sharing });
    await noteAll(client, HOUR, { record: false });
    expect((await countsNow(client, HOUR, 10 * MINUTE_MS))?.verdicts).to.equal(1);
  });

  it('have at least one verdict of each client, also of those from before verdicts were counted', async () => {
    const platform = newPlatform();
    for (let number = 0; number < 3; number++)
      await noteAll(newClient(platform), HOUR, { sharing: askFor(newClient(), {}).sharing });
    expect(await countsNow(newClient(platform), HOUR, 10 * MINUTE_MS)).to.include({
      clients: 4,
      verdicts: 4,
    });
  });

  it('count verdicts apart from the clients, of whom none is forgotten for them', async () => {
    const platform = newPlatform();
    for (let hour = 0; hour < 30; hour++)
      await noteAll(newClient(platform), HOUR + hour * 60 * MINUTE_MS + hour * MINUTE_MS);
    const at = HOUR + 30 * 60 * MINUTE_MS;
    const counts = await countsNow(newClient(platform), at, 7 * DAY_MS);
    expect(counts).to.include({ clients: 31, paying: 0, unpaidOrders: 0 });
  });

  it('sum the unpaid orders of the clients, as each stood when it asked last', async () => {
    const platform = newPlatform();
    const having = (unpaidOrders: number) => ({ marks: { ...NO_SIGHTING_MARKS, unpaidOrders } });
    const [one, other, third] = [newClient(platform), newClient(platform), newClient(platform)];
    const orders = async (client: ClientKey, unpaidOrders: number, at = HOUR) => {
      const sharing = everythingOver([10 * MINUTE_MS]);
      const ask = { at, fingerprint: 'd', ip: 'd', sharing, ...having(unpaidOrders) };
      return (await store().sightings(askFor(client, ask))).ip.get(10 * MINUTE_MS)?.unpaidOrders;
    };
    await noteAll(one, HOUR, having(3));
    await noteAll(other, HOUR, having(31));
    expect(await orders(third, 0)).to.equal(34);
    expect(await orders(third, 2)).to.equal(36);
    expect(await orders(one, 5), 'the asking client as it stands now').to.equal(36);
    await noteAll(other, HOUR + 1, having(4));
    expect(await orders(third, 0)).to.equal(7);
    await noteAll(one, HOUR + 2, { ...having(0), sharing: askFor(one, {}).sharing });
    expect(await orders(third, 0), 'noted for a rule set that does not ask').to.equal(7);
    await noteAll(one, HOUR + 3, having(0));
    expect(await orders(third, 0)).to.equal(4);
    expect(await orders(third, 0, HOUR + 10 * MINUTE_MS + 1), 'outside of the window').to.equal(0);
  });

  it('leave out a client last seen exactly at the edge of the window', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    await see(client, 'device', T0);
    expect(await count(newClient(platform), 'device', T0 + 999, 1000)).to.equal(2);
    expect(await count(newClient(platform), 'device', T0 + 1000, 1000)).to.equal(1);
    expect(await count(client, 'device', T0 + 1000, 1000), 'the asking client').to.equal(1);
  });

  it('keep the latest time of a client when time runs backwards', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    await see(client, 'device', T0 + MINUTE_MS);
    await see(client, 'device', T0);
    expect(await count(newClient(platform), 'device', T0 + MINUTE_MS + 10, 1000)).to.equal(2);
  });

  it('of one platform are not seen on another, nor noted when they are only read', async () => {
    await see(newClient(), 'device');
    const platform = newPlatform();
    for (const client of [newClient(platform), newClient(platform)])
      expect(await count(client, 'device')).to.equal(1);
  });

  it('stop at the number of clients that a device remembers', async () => {
    const platform = newPlatform();
    for (let start = 0; start < CLIENTS_ON_DEVICE_MAX + 50; start += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => see(newClient(platform), 'device', T0 + start + index)),
      );
    }
    // The oldest that is kept was seen at 50.
    for (const [at, windowMs] of [
      [T0 + CLIENTS_ON_DEVICE_MAX, undefined],
      [T0 + 50 + MINUTE_MS - 1, MINUTE_MS],
    ] as const)
      expect(await count(newClient(platform), 'device', at, windowMs)).to.equal(CLIENTS_ON_DEVICE_MAX);
  });
}

function describeDocuments(store: () => Store): void {
  const collection = () => `collection-${randomUUID()}`;

  it('are read as they were written, until they are deleted', async () => {
    const keys = collection();
    const document = { text: ':a"b', list: [1, null, 'é💳'], nested: { yes: true } };
    await store().documents.set(keys, 'name', document);
    expect(await store().documents.get(keys, 'name')).to.deep.equal(document);
    await store().documents.set(keys, 'name', { other: 1 });
    expect(await store().documents.get(keys, 'name')).to.deep.equal({ other: 1 });
    await store().documents.delete(keys, 'name');
    expect(await store().documents.get(keys, 'name')).to.equal(undefined);
  });

  it('are listed by collection', async () => {
    const [keys, others] = [collection(), collection()];
    await store().documents.set(keys, 'a', { id: 'a' });
    await store().documents.set(keys, 'b', { id: 'b' });
    await store().documents.set(others, 'c', { id: 'c' });
    const listed = await store().documents.list<{ id: string }>(keys);
    expect(listed.map(({ id }) => id).sort()).to.deep.equal(['a', 'b']);
    await store().documents.delete(keys, 'a');
    expect(await store().documents.list(keys)).to.deep.equal([{ id: 'b' }]);
    expect(await store().documents.list(collection())).to.deep.equal([]);
  });

  it('are gone after their time to live', async () => {
    const keys = collection();
    await store().documents.set(keys, 'short', { id: 1 }, 60);
    await store().documents.set(keys, 'long', { id: 2 }, 60_000);
    await until('it is gone', async () => (await store().documents.get(keys, 'short')) === undefined);
    expect(await store().documents.list(keys)).to.deep.equal([{ id: 2 }]);
  });
}

function describeRegisters(store: () => Store): void {
  it('are empty until they are set, and change only from their current value', async () => {
    const name = randomUUID();
    const { registers } = store();
    expect(await registers.read(name)).to.equal(null);
    expect(await registers.compareAndSet(name, 'something', 'a')).to.equal(false);
    expect(await registers.compareAndSet(name, null, 'a')).to.equal(true);
    expect(await registers.compareAndSet(name, null, 'b')).to.equal(false);
    expect(await registers.compareAndSet(name, 'b', 'c')).to.equal(false);
    expect(await registers.compareAndSet(name, 'a', 'c')).to.equal(true);
    expect(await registers.read(name)).to.equal('c');
    expect(await registers.read(randomUUID())).to.equal(null);
  });

  it('let one of many parallel changes win', async () => {
    const name = randomUUID();
    const won = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store().registers.compareAndSet(name, null, `value-${index}`)),
    );
    expect(won.filter(Boolean)).to.have.length(1);
    expect(await store().registers.read(name)).to.equal(`value-${won.indexOf(true)}`);
  });
}

function describeRateBuckets(store: () => Store): void {
  it('admit a burst at once, then delay, then refuse', async () => {
    const bucket = randomUUID();
    const settings = { ratePerSecond: 0.1, burst: 3, delayMsMax: 15_000 };
    const take = () => store().rateBuckets.take(bucket, settings);
    const atOnce = { admitted: true, delayMs: 0 };
    expect([await take(), await take(), await take()]).to.deep.equal(Array(3).fill(atOnce));
    const fourth = await take();
    expect(fourth.admitted && fourth.delayMs).to.be.within(5000, 10_000);
    expect(await take()).to.deep.equal({ admitted: false });
    expect(await store().rateBuckets.take(randomUUID(), settings)).to.deep.equal(atOnce);
  });
}

function describeJournal(store: () => Store): void {
  it('gives a platform every entry in the order of acceptance', async () => {
    const start = await endOfJournal(store());
    const client = newClient();
    const { platform, clientIdKey } = client;
    await verdict(store(), client, 'order-1');
    await store().commit(paymentOf(client, await store().load(client), 'order-1'));
    const snapshot = await store().load(client);
    await store().commit(changeTo(client, snapshot, recordActivity(snapshot.state, T0 + 10)));
    const { entries } = await readAll(store(), start, 100);
    expect(entries).to.deep.equal([
      { kind: 'verdict', at: T0 + 1, platform, clientIdKey, decision: decisionFor(client, 1, 'order-1') },
      {
        kind: 'outcome',
        at: T0,
        platform,
        clientIdKey,
        orderRef: 'order-1',
        order: { outcome: 'PAID', cause: null, occurredAt: T0 },
      },
      { kind: 'binding', at: T0 + 10, platform, clientIdKey, binding: null },
    ]);
  });

  it('keeps the cursor where nothing was added', async () => {
    const end = await endOfJournal(store());
    expect(await store().readJournal(end, 10)).to.deep.equal({ entries: [], cursor: end, gap: null });
  });

  it('knows its length', async () => {
    await verdict(store(), newClient(), 'order-1');
    const before = await store().journalLength();
    for (let count = 1; count <= 3; count += 1) await verdict(store(), newClient(), `order-${count}`);
    expect(await store().journalLength()).to.equal(before + 3);
  });

  it('can be read from where about so many of the newest begin', async () => {
    const client = newClient();
    for (let count = 1; count <= 3; count += 1) await verdict(store(), client, `order-${count}`);
    const newest = await store().newestCursor(2);
    const { entries } = await store().readJournal(newest, 1000);
    const own = entries.filter(({ platform }) => platform === client.platform);
    expect(own.map(({ kind }) => kind)).to.have.length.within(1, 2);
    expect(await store().newestCursor(1_000_000)).to.equal(null);
  });

  it('has erased clients until the erasure is shipped', async () => {
    const [early, late] = [newClient(), newClient()];
    await store().erase(early);
    const shipped = (await endOfJournal(store())) ?? expect.fail('the journal is empty');
    await store().erase(late);
    const waiting = async () => {
      const erasures = await store().unshippedErasures();
      return [early, late].filter(({ platform, hash }) =>
        erasures.some((one) => one.platform === platform && one.clientNumber === toClientNumberText(hash)),
      );
    };
    expect(await waiting()).to.deep.equal([early, late]);
    const kept = { journalEntries: 1_000_000, decisionsHotMs: 86_400_000 };
    await store().trimJournal(shipped, kept);
    expect(await waiting()).to.deep.equal([late]);
    await store().trimJournal((await endOfJournal(store())) ?? '', kept);
    expect(await waiting()).to.deep.equal([]);
    const left = JSON.stringify(await readAll(store(), null, 10_000));
    for (const { hash } of [early, late]) expect(left).not.to.include(toClientNumberText(hash));
  });

  it('reports an erased client by a number and nothing else', async () => {
    const start = await endOfJournal(store());
    const { platform, hash, ...client } = newClient();
    await verdict(store(), { platform, hash, ...client }, 'order-1');
    await store().erase({ platform, hash, ...client });
    const [{ at, ...erasure } = { at: 0 }, ...others] = (await readAll(store(), start, 100)).entries;
    expect(others).to.deep.equal([]);
    expect(at).to.be.above(0);
    expect(erasure).to.deep.equal({ kind: 'erasure', platform, clientNumber: toClientNumberText(hash) });
  });

  it('forgets read entries on request, except those kept for searches', async () => {
    const start = await endOfJournal(store());
    const client = newClient();
    for (let count = 1; count <= 5; count += 1) await verdict(store(), client, `order-${count}`);
    const { cursor } = await store().readJournal(start, 3);
    await store().trimJournal(cursor ?? '', { journalEntries: 0, decisionsHotMs: DAY_MS });
    const kept = (await readAll(store(), start, 100)).entries;
    const keepAll = { journalEntries: 1_000_000, decisionsHotMs: DAY_MS };
    await store().trimJournal((await endOfJournal(store())) ?? '', keepAll);
    const after = (await readAll(store(), start, 100)).entries;
    expect(kept.slice(-2).map(nameOfEntry)).to.deep.equal(
      [4, 5].map((seq) => formatDecisionId(client.hash, seq, T0 + seq)),
    );
    expect(kept.length).to.be.at.most(5);
    expect(after).to.deep.equal(kept);
    expect((await store().readJournal(start, 1)).gap).to.equal(null);
  });

  it('gives the clients of a quiet moment in the order they were decided', async () => {
    const start = await endOfJournal(store());
    const clients = Array.from({ length: 20 }, () => newClient());
    for (const client of clients) {
      await verdict(store(), client, 'order');
      await delay(2);
    }
    const { entries } = await readAll(store(), start, 7);
    expect(entries.map((entry) => entry.kind !== 'erasure' && entry.clientIdKey)).to.deep.equal(
      clients.map(({ clientIdKey }) => clientIdKey),
    );
  });

  it('loses and repeats nothing while it is read in pages and written', async () => {
    const start = await endOfJournal(store());
    const clients = Array.from({ length: 12 }, () => newClient());
    const writing = Promise.all(
      clients.map(async (client) => {
        for (let count = 1; count <= 20; count += 1) await verdict(store(), client, `order-${count}`);
      }),
    );
    const seen: string[] = [];
    let cursor: string | null = start;
    let isDone = false;
    const whenDone = writing.finally(() => {
      isDone = true;
    });
    for (let last = false; !last; ) {
      last = isDone;
      // A store in this process answers without a turn of the event loop, so the writers need one.
      await delay(1);
      const page = await readAll(store(), cursor, 9);
      seen.push(...page.entries.map(nameOfEntry));
      cursor = page.cursor;
    }
    await whenDone;
    const written = clients.flatMap((client) =>
      Array.from({ length: 20 }, (_, index) => formatDecisionId(client.hash, index + 1, T0 + index + 1)),
    );
    expect(seen.toSorted()).to.deep.equal(written.toSorted());
  });

  it('has entries of every kind as they were accepted', async () => {
    const client = newClient();
    await commitEachKind(store(), client);
    expect(await entriesAbout(store(), client)).to.deep.equal(entriesOfEachKind(client));
  });
}

function describeErasure(store: () => Store, dump: () => Promise<string>): void {
  it('leaves no trace of the client, and all of the others', async () => {
    const platform = newPlatform();
    const [client, other] = [newClient(platform), newClient(platform)];
    for (const each of [client, other]) await live(store(), each);
    expect(await dump())
      .to.include(client.hash)
      .and.to.include(client.clientIdKey);

    await store().erase(client);
    const left = await dump();
    expect(left).not.to.include(client.hash);
    expect(left).not.to.include(client.clientIdKey);
    expect(left).to.include(other.hash).and.to.include(other.clientIdKey);
    expect((await store().load(client)).state).to.deep.equal(UNKNOWN_CLIENT_STATE);
    const ofOrder = await store().decisionsOfOrder(platform, 'order-1');
    expect(ofOrder.map(({ clientIdKey }) => clientIdKey)).to.deep.equal([other.clientIdKey]);
    expect((await store().decisionsOfClient(other, 10)).map(({ seq }) => seq)).to.deep.equal([3, 2, 1]);
    const windowMs = 10 * MINUTE_MS;
    const seen = await store().sightings(askFor(newClient(platform), { fingerprint: 'f', ip: 'i' }));
    expect([seen.fingerprint.get(windowMs)?.clients, seen.ip.get(windowMs)?.clients]).to.deep.equal([2, 2]);
  });

  it('forgets the client on every device, not only on the newest, and ignores an unknown one', async () => {
    const client = newClient();
    const devices = ['old', 'older', 'newest'].map((device) => ({ fingerprint: device, ip: `ip-${device}` }));
    for (const device of devices) {
      await store().sightings(askFor(client, { ...device, record: true }));
      const change = verdictOn(client, await store().load(client), `order-${device.fingerprint}`);
      const hints = hintsOn(device.fingerprint, device.ip);
      await store().commit({ ...change, state: { ...change.state, hints } });
    }
    await store().erase(client);
    await store().erase(newClient());
    const windowMs = 10 * MINUTE_MS;
    for (const device of devices) {
      const seen = await store().sightings(askFor(newClient(client.platform), device));
      expect(
        [seen.fingerprint.get(windowMs)?.clients, seen.ip.get(windowMs)?.clients],
        device.ip,
      ).to.deep.equal([1, 1]);
    }
  });

  it('removes every entry of the client from the journal, however many there are', async () => {
    const client = newClient();
    for (let number = 1; number <= 410; number += 1) await verdict(store(), client, `order-${number}`);
    expect(await entriesAbout(store(), client)).to.have.length(410);
    await store().erase(client);
    expect(await entriesAbout(store(), client)).to.deep.equal([]);
    expect(await dump()).not.to.include(client.hash);
  });

  it('forgets which request an Idempotency-Key of the client was bound to', async () => {
    const client = newClient();
    await store().claimIdempotencyKey(client.platform, 'key', 'first');
    await store().commit(withAnswer(verdictOn(client, await store().load(client), 'order'), 'key'));
    expect(await store().claimIdempotencyKey(client.platform, 'key', 'second')).to.equal('first');
    await store().erase(client);
    expect(await store().claimIdempotencyKey(client.platform, 'key', 'second')).to.equal('second');
  });

  it('lets the client begin anew', async () => {
    const client = newClient();
    await live(store(), client);
    await store().erase(client);
    const decision = await verdict(store(), client, 'order-1');
    expect(decision.seq).to.equal(1);
    expect(await store().decisionsOfClient(client, 10)).to.deep.equal([decision]);
  });

  it('gives no later decision the id of a forgotten one', async () => {
    const client = newClient();
    const forgotten = await verdict(store(), client, 'order-1', T0);
    await store().erase(client);
    const later = await verdict(store(), client, 'order-1', T0 + MINUTE_MS);
    expect(later.seq).to.equal(forgotten.seq);
    expect(await store().decision(forgotten.decisionId)).to.equal(null);
    expect(await store().decision(later.decisionId)).to.deep.equal(later);
  });
}

function describeUnreadable(opened: () => StoreUnderTest): void {
  for (const text of ['[99,1]', 'not even JSON']) {
    it(`like ${JSON.stringify(text)} does not count as a new client, and can be erased without a trace`, async () => {
      const { store } = opened();
      const client = newClient();
      await live(store, client);
      await opened().spoil(client, text);
      expect(await store.load(client).catch(String)).to.match(
        /^StoreUnavailable: the stored state of the client cannot be read \(.+\); repair it with "state rebuild", or erase the client$/,
      );
      await store.erase(client);
      expect((await store.load(client)).state).to.deep.equal(UNKNOWN_CLIENT_STATE);
      const left = await opened().dump();
      expect(left).not.to.include(client.hash);
      expect(left).not.to.include(client.clientIdKey);
      expect((await verdict(store, client, 'order-1')).seq).to.equal(1);
    });
  }
}

function hintsOn(fingerprint: string, ip: string) {
  return {
    scoredAt: T0,
    shown: [
      { hint: { kind: 'fingerprint', id: fingerprint }, lastAt: T0 },
      { hint: { kind: 'ip', id: ip }, lastAt: T0 },
    ],
    asked: [],
  } as const;
}

/** All kinds of traces that a client can leave. */
async function live(store: Store, client: ClientKey): Promise<void> {
  const hints = hintsOn('f', 'i');
  const first = await store.load(client);
  await store.commit(changeTo(client, first, { ...recordActivity(first.state, T0), hints }));
  for (const orderRef of ['order-1', 'order-2', 'order-3']) {
    await store.sightings(askFor(client, { at: T0, fingerprint: 'f', ip: 'i', record: true }));
    const change = verdictOn(client, await store.load(client), orderRef);
    await store.commit(withAnswer(change, `key-of-${orderRef}`));
  }
  await store.commit(paymentOf(client, await store.load(client), 'order-1'));
  await store.commit(paymentOf(client, await store.load(client), 'order-without-verdict'));
}

function nameOfEntry(entry: AnyJournalEntry): string {
  return entry.kind === 'verdict' ? entry.decision.decisionId : entry.kind;
}
