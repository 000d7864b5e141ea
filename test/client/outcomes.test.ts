import { expect } from 'chai';
import fc from 'fast-check';
import { recordOutcome, setBinding, setOverride } from '../../src/client/changes.ts';
import { type ClientState, UNKNOWN_CLIENT } from '../../src/client/client-state.ts';
import {
  NO_OUTCOMES,
  type OrderOutcome,
  OUTCOME_CAUSES,
  OUTCOMES,
  outcomeEffect,
  RECENT_OUTCOMES,
  tallyOutcome,
  unpaidChain,
} from '../../src/client/outcomes.ts';
import { token } from '../../src/client/token.ts';

const NOW = 1_000_000;

function paid(occurredAt: number): OrderOutcome {
  return { outcome: 'PAID', cause: null, occurredAt };
}

function unpaid(occurredAt: number, cause: OrderOutcome['cause'] = 'DECLINED'): OrderOutcome {
  return { outcome: 'UNPAID', cause, occurredAt };
}

/** What a client's orders become, each report with the time at which it arrives. */
function report(reports: readonly (readonly [order: string, outcome: OrderOutcome, now?: number])[]) {
  const orders = new Map<string, OrderOutcome>();
  const effects: string[] = [];
  let state: ClientState = UNKNOWN_CLIENT;
  for (const [orderRef, outcome, now = NOW] of reports) {
    const change = recordOutcome(state, orderRef, orders.get(orderRef) ?? null, outcome, now);
    state = change.state;
    orders.set(orderRef, change.order);
    effects.push(change.effect);
  }
  return { state, orders, effects };
}

