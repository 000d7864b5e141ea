import { expect } from 'chai';
import { type ClusterVerdicts, decisionShares } from '../../../src/evidence/backtest/comparison.ts';
import { shareInterval } from '../../../src/statistics/intervals.ts';

/** Twenty clients: the first four are told to wait by the base and granted by the candidate, the others granted by both. */
function twentyClients(decisionsOfEach: number): readonly ClusterVerdicts[] {
  return Array.from({ length: 20 }, (_, cluster) => ({
    cluster,
    base: cluster < 4 ? 'WAIT' : 'GET_NEW',
    candidate: 'GET_NEW',
    decisions: decisionsOfEach,
  }));
}

describe('shares of the decisions of a backtest', () => {
  it('gives each verdict its share on each side, and the share of what changes', () => {
    const { changedShare, mix } = decisionShares(twentyClients(1));
    expect(changedShare?.value).to.equal(0.2);
    expect([mix.base.GET_NEW?.value, mix.base.WAIT?.value, mix.base.BLOCK?.value]).to.deep.equal([
      0.8, 0.2, 0,
    ]);
    expect([mix.candidate.GET_NEW?.value, mix.candidate.WAIT?.value]).to.deep.equal([1, 0]);
  });

  it('has intervals by the number of clients, not of decisions', () => {
    const [once, often] = [decisionShares(twentyClients(1)), decisionShares(twentyClients(50))];
    expect(often.changedShare?.low).to.be.closeTo(once.changedShare?.low ?? 0, 1e-9);
    expect(often.changedShare?.high).to.be.closeTo(once.changedShare?.high ?? 0, 1e-9);
    expect(often.changedShare?.high).to.be.above(shareInterval(200, 1000)?.high ?? 1);
  });

  it('is empty without decisions', () => {
    const { changedShare, mix } = decisionShares([]);
    expect([changedShare, mix.base.WAIT, mix.candidate.BLOCK]).to.deep.equal([null, null, null]);
  });
});
