import { expect } from 'chai';
import fc from 'fast-check';
import { OrderFilter, orderNumber } from '../../src/archive/order-filter.ts';

describe('the order filter of a segment', () => {
  it('never denies an order that is in the segment', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 300 }), (orders) => {
        const filter = OrderFilter.from(OrderFilter.of(orders.map(orderNumber)).bytes);
        expect(orders.every((order) => filter.mayHold(orderNumber(order)))).to.equal(true);
      }),
    );
  });

  it('denies all but about one in a hundred of the others', () => {
    const filter = OrderFilter.of(Array.from({ length: 5000 }, (_, index) => orderNumber(`held-${index}`)));
    const wrong = Array.from({ length: 20_000 }, (_, index) => orderNumber(`other-${index}`)).filter(
      (order) => filter.mayHold(order),
    );
    expect(wrong.length).to.be.within(50, 400);
  });
});
