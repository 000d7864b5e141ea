import { expect } from 'chai';
import fc from 'fast-check';
import { reapplyOutcome, recordOutcome, setBinding, setOverride } from '#decision/payer/changes.ts';
import {
  type ClientState,
  isNewClient,
  toShortHash,
  UNKNOWN_CLIENT_STATE,
} from '#decision/payer/client-state.ts';
import type { DatedReport, KnownOrder } from '#decision/payer/order.ts';
import { decodeOrder, encodeOrder } from '#decision/payer/order-text.ts';
import {
  countUnpaidChain,
  findLastOutcome,
  findLastPaidAt,
  findLastUnpaidAt,
  RECENT_OUTCOMES_MAX,
  UNPAID_CHAIN_MAX,
} from '#decision/payer/outcomes.ts';
import { roundTripState } from '#decision/payer/state-document.ts';
import { naiveFacts, paid, shuffled, type ToldOrder, toldOrders, unpaid } from './told-orders.ts';

const NOW = 1_000_000;

const ON_LADDER: ClientState = {
  ...UNKNOWN_CLIENT_STATE,
  ladder: { level: 2, attemptOpen: true, waitUntil: null },
};

const of = <Report>(orderRef: string, report: Report) => ({ ...report, orderRef });

/** Records reports that all arrive at NOW. */
function report(
  reports: readonly (readonly [order: string, outcome: DatedReport])[],
  before: ClientState = UNKNOWN_CLIENT_STATE,
) {
  const orders = new Map<string, KnownOrder>();
  const effects: string[] = [];
  let state = before;
  for (const [orderRef, outcome] of reports) {
    const change = recordOutcome(state, orders.get(orderRef) ?? null, { ...outcome, orderRef }, NOW);
    state = roundTripState(change.state);
    orders.set(orderRef, decodeOrder(encodeOrder(change.order)));
    effects.push(change.effect);
  }
  return { state, orders, effects };
}

function reportAll(told: readonly ToldOrder[]) {
  return report(
    told.map(({ order, report: outcome }) => [order, outcome] as const),
    ON_LADDER,
  );
}

function factsOf({ outcomes }: ClientState) {
  const last = findLastOutcome(outcomes);
  return {
    paidCount: outcomes.paidCount,
    unpaidCount: outcomes.unpaidCount,
    unpaidChain: countUnpaidChain(outcomes),
    lastOutcome: last ?? 'NONE',
    lastPaidAt: findLastPaidAt(outcomes),
    lastUnpaidAt: findLastUnpaidAt(outcomes),
  };
}

/** Orders at successive times. */
function many(count: number, outcome: (at: number) => DatedReport, firstAt = 1) {
  return Array.from({ length: count }, (_, n) => [`order-${firstAt + n}`, outcome(firstAt + n)] as const);
}

