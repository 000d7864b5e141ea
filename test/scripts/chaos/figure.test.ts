import { expect } from 'chai';
import { allPass, atLeast, atMost, never, reported } from '../../../scripts/chaos/figure.ts';

describe('a figure', () => {
  it('passes at its limit and misses beyond it', () => {
    expect(atMost('slowest', 300, 300, 'ms').judgement).to.equal('pass');
    expect(atMost('slowest', 300.4, 300, 'ms').judgement).to.equal('miss');
    expect(atLeast('goodput', 90, 90, '%').judgement).to.equal('pass');
    expect(atLeast('goodput', 89, 90, '%').judgement).to.equal('miss');
    expect(never('lost', 0).judgement).to.equal('pass');
    expect(never('lost', 1).judgement).to.equal('miss');
  });

  it('misses when it could not be measured', () => {
    expect(atMost('slowest', Number.NaN, 300).judgement).to.equal('miss');
    expect(atLeast('goodput', Number.NaN, 90).judgement).to.equal('miss');
    expect(atMost('slowest', Number.POSITIVE_INFINITY, 300).judgement).to.equal('miss');
  });
});

describe('the table of a run', () => {
  it('passes only when every figure does and every scenario ran to its end', () => {
    const good = { scenario: 'a', figures: [never('lost', 0), reported('kills', '50')], trouble: null };
    expect(allPass([good])).to.equal(true);
    expect(allPass([good, { ...good, figures: [never('lost', 1)] }])).to.equal(false);
    expect(allPass([good, { ...good, trouble: 'no' }])).to.equal(false);
  });
});
