import { expect } from 'chai';
import fc from 'fast-check';
import { ConnectionErrors } from '../../src/state/connection-news.ts';

const LOST = 'the connection to the store is lost, and tried again';
const STILL_LOST = 'the connection to the store is still lost';
const BACK = 'the connection to the store is back';

describe('the lines about a connection to the store', () => {
  it('are one when it is lost, one in ten seconds while it stays lost, and one when it is back', () => {
    const errors = new ConnectionErrors();
    const told: [number, string][] = [];
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 100) {
      const news = nowMs <= 25_000 ? errors.failed(nowMs) : errors.recovered(nowMs);
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
    const errors = new ConnectionErrors();
    const told = [errors.failed(0), errors.recovered(6000), errors.failed(7000)];
    expect(told.map((news) => news?.text)).to.deep.equal([LOST, BACK, LOST]);
  });

  it('never say that it is back within five seconds of an error', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 4000 }), fc.boolean()), { maxLength: 100 });
    fc.assert(
      fc.property(steps, (all) => {
        const errors = new ConnectionErrors();
        let nowMs = 0;
        let lastErrorMs = 0;
        for (const [laterMs, isError] of all) {
          nowMs += laterMs;
          const news = isError ? errors.failed(nowMs) : errors.recovered(nowMs);
          if (news?.text === BACK) expect(nowMs - lastErrorMs).to.be.at.least(5000);
          if (isError) lastErrorMs = nowMs;
        }
      }),
    );
  });
});