describe("the outcomes of a client's orders", () => {
  it('leave the very same state after a repeat', () => {
    const { state, orders } = report([['a', unpaid(1)]]);
    const again = recordOutcome(state, orders.get('a') ?? null, of('a', unpaid(1)), NOW + 5);
    expect(again.state).to.equal(state);
    expect(again.order).to.equal(state.outcomes.recent[0]);
    const later = recordOutcome(state, orders.get('a') ?? null, of('a', unpaid(4)), NOW + 5);
    expect(later).to.deep.include({ effect: 'unchanged' });
    const order = { ...unpaid(1), reports: [unpaid(1), unpaid(4)], token: toShortHash('a') };
    const outcomes = { ...state.outcomes, recent: [order] };
    expect(later.state).to.deep.equal({ ...state, lastAt: NOW + 5, changes: state.changes + 1, outcomes });
  });

  it('make a client known to the platform, also when they are or become a technical failure', () => {
    expect(isNewClient(report([['a', unpaid(1, 'TECHNICAL')]]).state)).to.equal(false);
    const corrected = report([
      ['a', unpaid(1)],
      ['a', unpaid(2, 'TECHNICAL')],
    ]);
    expect(isNewClient(corrected.state)).to.equal(false);
  });

  it(`remember ${RECENT_OUTCOMES_MAX} orders one by one and count the others`, () => {
    const { state } = report(many(100, unpaid));
    expect(state.outcomes.unpaidCount).to.equal(100);
    expect(state.outcomes.recent.length).to.equal(RECENT_OUTCOMES_MAX);
    expect(countUnpaidChain(state.outcomes)).to.equal(UNPAID_CHAIN_MAX);
  });

  it('displace orders that make room for newer ones, or are too old themselves', () => {
    const { state } = report(many(RECENT_OUTCOMES_MAX, paid, 10));
    const newer = recordOutcome(state, null, of('newer', unpaid(500)), NOW);
    expect(newer.displaced).to.deep.equal([{ ...paid(10), token: toShortHash('order-10') }]);
    const older = recordOutcome(newer.state, null, of('older', unpaid(5)), NOW);
    expect(older.displaced).to.deep.equal([{ ...unpaid(5), token: toShortHash('older') }]);
    expect(older.state.outcomes).to.deep.include({ paidCount: RECENT_OUTCOMES_MAX, unpaidCount: 2 });
    const again = recordOutcome(older.state, older.order, of('older', unpaid(5)), NOW);
    expect(again).to.deep.include({ effect: 'unchanged', state: older.state, displaced: [] });
  });

  it('keep the chain of older orders, and take corrected ones out of it', () => {
    const newest = many(RECENT_OUTCOMES_MAX, unpaid, 10);
    const technical = newest.map(
      ([order, { occurredAt }]) => [order, unpaid(occurredAt, 'TECHNICAL')] as const,
    );
    const old = [
      ['paid', paid(1)],
      ['x', unpaid(2)],
      ['y', unpaid(3)],
      ['z', unpaid(4)],
    ] as const;
    const { state } = report([...old, ...newest, ...technical, ['y', paid(5)]]);
    expect(factsOf(state)).to.deep.include({ paidCount: 2, unpaidCount: 2 });
    const shrunk = report([...old, ...newest, ...technical, ['y', unpaid(3, 'TECHNICAL')]]);
    expect(factsOf(shrunk.state)).to.deep.equal({
      paidCount: 1,
      unpaidCount: 2,
      unpaidChain: 2,
      lastOutcome: 'UNPAID',
      lastPaidAt: 1,
      lastUnpaidAt: 4,
    });
  });

  it('keep the time of the last payment when an older one is refunded', () => {
    const { state } = report([
      ['old', paid(1)],
      ['newer', paid(2)],
      ...many(RECENT_OUTCOMES_MAX, unpaid, 3),
      ['old', unpaid(100, 'REVERSED')],
    ]);
    expect(factsOf(state)).to.deep.include({ paidCount: 1, lastPaidAt: 2, lastUnpaidAt: 100 });
  });

  it('are the same when they are replayed as recorded, also with equal times', () => {
    const undated = (outcome: 'PAID' | 'UNPAID') => ({ outcome, cause: null, occurredAt: null });
    let [told, repeated] = [UNKNOWN_CLIENT_STATE, UNKNOWN_CLIENT_STATE];
    let [order, again]: (KnownOrder | null)[] = [null, null];
    for (const reported of [
      undated('PAID'),
      undated('UNPAID'),
      { ...undated('UNPAID'), cause: 'REVERSED' as const, amount: '9 EUR' },
      { ...undated('PAID'), occurredAt: NOW - 1, amount: '7 EUR' },
    ]) {
      const change = recordOutcome(told, order ?? null, of('a', reported), NOW);
      ({ state: told, order } = change);
      const replayed = reapplyOutcome(repeated, again ?? null, of('a', change.report), NOW, 'granted');
      ({ state: repeated, order: again } = replayed);
      expect([repeated, again]).to.deep.equal([told, order]);
    }
    expect(factsOf(repeated)).to.deep.include({ paidCount: 0, unpaidCount: 1 });
  });

  it('may be as late as the newest record when the clock was set back', () => {
    const ahead = { ...UNKNOWN_CLIENT_STATE, lastAt: NOW };
    const { state, order } = recordOutcome(ahead, null, of('a', paid(NOW)), NOW - 60_000);
    expect(order.occurredAt).to.equal(NOW);
    expect(state.lastAt).to.equal(NOW);
  });

  it('equal a naive recount, and are the same client in every order of arrival', () => {
    const arrivals = toldOrders(6, 8, 30).chain((told) => fc.tuple(fc.constant(told), shuffled(told)));
    fc.assert(
      fc.property(arrivals, ([told, again]) => {
        const { state } = reportAll(told);
        expect(reportAll(again).state).to.deep.equal(state);
        expect(factsOf(state)).to.deep.equal(naiveFacts(told));
        const everPaid = told.some((one) => one.report.outcome === 'PAID');
        expect(state.ladder).to.deep.equal(everPaid ? UNKNOWN_CLIENT_STATE.ladder : ON_LADDER.ladder);
      }),
      { numRuns: 200 },
    );
  });

  it(`give the same facts of more than ${RECENT_OUTCOMES_MAX} orders while their corrections are among the newest`, () => {
    const arrivals = fc
      .tuple(
        fc.array(fc.boolean(), { minLength: 70, maxLength: 100 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 39 }), { maxLength: 40 }),
        fc.constantFrom(unpaid(0, 'TECHNICAL'), unpaid(0, 'REVERSED'), paid(0)),
      )
      .map(([outcomes, corrected, correction]) => {
        const told = outcomes.map((isPaid, n) => ({
          order: `order-${n}`,
          report: isPaid ? paid(n + 1) : unpaid(n + 1),
        }));
        const corrections = corrected.map((back) => {
          const { order, report: earlier } = told[told.length - 1 - back] ?? { order: '', report: paid(1) };
          return { order, report: { ...correction, occurredAt: earlier.occurredAt } };
        });
        return [...told, ...corrections];
      });
    fc.assert(
      fc.property(arrivals, (told) => {
        expect(factsOf(reportAll(told).state)).to.deep.equal(naiveFacts(told));
        expect(factsOf(reportAll(told.toReversed()).state)).to.deep.equal(naiveFacts(told));
      }),
      { numRuns: 100 },
    );
  });
});

