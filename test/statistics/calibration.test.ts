import { expect } from 'chai';
import fc from 'fast-check';
import {
  areaUnderCurve,
  brierScore,
  byScore,
  calibrationGaps,
  reliability,
  type ScoredOrders,
} from '../../src/statistics/calibration.ts';

const samples = fc.array(
  fc.record({
    score: fc.integer({ min: 0, max: 6 }).map((sixths) => sixths / 6),
    paid: fc.nat(3),
    unpaid: fc.nat(3),
  }),
  { maxLength: 40 },
);

const paid = (score: number): ScoredOrders => ({ score, paid: 1, unpaid: 0 });
const unpaid = (score: number): ScoredOrders => ({ score, paid: 0, unpaid: 1 });

describe('the calibration of a score', () => {
  it('has an AUC equal to counting every pair of a paid and an unpaid order', () => {
    fc.assert(
      fc.property(samples, (some) => {
        const counted = aucByPairs(oneByOne(some));
        const auc = areaUnderCurve(some);
        if (counted === null) expect(auc).to.equal(null);
        else expect(auc).to.be.closeTo(counted, 1e-12);
      }),
    );
  });

  it('has an AUC of 1 when every paid order scored higher, 0 when lower, and 0.5 when all tie', () => {
    expect(areaUnderCurve([paid(0.9), unpaid(0.2), paid(0.6)])).to.equal(1);
    expect(areaUnderCurve([paid(0.1), unpaid(0.2), unpaid(0.6)])).to.equal(0);
    expect(areaUnderCurve([paid(0.5), unpaid(0.5), unpaid(0.5)])).to.equal(0.5);
  });

  it('has no AUC when all orders have the same outcome', () => {
    expect(areaUnderCurve([paid(0.5)])).to.equal(null);
    expect(areaUnderCurve([unpaid(0.5)])).to.equal(null);
    expect(areaUnderCurve([])).to.equal(null);
  });

  it('has the mean squared distance from the outcome as its Brier score', () => {
    expect(brierScore([paid(0.8), unpaid(0.5), unpaid(1)])).to.be.closeTo((0.04 + 0.25 + 1) / 3, 1e-12);
    expect(brierScore([])).to.equal(null);
  });

  it('has the same figures for orders one by one and by score', () => {
    fc.assert(
      fc.property(samples, (some) => {
        const single = oneByOne(some);
        for (const figure of [areaUnderCurve, brierScore, calibrationError]) {
          const expected = figure(single);
          if (expected === null) expect(figure(byScore(some))).to.equal(null);
          else expect(figure(byScore(some))).to.be.closeTo(expected, 1e-12);
        }
      }),
    );
  });

  it('sorts scores into tenths, the last of which includes 1, and leaves empty ones out', () => {
    const bins = reliability([
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
        const bins = reliability(some);
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
function calibrationError(scored: readonly ScoredOrders[]): number | null {
  return calibrationGaps(scored)?.reduce((sum, gap) => sum + Math.abs(gap), 0) ?? null;
}

function oneByOne(some: readonly ScoredOrders[]): readonly ScoredOrders[] {
  return some.flatMap((group) => [
    ...Array.from({ length: group.paid }, () => paid(group.score)),
    ...Array.from({ length: group.unpaid }, () => unpaid(group.score)),
  ]);
}

function aucByPairs(orders: readonly ScoredOrders[]): number | null {
  const won = orders
    .filter((order) => order.paid === 1)
    .flatMap(({ score }) =>
      orders
        .filter((other) => other.unpaid === 1)
        .map((other) => (score > other.score ? 1 : score === other.score ? 0.5 : 0)),
    );
  return won.length === 0 ? null : won.reduce((sum: number, one) => sum + one, 0) / won.length;
}
