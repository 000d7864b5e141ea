import { expect } from 'chai';
import fc from 'fast-check';
import { decideVerdict } from '#decision/decide.ts';
import { NO_SIGHTINGS, type NullableFactValue } from '#decision/facts/fact.ts';
import { type ReportWithOrderRef, recordOutcome } from '#decision/payer/changes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, toShortHash, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { encodeClientState, roundTripState } from '#decision/payer/state-document.ts';
import { NOW } from '../../rule-fixtures/random-states.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { clientKey } from '../payer/client-keys.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEMO = clientKey(toPlatformName('demo'), 'payer-1');

/** The released rules, which show a requisite to everybody and name every fact about orders. */
const RULES = edited({
  'verdicts.yaml': () => `
rules:
  - name: never
    priority: 1
    conditions: { all: [{ fact: clientGroup, operator: equal, value: BLOCKED }, { fact: paidCount, operator: greaterThan, value: 9999 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise:
  verdict: GET_NEW
  reason: "{attemptedAmount(1h)} {attemptedAmount(1d)} {paidAmount(1d)} {paidAmount(90d)} {paidOrders(1d)} {unpaidOrders(1d)} {declinedOrders(1d)} {declinedOrders(2d)} {expiredOrders(1d)} {cancelledOrders(1d)} {reversedOrders(1d)} {technicalOrders(1d)} {lastCause} {secondsSinceLastReversal}"
`,
});

interface Asked {
  readonly order: string;
  readonly amount: string;
  readonly currency?: string;
}

/** One payer, whose state goes through its stored form after every step. */
class Payer {
  state: ClientState = UNKNOWN_CLIENT_STATE;
  now = NOW;

  ask({ order, amount, currency }: Asked): Readonly<Record<string, NullableFactValue>> {
    const request = {
      sellPointKey: 'shop-1',
      method: 'card',
      requestId: 'r',
      arm: 'active' as const,
      orderRef: order,
      amount,
      currency: currency ?? null,
    };
    const standing = { client: DEMO, state: this.state, sightings: NO_SIGHTINGS, now: this.now };
    const { decision, nextState } = decideVerdict(RULES, standing, request);
    this.#keep(nextState);
    return decision.facts;
  }

  tell(
    orderRef: string,
    outcome: 'PAID' | 'UNPAID',
    cause: ReportWithOrderRef['cause'] = null,
    amount: string | null = null,
  ): void {
    const money = amount === null ? {} : { amount };
    const report = { orderRef, outcome, cause, occurredAt: this.now, ...money };
    this.#keep(recordOutcome(this.state, null, report, this.now).state);
  }

  #keep(state: ClientState): void {
    this.state = roundTripState(state);
  }
}

describe('attemptedAmount', () => {
  it('adds this request to the orders for which a requisite was shown', () => {
    const payer = new Payer();
    expect(payer.ask({ order: 'a', amount: '10.10' })).to.include({ 'attemptedAmount(1h)': 10.1 });
    expect(payer.ask({ order: 'b', amount: '20.20' })).to.include({ 'attemptedAmount(1h)': 30.3 });
  });

  it('counts an order once, with its newest amount', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    expect(payer.ask({ order: 'a', amount: '15' })).to.include({ 'attemptedAmount(1h)': 15 });
  });

  it('leaves out other currencies', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    expect(payer.ask({ order: 'b', amount: '7', currency: 'USD' })).to.include({ 'attemptedAmount(1h)': 7 });
    expect(payer.ask({ order: 'c', amount: '1' })).to.include({ 'attemptedAmount(1h)': 11 });
  });

  it('forgets what is as old as the window', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.now += HOUR_MS;
    const facts = payer.ask({ order: 'b', amount: '5' });
    expect(facts).to.include({ 'attemptedAmount(1h)': 5, 'attemptedAmount(1d)': 15 });
  });

  it('leaves out requests that were kept without their amounts', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    const events = payer.state.events.map((event) => ({ ...event, amount: toShortHash('10 EUR') }));
    payer.state = { ...payer.state, events };
    expect(payer.ask({ order: 'b', amount: '5' })).to.include({ 'attemptedAmount(1h)': 5 });
  });

  it('is never less than the amount of the request', () => {
    const asked = fc.record({
      order: fc.constantFrom('a', 'b', 'c'),
      amount: fc.constantFrom('0', '0.1', '25.00', '99999999999999999999999999999999999999'),
      currency: fc.constantFrom('EUR', 'USD'),
    });
    fc.assert(
      fc.property(fc.array(asked, { minLength: 1, maxLength: 12 }), (all) => {
        const payer = new Payer();
        for (const one of all) {
          const facts = payer.ask(one);
          expect(facts['attemptedAmount(1h)']).to.be.at.least(Number(facts['amount']));
          expect(facts['attemptedAmount(1d)']).to.be.at.least(Number(facts['attemptedAmount(1h)']));
          expect(facts['attemptedAmount(1d)']).to.be.at.most(1e38);
        }
      }),
    );
  });
});