describe('bindings and overrides', () => {
  const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: null, expiresAt: null };
  const override = { group: 'BLOCKED', reason: 'fraud', by: 'ann', at: 5, expiresAt: null } as const;

  it('are set, lifted, and remembered as a contact', () => {
    const at = (lastAt: number, changes: number) => ({ firstSeenAt: 7, lastAt, changes });
    const bound = setBinding(UNKNOWN_CLIENT_STATE, binding, 7);
    expect(bound).to.deep.equal({ ...UNKNOWN_CLIENT_STATE, ...at(7, 1), binding });
    expect(setBinding(bound, null, 9)).to.deep.equal({ ...UNKNOWN_CLIENT_STATE, ...at(9, 2) });
    expect(setOverride(bound, override, 8)).to.deep.equal({ ...bound, ...at(8, 2), override });
    expect(setOverride(setOverride(bound, override, 8), null, 8)).to.deep.equal({ ...bound, ...at(8, 3) });
  });

  it('leave the very same client when there is nothing to lift', () => {
    expect(setBinding(UNKNOWN_CLIENT_STATE, null, 7)).to.equal(UNKNOWN_CLIENT_STATE);
    expect(setOverride(UNKNOWN_CLIENT_STATE, null, 7)).to.equal(UNKNOWN_CLIENT_STATE);
  });
});
