import { expect } from 'chai';
import fc from 'fast-check';
import { readExactClock, readSystemClock } from '#base/clock.ts';
import { ClockOffsetEstimator, computeMedianOffset, createStoreClock } from '#state/clock-offset.ts';
import { StoreConnectionErrorLog } from '#workbench/upkeep/connection-errors.ts';

const HOUR_MS = 3600_000;

/** The answer of a store whose clock is ahead by `aheadMs`, with this latency in ms each way. */
function reading(atMs: number, aheadMs: number, thereMs: number, backMs: number) {
  return { sentMs: atMs, storeMs: Math.floor(atMs + thereMs + aheadMs), arrivedMs: atMs + thereMs + backMs };
}

const way = fc.double({ min: 0, max: 200, noNaN: true });
const ahead = fc.double({ min: -200 * 24 * HOUR_MS, max: 200 * 24 * HOUR_MS, noNaN: true });

describe('the offset of a clock', () => {
  it('is unknown before the first reading', () => {
    expect(new ClockOffsetEstimator().offsetMs).to.equal(null);
  });

  it("never makes this process's clock lead the store's, and is off by no more than the fastest answer took", () => {
    fc.assert(
      fc.property(ahead, fc.array(fc.tuple(way, way), { minLength: 1 }), (aheadMs, ways) => {
        const offset = new ClockOffsetEstimator();
        for (const [index, [there, back]] of ways.entries())
          offset.observe(reading(1_000_000 + index * 1000, aheadMs, there, back));
        const fastest = Math.min(...ways.map(([, back]) => back));
        expect(offset.offsetMs).to.be.at.most(aheadMs + 1e-3);
        expect(offset.offsetMs).to.be.at.least(aheadMs - fastest - 1 - 1e-3);
      }),
    );
  });

  it('follows a clock that was set forward or back', () => {
    const offset = new ClockOffsetEstimator();
    offset.observe(reading(0, 0, 1, 1));
    offset.observe(reading(1000, HOUR_MS, 1, 1));
    expect(offset.offsetMs).to.be.within(HOUR_MS - 2, HOUR_MS);
    offset.observe(reading(2000, -HOUR_MS, 1, 1));
    expect(offset.offsetMs).to.be.within(-HOUR_MS - 2, -HOUR_MS);
  });
});

describe('the clock of this process', () => {
  it('does not follow a system clock that somebody sets where time is measured, and does where it decides on SQLite', () => {
    const { now } = Date;
    try {
      Date.now = () => now() + HOUR_MS;
      expect(readExactClock()).to.be.within(now() - HOUR_MS / 2, now() + HOUR_MS / 2);
      const ofSqlite = createStoreClock(readExactClock, {
        ownClock: readSystemClock,
        clockOffsetMs: () => 0,
      });
      expect(ofSqlite()).to.be.within(now() + HOUR_MS / 2, now() + 2 * HOUR_MS);
    } finally {
      Date.now = now;
    }
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
      expect(computeMedianOffset(offsets)).to.equal(median);
    });
  }

  it('reads in whole milliseconds', () => {
    expect(createStoreClock(() => 1000.9, { clockOffsetMs: () => -0.95 })()).to.equal(999);
  });
});

const LOST = 'the connection to the store is lost; trying again';
const STILL_LOST = 'the connection to the store is still lost';
const BACK = 'the connection to the store is back';

describe('the lines about a connection to the store', () => {
  it('are one when it is lost, one in ten seconds while it stays lost, and one when it is back', () => {
    const errors = new StoreConnectionErrorLog();
    const told: [number, string][] = [];
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 100) {
      const news = nowMs <= 25_000 ? errors.noteError(nowMs) : errors.findRecovery(nowMs);
      if (news !== null) told.push([nowMs, `${news.text} (${news.seconds} s, ${news.errors} errors)`]);
    }
    expect(told).to.deep.equal([
      [0, `${LOST} (0 s, 1 errors)`],
      [10_000, `${STILL_LOST} (10 s, 101 errors)`],
      [20_000, `${STILL_LOST} (20 s, 201 errors)`],
      [30_000, `${BACK} (25 s, 251 errors)`],
    ]);
  });

  it('begin anew with the next outage', () => {
    const errors = new StoreConnectionErrorLog();
    const told = [errors.noteError(0), errors.findRecovery(6000), errors.noteError(7000)];
    expect(told.map((news) => news?.text)).to.deep.equal([LOST, BACK, LOST]);
  });

  it('never say that it is back within five seconds of an error', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 4000 }), fc.boolean()), { maxLength: 100 });
    fc.assert(
      fc.property(steps, (all) => {
        const errors = new StoreConnectionErrorLog();
        let nowMs = 0;
        let lastErrorMs = 0;
        for (const [laterMs, isError] of all) {
          nowMs += laterMs;
          const news = isError ? errors.noteError(nowMs) : errors.findRecovery(nowMs);
          if (news?.text === BACK) expect(nowMs - lastErrorMs).to.be.at.least(5000);
          if (isError) lastErrorMs = nowMs;
        }
      }),
    );
  });
});
