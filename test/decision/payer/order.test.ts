import { expect } from 'chai';
import fc from 'fast-check';
import {
  addReport,
  type DatedReport,
  dateReport,
  findSettledAmount,
  forgetFailuresBeforeAttempt,
  type KnownOrder,
  ORDER_REPORTS_MAX,
  type OrderOutcome,
} from '#decision/payer/order.ts';
import { decodeOrder, encodeOrder } from '#decision/payer/order-text.ts';
import { naiveOutcome, paid, shuffled, toldOrders, unpaid } from './told-orders.ts';

const ASKED = '100 EUR';

/** What is known of an order after some reports, each through its stored form. */
function orderOf(...reports: readonly DatedReport[]): KnownOrder {
  return askedFor(undefined, ...reports);
}

function askedFor(asked: string | undefined, ...reports: readonly DatedReport[]): KnownOrder {
  let known: KnownOrder | null = null;
  for (const report of reports) known = decodeOrder(encodeOrder(addReport(known, report, 'granted', asked)));
  if (known === null) throw new Error('an order has a report');
  return known;
}

function resultOf({ outcome, cause, occurredAt, undated, awaitsPayment }: KnownOrder): OrderOutcome {
  return {
    outcome,
    cause,
    occurredAt,
    ...(undated ? { undated } : {}),
    ...(awaitsPayment ? { awaitsPayment } : {}),
  };
}

const captured = (occurredAt: number, amount: string): DatedReport => ({ ...paid(occurredAt), amount });

const takenBack = (occurredAt: number, amount?: string): DatedReport => ({
  ...unpaid(occurredAt, 'REVERSED'),
  ...(amount === undefined ? {} : { amount }),
});

const undatedPaid = (occurredAt: number): DatedReport => ({ ...paid(occurredAt), undated: true });

