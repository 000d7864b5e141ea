import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { ClientQueues } from '#checkout/scoring/client-updates.ts';

describe('the queue of a client', () => {
  it('runs the work of one client in order, one at a time', async () => {
    const queue = new ClientQueues(100);
    const told: string[] = [];
    const work = (name: string, turns: number) => async () => {
      told.push(`${name} begins`);
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      told.push(`${name} ends`);
    };
    await Promise.all([
      queue.run('a', work('first', 5)),
      queue.run('a', work('second', 0)),
      queue.run('a', work('third', 2)),
    ]);
    expect(told).to.deep.equal([
      'first begins',
      'first ends',
      'second begins',
      'second ends',
      'third begins',
      'third ends',
    ]);
  });

  it('lets different clients run at the same time', async () => {
    const queue = new ClientQueues(100);
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const blocked = queue.run('a', () => opened);
    expect(await queue.run('b', async () => 'not blocked')).to.equal('not blocked');
    open();
    await blocked;
  });

  it('gives each its own result', async () => {
    const queue = new ClientQueues(100);
    const results = await Promise.all([1, 2, 3].map((number) => queue.run('a', async () => number * 10)));
    expect(results).to.deep.equal([10, 20, 30]);
  });

  for (const [how, fail] of [
    ['failed', () => Promise.reject(new Error('this one'))],
    [
      'throws synchronously',
      () => {
        throw new Error('at once');
      },
    ],
  ] as const)
    it(`goes on after work that ${how}, whose error goes to its own caller alone`, async () => {
      const queue = new ClientQueues(100);
      const [failed, succeeded] = await Promise.allSettled([
        Promise.try(() => queue.run('a', fail)),
        queue.run('a', async () => 'fine'),
      ]);
      expect(failed).to.deep.include({ status: 'rejected' });
      expect(succeeded).to.deep.include({ status: 'fulfilled', value: 'fine' });
    });

  it('refuses with null when too much work of that client is waiting', async () => {
    const queue = new ClientQueues(2);
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const accepted = [queue.run('a', () => opened), queue.run('a', () => opened)];
    let ran = false;
    const refused = queue.run('a', async () => {
      ran = true;
    });
    expect(refused).to.equal(null);
    expect(queue.run('b', async () => {})).not.to.equal(null);
    open();
    await Promise.all(accepted);
    expect(ran).to.equal(false);
    expect(await queue.run('a', async () => 'room again')).to.equal('room again');
  });
});
