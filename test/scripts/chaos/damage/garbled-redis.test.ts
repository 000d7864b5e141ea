import { expect } from 'chai';
import { garbledRedis } from '../../../../scripts/chaos/damage/garbled-redis.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';

describeWithServer('redis-server', 'a service whose Redis answers with spoiled bytes', () => {
  it('applies nothing that it refused, writes nothing that cannot be read, and recovers by itself', async () => {
    const figures = await garbledRedis.run({ quick: true, report: () => {} });
    expect(figures.filter(({ judgement }) => judgement === 'miss')).to.deep.equal([]);
  });
});
