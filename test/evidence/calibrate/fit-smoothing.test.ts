import { expect } from 'chai';
import fc from 'fast-check';
import { paymentScore } from '../../../src/client/payment-score.ts';
import {
  bestSmoothing,
  keepsInterface,
  type ScoredGroup,
  scoredBy,
} from '../../../src/evidence/calibrate/calibrate.ts';
import { brierScore } from '../../../src/statistics/calibration.ts';

const groups = fc.array(
  fc.record({ paidBefore: fc.nat(4), unpaidBefore: fc.nat(4), paid: fc.nat(5), unpaid: fc.nat(5) }).map(
    ({ paidBefore, unpaidBefore, paid, unpaid }): ScoredGroup => ({
      cluster: 0,
      later: false,
      hasHistory: false,
      granted: true,
      ruleVersion: 'p2.v10',
      recordedScore: 0.5,
      paidBefore,
      finalBefore: paidBefore + unpaidBefore,
      paid,
      unpaid,
    }),
  ),
  { maxLength: 20 },
);

const smoothings = fc
  .record({
    prior: fc.double({ min: 0, max: 1, noNaN: true }),
    weight: fc.double({ min: 0.01, max: 60, noNaN: true }),
  })
  .filter(keepsInterface);

describe('the smoothing that fits best', () => {
  it("has no worse a Brier score than today's setting, or any other round one", () => {
    fc.assert(
      fc.property(
        groups,
        fc.constantFrom(0, 0.25, 0.5, 0.6, 1),
        fc.constantFrom(0.1, 0.5, 1),
        (some, prior, weight) => {
          const best = bestSmoothing(some, null);
          const other = { prior, weight };
          if (best === null) expect(brierScore(scoredBy(some, other))).to.equal(null);
          else if (keepsInterface(other))
            expect(brierScore(scoredBy(some, best))).to.be.at.most(
              (brierScore(scoredBy(some, other)) ?? 0) + 1e-12,
            );
        },
      ),
    );
  });

  it('keeps a given prior', () => {
    fc.assert(
      fc.property(groups, (some) => {
        const best = bestSmoothing(some, 0.5);
        if (best !== null) expect(best.prior).to.equal(0.5);
      }),
    );
  });

  it('finds the true share: clients with one unpaid order of whom one in ten pays', () => {
    const unlucky = {
      cluster: 0,
      later: false,
      hasHistory: false,
      granted: true,
      ruleVersion: '',
      recordedScore: 0,
      paidBefore: 0,
      finalBefore: 1,
    };
    const best = bestSmoothing([{ ...unlucky, paid: 10, unpaid: 90 }], 0.5);
    // 0.3 * 0.5 / 1.3 is nearest to 0.1 among the round weights.
    expect(best).to.deep.equal({ prior: 0.5, weight: 0.3 });
  });

  it('keeps to the interface: a paid order never lowers a score, of a new client or any other', () => {
    fc.assert(
      fc.property(smoothings, fc.nat(30), fc.nat(30), (smoothing, paid, unpaid) => {
        const before = paymentScore(paid, paid + unpaid, smoothing);
        expect(paymentScore(paid + 1, paid + unpaid + 1, smoothing)).to.be.at.least(before);
      }),
    );
  });
});