describe("the outcomes of a client's orders", () => {
  it('count an order once, however often it is reported', () => {
    const { state, effects } = report([
      ['a', paid(1)],
      ['a', paid(1)],
      ['a', paid(5)],
    ]);
    expect(effects).to.deep.equal(['recorded', 'unchanged', 'unchanged']);
    expect(state.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 0, lastPaidAt: 1 });
  });

  it('leave the very same state when a repeat changes nothing', () => {
    const { state, orders } = report([['a', unpaid(1)]]);
    const again = recordOutcome(state, 'a', orders.get('a') ?? null, unpaid(1), NOW + 5);
    expect(again.state).to.equal(state);
  });

  it('are corrected by a later success', () => {
    const { state, effects } = report([
      ['a', unpaid(1)],
      ['a', paid(2)],
    ]);
    expect(effects).to.deep.equal(['recorded', 'superseded']);
    expect(state.outcomes).to.deep.equal({
      paidCount: 1,
      unpaidCount: 0,
      lastPaidAt: 2,
      lastUnpaidAt: null,
      recent: [{ order: token('a'), paid: true, at: 2 }],
    });
  });

  it('are corrected by a refund', () => {
    const { state } = report([
      ['a', paid(1)],
      ['b', paid(3)],
      ['b', unpaid(4, 'REVERSED')],
    ]);
    expect(state.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 1, lastPaidAt: 1, lastUnpaidAt: 4 });
  });

  it('are not corrected by what happened before', () => {
    const { state, effects, orders } = report([
      ['a', paid(5)],
      ['a', unpaid(4)],
    ]);
    expect(effects).to.deep.equal(['recorded', 'stale']);
    expect(state.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 0 });
    expect(orders.get('a')).to.deep.equal(paid(5));
  });

  it('are corrected by another outcome of the same moment, which the later report tells', () => {
    expect(outcomeEffect(paid(5), unpaid(5))).to.equal('superseded');
  });

  it('count a technical failure neither way, and count it when it turns out to be a payment', () => {
    const first = report([['a', unpaid(1, 'TECHNICAL')]]);
    expect(first.effects).to.deep.equal(['recorded']);
    expect(first.state.outcomes).to.deep.equal(NO_OUTCOMES);
    const { state } = report([
      ['a', unpaid(1, 'TECHNICAL')],
      ['a', paid(2)],
    ]);
    expect(state.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 0 });
  });

  it('take an outcome back when it turns out to be a technical failure', () => {
    const { state } = report([
      ['a', unpaid(1)],
      ['a', unpaid(2, 'TECHNICAL')],
    ]);
    expect(state.outcomes).to.deep.equal(NO_OUTCOMES);
  });

  it('count a chain of unpaid orders from the last paid one', () => {
    const { state } = report([
      ['a', unpaid(1)],
      ['b', paid(2)],
      ['c', unpaid(3)],
      ['d', unpaid(4)],
    ]);
    expect(unpaidChain(state.outcomes)).to.equal(2);
  });

  it('count a chain again when an order inside it turns out paid', () => {
    const { state } = report([
      ['a', unpaid(1)],
      ['b', unpaid(2)],
      ['c', unpaid(3)],
      ['b', paid(2)],
    ]);
    expect(unpaidChain(state.outcomes)).to.equal(1);
  });

  it('count a chain in the order in which things happened, not in which they were told', () => {
    const { state } = report([
      ['a', unpaid(3)],
      ['b', paid(2)],
      ['c', unpaid(1)],
    ]);
    expect(unpaidChain(state.outcomes)).to.equal(1);
  });

  it(`remember ${RECENT_OUTCOMES} orders singly and count the others`, () => {
    const { state } = report(Array.from({ length: 30 }, (_, n) => [`order-${n}`, unpaid(n + 1)] as const));
    expect(state.outcomes.unpaidCount).to.equal(30);
    expect(state.outcomes.recent.length).to.equal(RECENT_OUTCOMES);
    expect(unpaidChain(state.outcomes)).to.equal(RECENT_OUTCOMES);
  });

  it('keep the time of the last payment when an older one is refunded that is not remembered singly', () => {
    const { state } = report([
      ['old', paid(1)],
      ['newer', paid(2)],
      ...Array.from({ length: RECENT_OUTCOMES }, (_, n) => [`order-${n}`, unpaid(n + 3)] as const),
      ['old', unpaid(100, 'REVERSED')],
    ]);
    expect(state.outcomes).to.deep.include({ paidCount: 1, lastPaidAt: 2, lastUnpaidAt: 100 });
  });

  it('take the client off the ladder with a payment, and leave the ladder otherwise', () => {
    const ladder = { level: 2, attemptOpen: true, waitUntil: null };
    const waiting = { ...UNKNOWN_CLIENT, ladder };
    expect(recordOutcome(waiting, 'a', null, paid(1), NOW).state.ladder).to.deep.equal({
      level: 0,
      attemptOpen: false,
      waitUntil: null,
    });
    expect(recordOutcome(waiting, 'a', null, unpaid(1), NOW).state.ladder).to.deep.equal(ladder);
  });

  it('happen now at the latest', () => {
    const { orders } = report([['a', paid(NOW + 60_000)]]);
    expect(orders.get('a')?.occurredAt).to.equal(NOW);
  });

  it('may be as late as what is recorded already when the clock was set back', () => {
    const ahead = { ...UNKNOWN_CLIENT, lastAt: NOW };
    const { state, order } = recordOutcome(ahead, 'a', null, paid(NOW), NOW - 60_000);
    expect(order.occurredAt).to.equal(NOW);
    expect(state.lastAt).to.equal(NOW);
  });

  it('equal a naive recount of all orders, whatever is reported in whatever order', () => {
    const anyReport = fc.tuple(
      fc.constantFrom(...Array.from({ length: RECENT_OUTCOMES }, (_, n) => `order-${n}`)),
      fc.record({
        outcome: fc.constantFrom(...OUTCOMES),
        cause: fc.option(fc.constantFrom(...OUTCOME_CAUSES), { nil: null }),
        occurredAt: fc.integer({ min: 1, max: 200 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(anyReport, { maxLength: 60 }), (reports) => {
        const { state, orders } = report(reports);
        const final = [...orders.values()].filter(({ cause }) => cause !== 'TECHNICAL');
        const times = (wanted: string) =>
          final.filter(({ outcome }) => outcome === wanted).map(({ occurredAt }) => occurredAt);
        const { paidCount, unpaidCount, lastPaidAt, lastUnpaidAt, recent } = state.outcomes;
        expect(paidCount).to.equal(times('PAID').length);
        expect(unpaidCount).to.equal(times('UNPAID').length);
        expect(lastPaidAt).to.equal(times('PAID').length === 0 ? null : Math.max(...times('PAID')));
        expect(lastUnpaidAt).to.equal(times('UNPAID').length === 0 ? null : Math.max(...times('UNPAID')));
        expect(recent.length).to.equal(final.length);
        expect(recent.map(({ at }) => at)).to.deep.equal(
          recent.map(({ at }) => at).toSorted((a, b) => a - b),
        );
        const entries = [...orders]
          .filter(([, { cause }]) => cause !== 'TECHNICAL')
          .map(([order, { outcome, occurredAt }]) => ({
            order: token(order),
            paid: outcome === 'PAID',
            at: occurredAt,
          }));
        expect(recent).to.have.deep.members(entries);
      }),
    );
  });

  it('count a chain as a naive walk back from the newest outcome does', () => {
    const outcome = fc.record({ isPaid: fc.boolean(), at: fc.integer({ min: 1, max: 10_000 }) });
    fc.assert(
      fc.property(
        fc.uniqueArray(outcome, { maxLength: RECENT_OUTCOMES, selector: ({ at }) => at }),
        (outcomes) => {
          let tally = NO_OUTCOMES;
          for (const { isPaid, at } of outcomes) {
            tally = tallyOutcome(tally, `order-${at}`, null, isPaid ? paid(at) : unpaid(at));
          }
          let chain = 0;
          for (const { isPaid } of outcomes.toSorted((a, b) => b.at - a.at)) {
            if (isPaid) break;
            chain++;
          }
          expect(unpaidChain(tally)).to.equal(chain);
        },
      ),
    );
  });
});

describe('bindings and overrides', () => {
  const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: null, expiresAt: null };
  const override = { group: 'BLOCKED', reason: 'fraud', by: 'ann', at: 5, expiresAt: null } as const;

  it('are set, lifted, and remembered as a contact', () => {
    const bound = setBinding(UNKNOWN_CLIENT, binding, 7);
    expect(bound).to.deep.equal({ ...UNKNOWN_CLIENT, firstSeenAt: 7, lastAt: 7, binding });
    expect(setBinding(bound, null, 9)).to.deep.equal({ ...UNKNOWN_CLIENT, firstSeenAt: 7, lastAt: 9 });
    expect(setOverride(bound, override, 8)).to.deep.equal({ ...bound, lastAt: 8, override });
    expect(setOverride(setOverride(bound, override, 8), null, 8)).to.deep.equal({ ...bound, lastAt: 8 });
  });
});
