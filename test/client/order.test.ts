import { expect } from 'chai';
import fc from 'fast-check';
import {
  decodeOrder,
  encodeOrder,
  type KnownOrder,
  ORDER_REPORTS_MAX,
  type OrderOutcome,
  withReport,
} from '../../src/client/order.ts';
import { naiveOutcome, paid, shuffled, toldOrders, unpaid } from './told-orders.ts';

function orderOf(...reports: readonly OrderOutcome[]): KnownOrder {
  let known: KnownOrder | null = null;
  for (const report of reports) known = decodeOrder(encodeOrder(withReport(known, report, 'granted')));
  if (known === null) throw new Error('an order has a report');
  return known;
}

function holdingOf(...reports: readonly OrderOutcome[]): OrderOutcome {
  const { outcome, cause, occurredAt } = orderOf(...reports);
  return { outcome, cause, occurredAt };
}

describe('what is known of an order', () => {
  it('is the very same after the same report', () => {
    const known = orderOf(paid(1), unpaid(2, 'REVERSED'));
    expect(withReport(known, paid(1), 'granted')).to.equal(known);
    expect(withReport(known, unpaid(2, 'REVERSED'), 'granted')).to.equal(known);
  });

  it('survives its stored form', () => {
    const amounts = fc.constantFrom('25.5 EUR', '0 USDT', undefined);
    const exposures = fc.constantFrom('granted', 'turnedAway', 'notAsked');
    fc.assert(
      fc.property(toldOrders(1, 6, 8), amounts, exposures, (told, amount, exposure) => {
        let known: KnownOrder | null = null;
        for (const { report } of told) known = withReport(known, report, exposure);
        if (known === null) throw new Error('an order has a report');
        const order = amount === undefined ? known : { ...known, amount };
        expect(decodeOrder(encodeOrder(order))).to.deep.equal(order);
      }),
    );
    expect(() => decodeOrder('71')).to.throw('an order has the unknown result 7');
    expect(() => decodeOrder('')).to.throw('an order has the unknown result NaN');
  });

  it('takes 18 bytes as it is stored', () => {
    expect(encodeOrder({ ...paid(1_800_000_000_000), amount: '25.5 EUR' })).to.equal('5mywpiww0,25.5 EUR');
    expect(encodeOrder(orderOf(paid(1_800_000_000_000), unpaid(1_800_000_009_000, 'REVERSED')))).to.equal(
      '6mywpj3u0,,5,-6y0,6,0',
    );
  });

  it('is the same in every order of arrival, and equals a naive recount', () => {
    const reports = toldOrders(1, 6, 8).map((told) => told.map(({ report }) => report));
    const arrivals = reports.chain((told) => fc.tuple(fc.constant(told), shuffled(told)));
    fc.assert(
      fc.property(arrivals, ([told, again]) => {
        expect(orderOf(...again)).to.deep.equal(orderOf(...told));
        expect(holdingOf(...told)).to.deep.equal(naiveOutcome(told));
      }),
      { numRuns: 200 },
    );
  });

  it(`remembers the first and the newest of more than ${ORDER_REPORTS_MAX} reports`, () => {
    const repeats = Array.from({ length: 50 }, (_, n) => paid(n + 1));
    const known = orderOf(...repeats);
    expect(known.reports?.map(({ occurredAt }) => occurredAt)).to.deep.equal([
      1,
      ...Array.from({ length: ORDER_REPORTS_MAX - 1 }, (_, n) => 36 + n),
    ]);
    expect(known.occurredAt).to.equal(1);
    expect(orderOf(...repeats.toReversed())).to.deep.equal(known);
  });
});
