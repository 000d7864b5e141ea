import { expect } from 'chai';
import { balancerConfig, countsByStatus } from '../../../../scripts/chaos/accidents/rolling-restart.ts';
import { failed, type Sample } from '../../../../scripts/chaos/traffic/load.ts';

function sample(status: number | null): Sample {
  return { clientIdKey: 'a', orderRef: 'b', status, sentAtMs: 0, answeredAtMs: 1, decisionId: null };
}

describe('a rolling restart', () => {
  it('counts as failed whatever is not 200, and names it', () => {
    const failures = failed([200, 503, null, 503].map(sample));
    expect(countsByStatus(failures)).to.equal('503: 2, no answer: 1');
  });

  it('asks the platform listener for readiness and repeats nothing that was sent', () => {
    const config = balancerConfig(9000, [
      { callerUrl: 'http://127.0.0.1:1', platformUrl: 'http://127.0.0.1:2' },
    ]);
    expect(config).to.include('server node-1 127.0.0.1:1 check port 2 ');
    expect(config).to.include('retry-on conn-failure\n');
    expect(config).to.include('option httpchk GET /readyz\n');
  });
});
