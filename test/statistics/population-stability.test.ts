import { expect } from 'chai';
import fc from 'fast-check';
import { populationStability } from '../../src/statistics/distributions.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';

const counts = fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 });

describe('the population stability index', () => {
  it('is 0 for the same counts, and the same in both directions', () => {
    fc.assert(
      fc.property(counts, counts, (some, others) => {
        expect(populationStability(some, some, [10, 10]).index).to.equal(0);
        const [there, back] = [
          populationStability(some, others, [10, 10]).index,
          populationStability(others, some, [10, 10]).index,
        ];
        expect(there).to.be.closeTo(back, 1e-12);
        expect(there).to.be.at.least(0);
      }),
    );
  });

  it("equals the textbook's formula where no bin is small", () => {
    const { index } = populationStability([300_000, 700_000], [400_000, 600_000], [1, 1]);
    expect(index).to.be.closeTo(0.1 * Math.log(4 / 3) + -0.1 * Math.log(6 / 7), 1e-5);
  });

  it('exceeds what chance explains in about 5 of 100 pairs of samples of one population', () => {
    const random = new SeededRandom(3);
    const sample = (size: number) => {
      const bins = [0, 0, 0, 0, 0];
      for (let draw = 0; draw < size; draw++) {
        const bin = Math.min(random.whole(0, 4), random.whole(0, 4));
        bins[bin] = (bins[bin] ?? 0) + 1;
      }
      return bins;
    };
    const beyond = Array.from({ length: 1000 }, () => {
      const { index, byChance } = populationStability(sample(300), sample(500), [300, 500]);
      return index > byChance;
    });
    expect(beyond.filter(Boolean).length).to.be.within(30, 75);
  });
});
