import { expect } from 'chai';
import fc from 'fast-check';
import {
  computeAreaUnderCurve,
  computeBrierScore,
  computeCalibrationGapsByBin,
  computeReliability,
  mergeCountsOfEqualScores,
  type ScoreCounts,
} from '#history/statistics/calibration.ts';
import {
  estimateClientsToGo,
  estimateDifference,
  NO_VALUE_SUMS,
  type ValueSums,
} from '#history/statistics/confidence-sequence.ts';
import { addSums } from '#history/statistics/sums.ts';
import { seeded } from '../../simulation/seeded-random.ts';

const samples = fc.array(
  fc.record({
    score: fc.integer({ min: 0, max: 6 }).map((sixths) => sixths / 6),
    paid: fc.nat(3),
    unpaid: fc.nat(3),
  }),
  { maxLength: 40 },
);

const paid = (score: number): ScoreCounts => ({ score, paid: 1, unpaid: 0 });
const unpaid = (score: number): ScoreCounts => ({ score, paid: 0, unpaid: 1 });

describe('the calibration of a score', () => {
  it('has an AUC equal to counting every pair of a paid and an unpaid order', () => {
    fc.assert(
      fc.property(samples, (some) => {
        const counted = aucByPairs(oneByOne(some));
        const auc = computeAreaUnderCurve(some);
        if (counted === null) expect(auc).to.equal(null);
        else expect(auc).to.be.closeTo(counted, 1e-12);
      }),
    );
  });

  it('has an AUC of 1 when every paid order scored higher, 0 when lower, and 0.5 when all tie', () => {
    expect(computeAreaUnderCurve([paid(0.9), unpaid(0.2), paid(0.6)])).to.equal(1);
    expect(computeAreaUnderCurve([paid(0.1), unpaid(0.2), unpaid(0.6)])).to.equal(0);
    expect(computeAreaUnderCurve([paid(0.5), unpaid(0.5), unpaid(0.5)])).to.equal(0.5);
  });

  it('has no AUC when all orders have the same outcome', () => {
    expect(computeAreaUnderCurve([paid(0.5)])).to.equal(null);
    expect(computeAreaUnderCurve([unpaid(0.5)])).to.equal(null);
    expect(computeAreaUnderCurve([])).to.equal(null);
  });

  it('has the mean squared distance from the outcome as its Brier score', () => {
    expect(computeBrierScore([paid(0.8), unpaid(0.5), unpaid(1)])).to.be.closeTo(
      (0.04 + 0.25 + 1) / 3,
      1e-12,
    );
    expect(computeBrierScore([])).to.equal(null);
  });

  it('has the same figures for orders one by one and by score', () => {
    fc.assert(
      fc.property(samples, (some) => {
        const single = oneByOne(some);
        for (const figure of [computeAreaUnderCurve, computeBrierScore, calibrationError]) {
          const expected = figure(single);
          if (expected === null) expect(figure(mergeCountsOfEqualScores(some))).to.equal(null);
          else expect(figure(mergeCountsOfEqualScores(some))).to.be.closeTo(expected, 1e-12);
        }
      }),
    );
  });

  it('sorts scores into tenths, the last of which includes 1, and leaves empty ones out', () => {
    const bins = computeReliability([
      paid(0.5),
      unpaid(0.59),
      paid(0.9),
      paid(1),
      { score: 0.2, paid: 0, unpaid: 0 },
    ]);
    expect(bins.map(({ from, to, count, paidShare }) => [from, to, count, paidShare])).to.deep.equal([
      [0.5, 0.6, 2, 0.5],
      [0.9, 1, 2, 1],
    ]);
    expect(bins.map(({ meanScore }) => meanScore.toFixed(3))).to.deep.equal(['0.545', '0.950']);
  });

  it('loses no order between the bins, and has each mean score inside its bin', () => {
    fc.assert(
      fc.property(samples, (some) => {
        const bins = computeReliability(some);
        expect(bins.reduce((sum, { count }) => sum + count, 0)).to.equal(oneByOne(some).length);
        for (const { from, to, meanScore } of bins) expect(meanScore).to.be.within(from - 1e-9, to + 1e-9);
      }),
    );
  });

  it('has a calibration error of 0 where shares equal scores, and their mean distance otherwise', () => {
    expect(calibrationError([{ score: 0.25, paid: 1, unpaid: 3 }])).to.equal(0);
    // Three orders are 0.2 off, one is 0.6 off.
    const off = [{ score: 0.2, paid: 0, unpaid: 3 }, paid(0.4)];
    expect(calibrationError(off)).to.be.closeTo((3 * 0.2 + 0.6) / 4, 1e-12);
    expect(calibrationError([])).to.equal(null);
  });
});

