import { expect } from 'chai';
import { account, firstVerdictMs } from '../../../../scripts/chaos/accidents/disk-full.ts';
import type { Sample } from '../../../../scripts/chaos/traffic/load.ts';

function sample(orderRef: string, status: number | null, sentAtMs = 0): Sample {
  return {
    clientIdKey: 'payer-1',
    orderRef,
    status,
    sentAtMs,
    answeredAtMs: sentAtMs + 5,
    decisionId: null,
    refusal: null,
  };
}

describe('a full disk', () => {
  it('shows a 200 that nobody saved', () => {
    const kept = account([sample('a', 200)], new Map([['a', []]]));
    expect(kept).to.deep.equal({ acknowledged: 1, lost: 1, refused: 0, refusedButTaken: 0, otherAnswers: 0 });
  });

  it('distinguishes refusals from broken connections and other answers', () => {
    const kept = account([sample('a', 503), sample('b', null), sample('c', 500)], new Map());
    expect(kept).to.deep.equal({ acknowledged: 0, lost: 0, refused: 1, refusedButTaken: 0, otherAnswers: 2 });
  });

  it('is over with the first verdict that was requested after there was space', () => {
    const samples = [sample('a', 200, 10), sample('b', 503, 25), sample('c', 200, 30), sample('d', 200, 40)];
    expect(firstVerdictMs(samples, 20)).to.equal(35);
    expect(firstVerdictMs(samples, 50)).to.equal(null);
  });
});
