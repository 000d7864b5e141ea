import { expect } from 'chai';
import { garbledRedis } from '../../../../scripts/chaos/damage/garbled-redis.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';

describeWithServer('redis-server', 'a service whose Redis answers with spoiled bytes', () => {
  it('applies nothing that it refused, writes nothing that cannot be read, and recovers by itself', async () => {
    const figures = await garbledRedis.run({ quick: true, report: () => {} });
    // How soon it recovers is for a machine that has nothing else to do.
    const wrong = figures.filter(({ judgement, seen }) => judgement === 'miss' && !seen.endsWith(' ms'));
    expect(wrong).to.deep.equal([]);
  });
});
