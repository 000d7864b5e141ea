import { expect } from 'chai';
import fc from 'fast-check';
import { guardBreach, twoProportionZ } from '../../src/rollout/guard.ts';

const counts = (verdicts: number, blocks: number, waits = 0, bots = 0) => ({ verdicts, blocks, waits, bots });

describe('the guard of a canary', () => {
  it('names the share that strayed, with both sides and the bound', () => {
    expect(guardBreach(counts(10_000, 500), counts(1000, 150), 5)).to.equal(
      'BLOCK share 15.0 % of 1000 against 5.0 % of 10000: more than 5 points apart (z 12.8)',
    );
  });

  it('minds waits and bot flags as well', () => {
    expect(guardBreach(counts(1000, 0, 100), counts(1000, 0, 400), 5)).to.match(/^WAIT share 40\.0 %/);
    expect(guardBreach(counts(1000, 0, 0, 10), counts(1000, 0, 0, 300), 5)).to.match(
      /^bot flag share 30\.0 %/,
    );
  });

  it('minds a share that fell as much as one that rose', () => {
    expect(guardBreach(counts(1000, 400), counts(1000, 100), 5)).to.match(/^BLOCK share 10\.0 %/);
  });

  it('lets a difference pass that is within the points', () => {
    expect(guardBreach(counts(100_000, 5000), counts(100_000, 9000), 5)).to.equal(null);
  });

  it('lets a difference pass that chance explains', () => {
    expect(guardBreach(counts(200, 20), counts(200, 32), 5)).to.equal(null);
  });

  it('says nothing before both arms have 200 verdicts', () => {
    expect(guardBreach(counts(100_000, 0), counts(199, 199), 5)).to.equal(null);
    expect(guardBreach(counts(199, 0), counts(100_000, 100_000), 5)).to.equal(null);
  });

  it('computes the z statistic of the textbook', () => {
    // 120 of 1000 against 90 of 1000: pooled 0.105, standard error 0.01371.
    expect(twoProportionZ(120, 1000, 90, 1000)).to.be.closeTo(-2.188, 0.001);
  });

  it('is symmetric, and 0 for equal shares', () => {
    const total = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(total, total, fc.nat(), fc.nat(), (totalA, totalB, a, b) => {
        const [hitsA, hitsB] = [a % (totalA + 1), b % (totalB + 1)];
        const one = twoProportionZ(hitsA, totalA, hitsB, totalB);
        const other = twoProportionZ(hitsB, totalB, hitsA, totalA);
        expect(one).to.be.closeTo(-other, 1e-6);
        expect(twoProportionZ(hitsA, totalA, hitsA, totalA)).to.be.closeTo(0, 1e-6);
      }),
    );
  });
});