describe('the orders of a cause', () => {
  const CAUSES = {
    declinedOrders: 'DECLINED',
    expiredOrders: 'EXPIRED',
    cancelledOrders: 'CANCELLED',
    technicalOrders: 'TECHNICAL',
  } as const;

  it('are counted each by its own fact', () => {
    for (const [fact, cause] of Object.entries(CAUSES)) {
      const payer = new Payer();
      payer.ask({ order: 'a', amount: '10' });
      payer.tell('a', 'UNPAID', cause);
      const facts = payer.ask({ order: 'b', amount: '10' });
      for (const name of Object.keys(CAUSES))
        expect(facts[`${name}(1d)`], `${name} after ${cause}`).to.equal(name === fact ? 1 : 0);
    }
  });

  it('are those of which the cause holds: a payment takes a failure away, and a reversal the payment', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'UNPAID', 'DECLINED');
    payer.now += HOUR_MS;
    payer.tell('a', 'PAID');
    expect(payer.ask({ order: 'b', amount: '1' })).to.include({ 'declinedOrders(1d)': 0 });
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED');
    expect(payer.ask({ order: 'c', amount: '1' })).to.include({
      'declinedOrders(1d)': 0,
      'reversedOrders(1d)': 1,
      'unpaidOrders(1d)': 1,
    });
  });

  it('are counted within the window, from the moment that was reported', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'UNPAID', 'DECLINED');
    payer.now += DAY_MS - 1;
    expect(payer.ask({ order: 'b', amount: '1' })).to.include({ 'declinedOrders(1d)': 1 });
    payer.now += 1;
    const facts = payer.ask({ order: 'c', amount: '1' });
    expect(facts).to.include({ 'declinedOrders(1d)': 0, 'declinedOrders(2d)': 1 });
  });
});

describe('lastCause', () => {
  it('is that of the newest order with a result, and not known where that has none', () => {
    const payer = new Payer();
    expect(payer.ask({ order: 'a', amount: '10' })).to.include({ lastCause: null });
    payer.tell('a', 'UNPAID', 'DECLINED');
    payer.now += HOUR_MS;
    expect(payer.ask({ order: 'b', amount: '10' })).to.include({ lastCause: 'DECLINED' });
    payer.tell('b', 'UNPAID');
    payer.now += HOUR_MS;
    expect(payer.ask({ order: 'c', amount: '10' })).to.include({ lastCause: null });
    payer.tell('c', 'UNPAID', 'EXPIRED');
    payer.now += HOUR_MS;
    expect(payer.ask({ order: 'd', amount: '10' })).to.include({ lastCause: 'EXPIRED' });
    payer.tell('d', 'PAID');
    expect(payer.ask({ order: 'e', amount: '10' })).to.include({ lastCause: null });
  });

  it('is TECHNICAL after a technical failure, whatever lastOutcome says', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += HOUR_MS;
    payer.ask({ order: 'b', amount: '10' });
    payer.tell('b', 'UNPAID', 'TECHNICAL');
    expect(payer.ask({ order: 'c', amount: '10' })).to.include({
      lastCause: 'TECHNICAL',
      lastOutcome: 'PAID',
    });
  });

  it('follows the result that holds: a payment takes a decline away, and a reversal the payment', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'UNPAID', 'DECLINED');
    payer.now += HOUR_MS;
    payer.tell('a', 'PAID');
    expect(payer.ask({ order: 'b', amount: '1' })).to.include({ lastCause: null });
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED');
    expect(payer.ask({ order: 'c', amount: '1' })).to.include({ lastCause: 'REVERSED' });
  });
});

describe('secondsSinceLastReversal', () => {
  const since = (payer: Payer) => payer.ask({ order: 'x', amount: '1' })['secondsSinceLastReversal'];

  it('is not known of a payer without a reversed order', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += HOUR_MS;
    expect(since(payer)).to.equal(null);
  });

  it('counts from the moment at which all of a payment was taken back', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED');
    payer.now += 2 * HOUR_MS;
    expect(since(payer)).to.equal(7200);
  });

  it('counts from the first report of a part that was taken back, of an order that stays paid', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED', '4 EUR');
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED', '4 EUR');
    payer.now += HOUR_MS;
    expect(since(payer)).to.equal(7200);
    payer.tell('a', 'UNPAID', 'REVERSED', '6 EUR');
    payer.now += 5000;
    expect(since(payer)).to.equal(5);
  });

  it('forgets what a later payment took back, and a reversal that waits for its payment', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED');
    payer.now += HOUR_MS;
    payer.tell('a', 'PAID');
    expect(since(payer)).to.equal(null);
    payer.ask({ order: 'b', amount: '10' });
    payer.tell('b', 'UNPAID', 'REVERSED', '4 EUR');
    expect(since(payer)).to.equal(null);
    payer.tell('b', 'PAID');
    expect(since(payer)).to.equal(0);
  });

  it('is that of the order whose reversal is the newest', () => {
    const payer = new Payer();
    for (const order of ['a', 'b']) {
      payer.ask({ order, amount: '10' });
      payer.tell(order, 'PAID');
      payer.now += HOUR_MS;
    }
    payer.tell('a', 'UNPAID', 'REVERSED', '4 EUR');
    payer.now += HOUR_MS;
    expect(since(payer)).to.equal(3600);
  });
});

