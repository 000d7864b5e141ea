import { expect } from 'chai';
import {
  countAnswers,
  forgedAddress,
  mostAnswers,
} from '../../../../scripts/chaos/attacks/forged-addresses.ts';

describe('forged addresses', () => {
  it('are all different', () => {
    expect(new Set(Array.from({ length: 10_000 }, (_, n) => forgedAddress(n))).size).to.equal(10_000);
    expect(forgedAddress(9999)).to.equal('11.0.39.15');
  });

  it('share the burst and the rate of one bucket', () => {
    expect(mostAnswers({ tookMs: 0 })).to.equal(21);
    expect(mostAnswers({ tookMs: 10_000 })).to.equal(221);
  });

  it('are answered as often as there are status lines', () => {
    expect(countAnswers('')).to.equal(0);
    expect(
      countAnswers('HTTP/1.1 200 OK\r\n\r\n{"a":"HTTP/1.1 200 "}\nHTTP/1.1 401 Unauthorized\r\n'),
    ).to.equal(2);
  });
});
