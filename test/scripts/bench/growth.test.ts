import { expect } from 'chai';
import { measureGrowth } from '../../../scripts/bench/measures/growth.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';

describeWithServer('redis-server', 'what growth costs', () => {
  it('is known in each of its figures, of small stores, too', async () => {
    const plan = { clients: 50, rounds: 1, hotVerdicts: 5, sharing: 5, onProgress: () => {} };
    const figures = await measureGrowth(plan);
    expect(figures.length).to.be.above(10);
    const unknown = figures.filter(({ value }) => !(value > 0));
    expect(unknown).to.deep.equal([]);
  });
});
