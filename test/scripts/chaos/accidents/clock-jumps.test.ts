import { expect } from 'chai';
import { clockOffset, isWaiting } from '../../../../scripts/chaos/accidents/clock-jumps.ts';

describe('clock jumps', () => {
  it('are written as libfaketime reads them', () => {
    expect([3600, -3600, 0].map(clockOffset)).to.deep.equal(['+3600s\n', '-3600s\n', '+0s\n']);
  });

  it('count as a wait only what has seconds left', () => {
    expect(isWaiting({ verdict: 'WAIT', waitSeconds: 30 })).to.equal(true);
    expect(isWaiting({ verdict: 'WAIT', waitSeconds: 0 })).to.equal(false);
    expect(isWaiting({ verdict: 'WAIT' })).to.equal(false);
    expect(isWaiting({ verdict: 'GET_NEW' })).to.equal(false);
  });
});
