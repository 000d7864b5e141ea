import { expect } from 'chai';
import { capOf } from '../../src/console/page/parts/chart-cap.ts';

const usual = Array.from({ length: 40 }, (_, index) => 80 + (index % 20));

describe('the upper end of a chart', () => {
  it('is the tallest slot where none stands out', () => {
    expect(capOf(usual)).to.deep.equal({ top: 99, cut: 0 });
    expect(capOf([])).to.deep.equal({ top: 0, cut: 0 });
  });

  it('leaves out a spike that would flatten all other slots', () => {
    expect(capOf([...usual, 9000, 0])).to.deep.equal({ top: 1.5 * 98, cut: 1 });
  });

  it('leaves out nothing that lasts, nor anything among few slots', () => {
    expect(capOf([...usual, ...Array(10).fill(9000)])).to.deep.equal({ top: 9000, cut: 0 });
    expect(capOf([1, 1, 9000])).to.deep.equal({ top: 9000, cut: 0 });
  });
});