describe('paidAmount', () => {
  it('adds up the requested amounts of the paid orders', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10.10' });
    payer.ask({ order: 'b', amount: '20.20' });
    payer.ask({ order: 'c', amount: '40' });
    payer.tell('a', 'PAID');
    payer.tell('b', 'PAID');
    payer.tell('c', 'UNPAID');
    const facts = payer.ask({ order: 'd', amount: '1' });
    expect(facts).to.include({ 'paidAmount(1d)': 30.3, 'paidOrders(1d)': 2, 'unpaidOrders(1d)': 1 });
  });

  it('leaves out other currencies, and orders that nobody asked a verdict for', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10', currency: 'USD' });
    payer.tell('a', 'PAID');
    payer.tell('unheard-of', 'PAID');
    expect(payer.ask({ order: 'b', amount: '1' })).to.include({ 'paidAmount(1d)': 0, 'paidOrders(1d)': 2 });
    expect(payer.ask({ order: 'c', amount: '1', currency: 'USD' })).to.include({ 'paidAmount(1d)': 10 });
  });

  it('knows the amount of a transfer that arrives days after it was asked for', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '500' });
    payer.now += 3 * DAY_MS;
    payer.ask({ order: 'b', amount: '20' });
    payer.now += 3 * DAY_MS;
    payer.tell('a', 'PAID');
    expect(payer.ask({ order: 'c', amount: '1' })).to.include({ 'paidAmount(1d)': 500 });
  });

  it('follows an order that is paid late, or is taken back', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'UNPAID', 'EXPIRED');
    payer.now += 2 * DAY_MS;
    payer.tell('a', 'PAID');
    expect(payer.ask({ order: 'b', amount: '1' })).to.include({
      'paidAmount(1d)': 10,
      'unpaidOrders(1d)': 0,
    });
    payer.now += HOUR_MS;
    payer.tell('a', 'UNPAID', 'REVERSED');
    expect(payer.ask({ order: 'c', amount: '1' })).to.include({ 'paidAmount(1d)': 0, 'unpaidOrders(1d)': 1 });
  });

  it('looks back no further than the window', () => {
    const payer = new Payer();
    payer.ask({ order: 'a', amount: '10' });
    payer.tell('a', 'PAID');
    payer.now += DAY_MS;
    const facts = payer.ask({ order: 'b', amount: '1' });
    expect(facts).to.include({ 'paidAmount(1d)': 0, 'paidOrders(1d)': 0, 'paidAmount(90d)': 10 });
  });

  it('needs a bounded state, however many orders are never reported', () => {
    const payer = new Payer();
    for (let n = 0; n < 300; n++) {
      payer.now += 2 * HOUR_MS;
      payer.ask({ order: `order-${n}`, amount: String(n) });
    }
    // 12 of them are of the last day, and 8 older ones are still awaited.
    expect(payer.state.events).to.have.lengthOf(20);
    expect(encodeClientState(payer.state).length).to.be.below(1500);
  });
});

describe('a fact about orders', () => {
  it('is recorded only by rule sets that ask for it', () => {
    const released = edited({});
    const named = released.facts.map(({ name }) => name);
    expect(named).to.not.include.members(['hourOfDay', 'dayOfWeek', 'platform', 'paidAmount']);
    const night = edited({
      'verdicts.yaml': swap(
        'No reason to hold the payer back.',
        'It is {hourOfDay} on a {dayOfWeek} at {platform}.',
      ),
    });
    const added = night.facts.map(({ name }) => name).filter((name) => !named.includes(name));
    expect(added).to.deep.equal(['hourOfDay', 'dayOfWeek', 'platform']);
    const ofCauses = edited({
      'verdicts.yaml': swap('No reason to hold the payer back.', 'It ended with {lastCause}.'),
    });
    expect(ofCauses.facts.map(({ name }) => name).filter((name) => !named.includes(name))).to.deep.equal([
      'lastCause',
    ]);
  });
});
