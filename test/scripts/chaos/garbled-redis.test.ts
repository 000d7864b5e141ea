import { expect } from 'chai';
import { garbledRedis } from '../../../scripts/chaos/accidents/garbled-redis.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';

describeWithServer('redis-server', 'a service with corrupted answers from Redis', () => {
  it('applies nothing that it refused, writes nothing unreadable, and recovers by itself', async () => {
    const figures = await garbledRedis.run({ quick: true, report: () => {} });
    // How soon it recovers can be measured only on an idle machine.
    const wrong = figures.filter(({ judgement, seen }) => judgement === 'miss' && !seen.endsWith(' ms'));
    expect(wrong).to.deep.equal([]);
  });
});
