import { expect } from 'chai';
import fc from 'fast-check';
import { shareOf } from '../../src/console/page/parts/format.ts';
import { shareInterval } from '../../src/statistics/intervals.ts';

describe('a share that the console works out', () => {
  it('has the interval that the commands print', () => {
    const counts = fc.nat(5000).chain((whole) => fc.tuple(fc.nat(whole), fc.constant(whole)));
    fc.assert(
      fc.property(counts, ([part, whole]) => {
        expect(shareOf(part, whole)).to.deep.equal(shareInterval(part, whole));
      }),
    );
  });
});
