import { expect } from 'chai';
import fc from 'fast-check';
import { shareInterval, shareUpperBound } from '../../src/statistics/intervals.ts';

describe('the interval of a share', () => {
  it("is Wilson's, and null without anybody", () => {
    expect(shareInterval(0, 0)).to.equal(null);
    const share = shareInterval(10, 100);
    expect(share?.value).to.equal(0.1);
    // The textbook's interval for 10 of 100.
    expect(share?.low).to.be.closeTo(0.0552, 0.0001);
    expect(share?.high).to.be.closeTo(0.1744, 0.0001);
  });

  it('ends where the true share would be 1.96 of its own standard errors from the observed one', () => {
    const counts = fc
      .integer({ min: 1, max: 500 })
      .chain((whole) => fc.tuple(fc.nat(whole), fc.constant(whole)));
    fc.assert(
      fc.property(counts, ([part, whole]) => {
        const { value, low, high } = shareInterval(part, whole) ?? { value: 0, low: 0, high: 0 };
        for (const end of [low, high])
          expect(Math.abs(value - end)).to.be.closeTo(1.96 * Math.sqrt((end * (1 - end)) / whole), 1e-4);
        expect(value).to.be.within(low - 1e-12, high + 1e-12);
      }),
    );
  });
});

describe('the upper bound of a share', () => {
  it('is the share of which one of twenty samples would show so few cases, by the normal approximation', () => {
    for (const [part, whole] of [
      [0, 929],
      [1, 929],
      [30, 400],
      [200, 400],
    ] as const) {
      const bound = shareUpperBound(part, whole);
      // Wilson's bound is the share whose own standard error puts the observed one at the 5 % point.
      const distance = (bound - part / whole) / Math.sqrt((bound * (1 - bound)) / whole);
      expect(distance).to.be.closeTo(1.6448536, 1e-6);
    }
    expect(shareUpperBound(5, 5)).to.equal(1);
    expect(shareUpperBound(0, 0)).to.equal(1);
  });
});
