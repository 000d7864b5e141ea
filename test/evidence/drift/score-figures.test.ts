import { expect } from 'chai';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { type ScoredClusters, scoreFigures } from '../../../src/evidence/score-figures.ts';
import { clusteredInterval } from '../../../src/statistics/intervals.ts';

/** Numbers from 0 to 1 that a seed repeats. */
function seeded(seed: number): () => number {
  const chance = xoroshiro128plus(seed);
  return () => uniformInt(chance, 0, 999_999) / 1_000_000;
}

/** 150 clients with 3 orders each, whose scores all are too high by `error`. */
function worldOf(seed: number, error: number): readonly ScoredClusters[] {
  const random = seeded(seed);
  return Array.from({ length: 150 }, (_, cluster) => {
    const score = 0.15 + 0.8 * random();
    const paid = [0, 0, 0].filter(() => random() < score - error).length;
    return { cluster, score, paid, unpaid: 3 - paid };
  });
}

describe('the figures of a score', () => {
  it('have an interval that contains the true calibration error, with right scores and too high ones', () => {
    for (const error of [0, 0.05, 0.12]) {
      const worlds = Array.from({ length: 25 }, (_, seed) => scoreFigures(worldOf(seed + 1, error)));
      const covered = worlds.filter(
        ({ calibrationError }) =>
          calibrationError !== null && calibrationError.low <= error && error <= calibrationError.high,
      );
      expect(covered.length / worlds.length, `too high by ${error}`).to.be.at.least(0.85);
      for (const { calibrationError } of worlds)
        expect(calibrationError?.value).to.be.within(calibrationError?.low ?? 1, calibrationError?.high ?? 0);
    }
  });

  it('have intervals by clients in the shares of the tenths, too', () => {
    const groups = Array.from({ length: 40 }, (_, cluster): ScoredClusters => {
      const paid = cluster % 2 === 0 ? 4 : 0;
      return { cluster, score: cluster < 20 ? 0.3 : 0.9, paid, unpaid: 4 - paid };
    });
    const { reliability } = scoreFigures(groups);
    const counts = groups.map(({ paid }) => ({ part: paid, whole: 4 }));
    expect(reliability.map(({ from, paidShare }) => [from, paidShare])).to.deep.equal([
      [0.3, clusteredInterval(counts.slice(0, 20))],
      [0.9, clusteredInterval(counts.slice(20))],
    ]);
  });

  it('are unknown for one client, who cannot be resampled', () => {
    const one = [{ cluster: 7, score: 0.6, paid: 3, unpaid: 2 }];
    const { orders, brier, auc, calibrationError } = scoreFigures(one);
    expect({ orders, brier, auc, calibrationError }).to.deep.equal({
      orders: 5,
      brier: null,
      auc: null,
      calibrationError: null,
    });
  });
});