describe('what is known of an order', () => {
  it('is the very same after the same report', () => {
    const known = orderOf(paid(1), takenBack(2));
    expect(addReport(known, paid(1), 'granted', undefined)).to.equal(known);
    expect(addReport(known, takenBack(2), 'granted', undefined)).to.equal(known);
  });

  it('survives its stored form', () => {
    const amounts = fc.constantFrom('25.5 EUR', '0 USDT', undefined);
    const orderStages = fc.constantFrom('granted', 'turnedAway', 'notAsked');
    fc.assert(
      fc.property(toldOrders(1, 6, 8), amounts, orderStages, (told, amount, orderStage) => {
        let known: KnownOrder | null = null;
        for (const { report } of told) known = addReport(known, report, orderStage, amount);
        if (known === null) throw new Error('an order has a report');
        expect(decodeOrder(encodeOrder(known))).to.deep.equal(known);
      }),
    );
    const undated = orderOf(undatedPaid(5));
    expect(decodeOrder(encodeOrder(undated))).to.deep.equal(undated);
    expect(() => decodeOrder('91')).to.throw('an order has the unknown result 9');
    expect(() => decodeOrder('')).to.throw('an order has the unknown result NaN');
  });

  it('takes 18 bytes as it is stored', () => {
    expect(encodeOrder({ ...paid(1_800_000_000_000), amount: '25.5 EUR' })).to.equal('5mywpiww0,25.5 EUR');
    expect(encodeOrder(orderOf(paid(1_800_000_000_000), takenBack(1_800_000_009_000, '9 EUR')))).to.equal(
      '6mywpj3u0,,5,-6y0,6,0,9 EUR',
    );
  });

  it('is the same in every order of arrival, and equals a naive recount', () => {
    const reports = toldOrders(1, 6, 8).map((told) => told.map(({ report }) => report));
    const arrivals = reports.chain((told) => fc.tuple(fc.constant(told), shuffled(told)));
    fc.assert(
      fc.property(arrivals, ([told, again]) => {
        expect(orderOf(...again)).to.deep.equal(orderOf(...told));
        expect(resultOf(orderOf(...told))).to.deep.equal(naiveOutcome(told));
      }),
      { numRuns: 400 },
    );
  });

  it('is a payment until that is reported reversed, whatever failures are reported when', () => {
    for (const failure of [null, 'EXPIRED', 'CANCELLED', 'DECLINED', 'TECHNICAL'] as const)
      for (const reports of [
        [paid(5), unpaid(9, failure)],
        [unpaid(9, failure), paid(5)],
        [unpaid(1, failure), paid(5), unpaid(5, failure)],
      ])
        expect(resultOf(orderOf(...reports)), String(failure)).to.deep.equal(paid(5));
    expect(resultOf(orderOf(paid(5), takenBack(9)))).to.deep.equal(takenBack(9));
  });

  it('is paid again when a payment is later than its reversal, and reversed when both are of one moment', () => {
    expect(resultOf(orderOf(paid(1), takenBack(5), paid(6)))).to.deep.equal(paid(6));
    expect(resultOf(orderOf(paid(1), takenBack(5), paid(5)))).to.deep.equal(takenBack(5));
    expect(resultOf(orderOf(takenBack(5), paid(4)))).to.deep.equal(takenBack(5));
  });

  it('is not paid again by a payment without a moment', () => {
    expect(resultOf(orderOf(paid(1), takenBack(5), undatedPaid(9)))).to.deep.equal(takenBack(5));
    expect(resultOf(orderOf(undatedPaid(9), takenBack(5)))).to.deep.equal(takenBack(5));
  });

  it('is paid again by a payment with a moment, also when one without came in the same millisecond', () => {
    for (const reports of [
      [takenBack(5), undatedPaid(9), paid(9)],
      [undatedPaid(9), paid(9), takenBack(5)],
      [paid(9), undatedPaid(9), takenBack(5)],
    ])
      expect(resultOf(orderOf(...reports))).to.deep.equal(paid(9));
  });

  it('is of the latest failure, and of one moment of the stronger one', () => {
    expect(resultOf(orderOf(unpaid(5, 'TECHNICAL'), unpaid(6, null)))).to.deep.equal(unpaid(6, null));
    expect(resultOf(orderOf(unpaid(5, 'DECLINED'), unpaid(5, 'EXPIRED')))).to.deep.equal(
      unpaid(5, 'DECLINED'),
    );
  });

  it('gives a report without a moment that of its arrival, and knows one whose result it knows', () => {
    const undated = { outcome: 'PAID', cause: null, occurredAt: null } as const;
    const reversed = { outcome: 'UNPAID', cause: 'REVERSED', occurredAt: null } as const;
    expect(dateReport(null, undated, 7)).to.deep.equal(undatedPaid(7));
    expect(dateReport(null, { ...undated, occurredAt: 8 }, 7)).to.deep.equal(undatedPaid(7));
    expect(dateReport(orderOf(paid(1), takenBack(5)), undated, 7)).to.deep.equal(paid(1));
    expect(dateReport(orderOf(paid(1)), reversed, 7)).to.deep.equal(takenBack(7));
    expect(dateReport(orderOf(paid(1), takenBack(5), paid(6)), reversed, 7)).to.deep.equal(takenBack(5));
    expect(dateReport(orderOf(captured(1, '9 EUR')), undated, 7)).to.deep.equal(undatedPaid(7));
  });

  it('forgets failures alone when it is granted after it was turned away', () => {
    const turnedAway = (...reports: readonly DatedReport[]) =>
      reports.reduce<KnownOrder | null>((known, one) => addReport(known, one, 'turnedAway', undefined), null);
    expect(forgetFailuresBeforeAttempt(turnedAway(unpaid(1)), 'granted')).to.equal(null);
    expect(forgetFailuresBeforeAttempt(turnedAway(unpaid(1), paid(2)), 'granted')).to.deep.equal(paid(2));
    expect(forgetFailuresBeforeAttempt(turnedAway(unpaid(1), takenBack(2)), 'granted')).to.deep.equal(
      takenBack(2),
    );
    const known = turnedAway(unpaid(1));
    expect(forgetFailuresBeforeAttempt(known, 'turnedAway')).to.equal(known);
  });
});

