import { expect } from 'chai';
import { bootstrapInterval } from '../../src/statistics/intervals.ts';

const VALUES = [1, 2, 4, 8];

function mean(drawn: Uint32Array): number {
  return VALUES.reduce((sum, value, index) => sum + value * (drawn[index] ?? 0), 0) / VALUES.length;
}

describe('the bootstrap', () => {
  it('gives the statistic of all clusters, and the interval of all possible draws', () => {
    const estimate = bootstrapInterval(VALUES.length, mean);
    const all = everyDraw().map(mean);
    const below = (limit: number) => all.filter((value) => value < limit).length / all.length;
    expect(estimate?.value).to.equal(3.75);
    expect(below(estimate?.low ?? 0)).to.be.below(0.06);
    expect(below((estimate?.low ?? 0) + 1)).to.be.above(0.025);
    expect(below(estimate?.high ?? 0)).to.be.above(0.94);
    expect(below((estimate?.high ?? 0) - 1)).to.be.below(0.975);
  });

  it('gives the same interval for the same seed, and another for another', () => {
    expect(bootstrapInterval(40, spread, 7)).to.deep.equal(bootstrapInterval(40, spread, 7));
    expect(bootstrapInterval(40, spread, 7)).not.to.deep.equal(bootstrapInterval(40, spread, 8));
  });

  it('draws as many clusters as there are', () => {
    bootstrapInterval(9, (drawn) => {
      expect(drawn.reduce((sum, times) => sum + times, 0)).to.equal(9);
      return 0;
    });
  });

  it('leaves out draws without a statistic, and is null when none has one', () => {
    expect(bootstrapInterval(3, () => null)).to.equal(null);
    expect(bootstrapInterval(2, (drawn) => (drawn[0] === 0 ? null : 1))).to.deep.equal({
      value: 1,
      low: 1,
      high: 1,
    });
  });
});

function spread(drawn: Uint32Array): number {
  return drawn.reduce((sum, times, index) => sum + times * index ** 2, 0);
}

/** Each of the 256 ways to draw four of four, by how often each was drawn. */
function everyDraw(): readonly Uint32Array[] {
  return Array.from({ length: 4 ** 4 }, (_, number) => {
    const drawn = new Uint32Array(4);
    for (let place = 0; place < 4; place++) {
      const one = Math.floor(number / 4 ** place) % 4;
      drawn[one] = (drawn[one] ?? 0) + 1;
    }
    return drawn;
  });
}
