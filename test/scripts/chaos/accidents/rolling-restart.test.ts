import { expect } from 'chai';
import { countsByStatus } from '../../../../scripts/chaos/accidents/rolling-restart.ts';
import { failed, type Sample } from '../../../../scripts/chaos/traffic/load.ts';

function sample(status: number | null): Sample {
  return {
    clientIdKey: 'a',
    orderRef: 'b',
    status,
    sentAtMs: 0,
    answeredAtMs: 1,
    decisionId: null,
    refusal: null,
  };
}

describe('a rolling restart', () => {
  it('counts as failed whatever is not 200, and names it', () => {
    const failures = failed([200, 503, null, 503].map(sample));
    expect(countsByStatus(failures)).to.equal('503: 2, no answer: 1');
  });
});