describe('the money of an order', () => {
  const settled = (...reports: readonly DatedReport[]) => findSettledAmount(askedFor(ASKED, ...reports));
  const isPaid = (...reports: readonly DatedReport[]) => askedFor(ASKED, ...reports).outcome === 'PAID';

  it('is what was captured, the most of several reports, or what was asked for where none says', () => {
    expect(settled(captured(1, '40 EUR'))).to.equal('40 EUR');
    expect(settled(captured(1, '40 EUR'), captured(2, '60 EUR'), captured(3, '50 EUR'))).to.equal('60 EUR');
    expect(settled(captured(1, '40 EUR'), paid(2))).to.equal('100 EUR');
    expect(settled(paid(1))).to.equal('100 EUR');
    expect(findSettledAmount(orderOf(paid(1)))).to.equal(undefined);
  });

  it('is less by the most that was taken back, and the order stays paid with the rest', () => {
    const refunds = [paid(1), takenBack(2, '30 EUR'), takenBack(3, '20 EUR')];
    expect([isPaid(...refunds), settled(...refunds)]).to.deep.equal([true, '70 EUR']);
    expect(settled(takenBack(2, '30 EUR'), paid(5))).to.equal('70 EUR');
    expect(settled(paid(1), takenBack(2, '30 EUR'), paid(3))).to.equal('70 EUR');
  });

  it('is gone when all of it was taken back, or more', () => {
    for (const reversal of [takenBack(2), takenBack(2, '100 EUR'), takenBack(2, '100.01 EUR')])
      expect(isPaid(paid(1), reversal)).to.equal(false);
    expect(isPaid(captured(1, '40 EUR'), takenBack(2, '40.00 EUR'))).to.equal(false);
    expect(settled(captured(1, '40 EUR'), takenBack(2))).to.equal('40 EUR');
  });

  it('is whole again when it was paid anew', () => {
    expect(settled(paid(1), takenBack(2, '30 EUR'), takenBack(3), paid(4))).to.equal('100 EUR');
    expect(settled(paid(1), takenBack(2), paid(3), takenBack(4, '30 EUR'))).to.equal('70 EUR');
    expect(settled(takenBack(2, '30 EUR'), takenBack(2), paid(3))).to.equal('100 EUR');
  });

  it('cannot be compared with another currency, and such a reversal takes all of it', () => {
    expect(isPaid(captured(1, '40 EUR'), takenBack(2, '1 USD'))).to.equal(false);
    expect(orderOf(paid(1), takenBack(2, '1 EUR')).outcome).to.equal('UNPAID');
  });

  it('waits for its payment when a part was taken back before that was reported', () => {
    const waiting = askedFor(ASKED, takenBack(2, '30 EUR'));
    expect(resultOf(waiting)).to.deep.equal({ ...takenBack(2), awaitsPayment: true });
    expect(resultOf(askedFor(ASKED, takenBack(2, '100 EUR')))).to.deep.equal(takenBack(2));
    expect(resultOf(askedFor(ASKED, takenBack(2, '30 EUR'), unpaid(1)))).to.deep.equal(unpaid(1));
  });
});

describe('the reports that are remembered of an order', () => {
  it(`are the first and the newest of more than ${ORDER_REPORTS_MAX}`, () => {
    const repeats = Array.from({ length: 50 }, (_, n) => paid(n + 1));
    const known = orderOf(...repeats);
    expect(known.reports?.map(({ occurredAt }) => occurredAt)).to.deep.equal([
      1,
      ...Array.from({ length: ORDER_REPORTS_MAX - 1 }, (_, n) => 36 + n),
    ]);
    expect(known.occurredAt).to.equal(1);
    expect(orderOf(...repeats.toReversed())).to.deep.equal(known);
  });

  it('have the newest payment, reversal and failure among them, and the largest amounts', () => {
    const failures = Array.from({ length: 40 }, (_, n) =>
      unpaid(100 + n, n % 2 === 0 ? 'DECLINED' : 'EXPIRED'),
    );
    const rare = [
      unpaid(1, 'CANCELLED'),
      captured(2, '90 EUR'),
      paid(3),
      takenBack(4, '40 EUR'),
      takenBack(5, '20 EUR'),
    ];
    const known = askedFor(ASKED, ...rare, ...failures);
    expect(known.reports).to.have.lengthOf(ORDER_REPORTS_MAX);
    expect(resultOf(known)).to.deep.equal(paid(2));
    expect(findSettledAmount(known)).to.equal('60 EUR');
    expect(resultOf(askedFor(ASKED, ...rare, takenBack(6), ...failures))).to.deep.equal(takenBack(6));
  });
});
