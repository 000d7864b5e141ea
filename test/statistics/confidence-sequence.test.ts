import { expect } from 'chai';
import fc from 'fast-check';
import {
  clientsToGo,
  differenceOf,
  type Moments,
  NO_MOMENTS,
} from '../../src/statistics/confidence-sequence.ts';
import { plus } from '../../src/statistics/sums.ts';
import { seeded } from '../simulation/seeded-random.ts';

/** Clients with a value each, the same for the same seed. */
function drawn(clients: number, seed: number, more = 0): Moments {
  const draw = seeded(seed);
  let moments = NO_MOMENTS;
  for (let client = 0; client < clients; client++) {
    const value = draw() + draw() + more;
    moments = plus(moments, { clients: 1, seen: 1, sum: value, size: value, squares: value ** 2 });
  }
  return moments;
}

describe('a difference of means that may be looked at at any time', () => {
  it('is unknown with fewer than 50 clients in an arm who have any, or effectively fewer, or where all are equal', () => {
    expect(differenceOf(drawn(49, 1), drawn(5000, 2), 0.05)).to.equal(null);
    expect(differenceOf(drawn(70, 1), drawn(70, 2), 0.05)).not.to.equal(null);
    const nobodyElse = { ...drawn(49, 1), clients: 5000 };
    expect(differenceOf(drawn(5000, 2), nobodyElse, 0.05)).to.equal(null);
    const rich = plus(drawn(200, 1), { clients: 1, seen: 1, sum: 1000, size: 1000, squares: 1e6 });
    expect(differenceOf(drawn(200, 2), rich, 0.05)).to.equal(null);
    const alike = { clients: 1000, seen: 1000, sum: 1000, size: 1000, squares: 1000 };
    expect(differenceOf(alike, alike, 0.05)).to.equal(null);
  });

  it('takes no arm for steadier than both are together', () => {
    const steady = { clients: 100, seen: 100, sum: 100, size: 100, squares: 100.01 };
    const { low = 0, high = 0 } = differenceOf(drawn(5000, 1), steady, 0.05) ?? {};
    expect(high - low).to.be.above(0.3);
  });

  it('has a wider interval for a smaller alpha, and changes its sign when the arms are swapped', () => {
    const clients = fc.integer({ min: 200, max: 2000 });
    fc.assert(
      fc.property(clients, clients, fc.integer(), (some, others, seed) => {
        const [a, b] = [drawn(some, seed), drawn(others, seed + 1, 0.3)];
        const [wide, narrow, back] = [
          differenceOf(a, b, 0.01),
          differenceOf(a, b, 0.05),
          differenceOf(b, a, 0.05),
        ];
        if (wide === null || narrow === null || back === null) return false;
        return wide.low < narrow.low && narrow.high < wide.high && Math.abs(back.low + narrow.high) < 1e-9;
      }),
      { numRuns: 30 },
    );
  });

  it('covers the true difference at all of many looks in 95 of 100 trials', () => {
    let missed = 0;
    for (let seed = 0; seed < 200; seed++) {
      let [a, b] = [drawn(200, 4 * seed), drawn(200, 4 * seed + 1, 0.2)];
      for (let look = 0; look < 30; look++) {
        a = plus(a, drawn(40, 1_000_000 + 60 * seed + look));
        b = plus(b, drawn(40, 2_000_000 + 60 * seed + look, 0.2));
        const told = differenceOf(a, b, 0.05);
        if (told !== null && told.low <= 0.2 && 0.2 <= told.high) continue;
        missed += 1;
        break;
      }
    }
    expect(missed).to.be.at.most(10);
  });

  it('says how many more clients it needs, and 0 once there are enough', () => {
    const [a, b] = [drawn(500, 1), drawn(500, 2)];
    const few = clientsToGo(a, b, 0.05, 0.1) ?? Number.NaN;
    expect(few).to.be.within(100, 1000);
    expect(clientsToGo(a, b, 0.05, 0.05)).to.be.within(2500, 6000);
    const enough = drawn(500 + few, 3);
    expect(clientsToGo(enough, enough, 0.05, 0.1)).to.equal(0);
    expect(clientsToGo(a, b, 0.05, 0)).to.equal(null);
  });
});
