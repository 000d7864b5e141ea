import { expect } from 'chai';
import fc from 'fast-check';
import { ClockOffset, medianOffset, storeClock } from '../../src/state/clock-offset.ts';

const HOUR_MS = 3600_000;

/** The answer of a store whose clock is ahead by `aheadMs`, with this latency in ms each way. */
function reading(atMs: number, aheadMs: number, thereMs: number, backMs: number) {
  return {
    sentMs: atMs,
    storeMs: Math.floor(atMs + thereMs + aheadMs),
    arrivedMs: atMs + thereMs + backMs,
  };
}

const way = fc.double({ min: 0, max: 200, noNaN: true });
const ahead = fc.double({ min: -200 * 24 * HOUR_MS, max: 200 * 24 * HOUR_MS, noNaN: true });

describe('the offset of a clock', () => {
  it('is unknown before the first reading', () => {
    expect(new ClockOffset().offsetMs).to.equal(null);
  });

  it("never makes this process's clock lead the store's, and is off by no more than the fastest answer took", () => {
    fc.assert(
      fc.property(ahead, fc.array(fc.tuple(way, way), { minLength: 1 }), (aheadMs, ways) => {
        const offset = new ClockOffset();
        for (const [index, [there, back]] of ways.entries())
          offset.observe(reading(1_000_000 + index * 1000, aheadMs, there, back));
        const fastest = Math.min(...ways.map(([, back]) => back));
        expect(offset.offsetMs).to.be.at.most(aheadMs + 1e-3);
        expect(offset.offsetMs).to.be.at.least(aheadMs - fastest - 1 - 1e-3);
      }),
    );
  });

  it('follows a clock that was set forward or back', () => {
    const offset = new ClockOffset();
    offset.observe(reading(0, 0, 1, 1));
    offset.observe(reading(1000, HOUR_MS, 1, 1));
    expect(offset.offsetMs).to.be.within(HOUR_MS - 2, HOUR_MS);
    offset.observe(reading(2000, -HOUR_MS, 1, 1));
    expect(offset.offsetMs).to.be.within(-HOUR_MS - 2, -HOUR_MS);
  });
});

describe('the clock of several servers', () => {
  for (const [offsets, median] of [
    [[], 0],
    [[7], 7],
    [[0, 600_000], 0],
    [[1, 600_000, 0], 1],
    [[-600_000, 0, 1], 0],
  ] as const) {
    it(`with offsets ${JSON.stringify(offsets)} is ${median} ahead`, () => {
      expect(medianOffset(offsets)).to.equal(median);
    });
  }

  it('reads in whole milliseconds', () => {
    expect(storeClock(() => 1000.9, { clockOffsetMs: () => -0.95 })()).to.equal(999);
  });
});
