import { expect } from 'chai';
import fc from 'fast-check';
import { formatPaymentScore, paymentScore, type Smoothing } from '../../src/client/payment-score.ts';

const HALF: Smoothing = { prior: 0.5, weight: 2 };

/** Any smoothing that a rule set may have: one where the first outcome does not move 0.5 the wrong way. */
const anySmoothing: fc.Arbitrary<Smoothing> = fc
  .record({ prior: fc.integer({ min: 0, max: 100 }), weight: fc.integer({ min: 1, max: 5000 }) })
  .map(({ prior, weight }) => ({ prior: prior / 100, weight: weight / 100 }))
  .filter(({ prior, weight }) => weight * Math.abs(prior - 0.5) <= 0.5);

describe('paymentScore', () => {
  for (const [paid, final, score] of [
    [0, 0, '0.5000'],
    [1, 1, '0.6667'],
    [0, 1, '0.3333'],
    [3, 3, '0.8000'],
    [3, 4, '0.6667'],
    [0, 4, '0.1667'],
    [1000, 1000, '0.9990'],
    [1_000_000, 1_000_000, '1.0000'],
  ] as const) {
    it(`is ${score} for ${paid} paid of ${final} final outcomes`, () => {
      expect(formatPaymentScore(paymentScore(paid, final, HALF))).to.equal(score);
    });
  }

  it('is exactly 0.5000 with no final outcome, whatever the smoothing', () => {
    fc.assert(
      fc.property(anySmoothing, (smoothing) => {
        expect(formatPaymentScore(paymentScore(0, 0, smoothing))).to.equal('0.5000');
      }),
    );
  });

  it('never falls with a paid outcome, never rises with an unpaid one, and stays from 0 to 1', () => {
    fc.assert(
      fc.property(anySmoothing, fc.nat(500), fc.nat(500), (smoothing, paid, unpaid) => {
        const score = paymentScore(paid, paid + unpaid, smoothing);
        expect(paymentScore(paid + 1, paid + unpaid + 1, smoothing)).to.be.at.least(score);
        expect(paymentScore(paid, paid + unpaid + 1, smoothing)).to.be.at.most(score);
        expect(paymentScore(paid + 1, paid + unpaid + 1, smoothing)).to.be.at.least(
          paymentScore(paid, paid + unpaid + 1, smoothing),
        );
        expect(score).to.be.within(0, 1);
      }),
    );
  });

  it('always has four decimals', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(1000), (paid, unpaid) => {
        expect(formatPaymentScore(paymentScore(paid, paid + unpaid, HALF))).to.match(/^[01]\.\d{4}$/);
      }),
    );
  });
});