/** The distances of all bins together. */
function calibrationError(scored: readonly ScoreCounts[]): number | null {
  return computeCalibrationGapsByBin(scored)?.reduce((sum, gap) => sum + Math.abs(gap), 0) ?? null;
}

function oneByOne(some: readonly ScoreCounts[]): readonly ScoreCounts[] {
  return some.flatMap((group) => [
    ...Array.from({ length: group.paid }, () => paid(group.score)),
    ...Array.from({ length: group.unpaid }, () => unpaid(group.score)),
  ]);
}

function aucByPairs(orders: readonly ScoreCounts[]): number | null {
  const won = orders
    .filter((order) => order.paid === 1)
    .flatMap(({ score }) =>
      orders
        .filter((other) => other.unpaid === 1)
        .map((other) => (score > other.score ? 1 : score === other.score ? 0.5 : 0)),
    );
  return won.length === 0 ? null : won.reduce((sum: number, one) => sum + one, 0) / won.length;
}

/** Clients with a value each, the same for the same seed. */
function drawn(clients: number, seed: number, more = 0): ValueSums {
  const draw = seeded(seed);
  let moments = NO_VALUE_SUMS;
  for (let client = 0; client < clients; client++) {
    const value = draw() + draw() + more;
    moments = addSums(moments, { clients: 1, seen: 1, sum: value, size: value, squares: value ** 2 });
  }
  return moments;
}

describe('a difference of means that may be looked at at any time', () => {
  it('is unknown with fewer than 50 clients in an arm who have any, or effectively fewer, or where all are equal', () => {
    expect(estimateDifference(drawn(49, 1), drawn(5000, 2), 0.05)).to.equal(null);
    expect(estimateDifference(drawn(70, 1), drawn(70, 2), 0.05)).not.to.equal(null);
    const nobodyElse = { ...drawn(49, 1), clients: 5000 };
    expect(estimateDifference(drawn(5000, 2), nobodyElse, 0.05)).to.equal(null);
    const rich = addSums(drawn(200, 1), { clients: 1, seen: 1, sum: 1000, size: 1000, squares: 1e6 });
    expect(estimateDifference(drawn(200, 2), rich, 0.05)).to.equal(null);
    const alike = { clients: 1000, seen: 1000, sum: 1000, size: 1000, squares: 1000 };
    expect(estimateDifference(alike, alike, 0.05)).to.equal(null);
  });

  it('takes no arm for steadier than both are together', () => {
    const steady = { clients: 100, seen: 100, sum: 100, size: 100, squares: 100.01 };
    const { low = 0, high = 0 } = estimateDifference(drawn(5000, 1), steady, 0.05) ?? {};
    expect(high - low).to.be.above(0.3);
  });

  it('has a wider interval for a smaller alpha, and changes its sign when the arms are swapped', () => {
    const clients = fc.integer({ min: 200, max: 2000 });
    fc.assert(
      fc.property(clients, clients, fc.integer(), (some, others, seed) => {
        const [a, b] = [drawn(some, seed), drawn(others, seed + 1, 0.3)];
        const [wide, narrow, back] = [
          estimateDifference(a, b, 0.01),
          estimateDifference(a, b, 0.05),
          estimateDifference(b, a, 0.05),
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
        a = addSums(a, drawn(40, 1_000_000 + 60 * seed + look));
        b = addSums(b, drawn(40, 2_000_000 + 60 * seed + look, 0.2));
        const told = estimateDifference(a, b, 0.05);
        if (told !== null && told.low <= 0.2 && 0.2 <= told.high) continue;
        missed += 1;
        break;
      }
    }
    expect(missed).to.be.at.most(10);
  });

  it('says how many more clients it needs, and 0 once there are enough', () => {
    const [a, b] = [drawn(500, 1), drawn(500, 2)];
    const few = estimateClientsToGo(a, b, 0.05, 0.1) ?? Number.NaN;
    expect(few).to.be.within(100, 1000);
    expect(estimateClientsToGo(a, b, 0.05, 0.05)).to.be.within(2500, 6000);
    const enough = drawn(500 + few, 3);
    expect(estimateClientsToGo(enough, enough, 0.05, 0.1)).to.equal(0);
    expect(estimateClientsToGo(a, b, 0.05, 0)).to.equal(null);
  });
});
