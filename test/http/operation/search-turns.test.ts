import { setImmediate as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { SearchTurns } from '../../../src/http/operation/search-turns.ts';

/** Searches that end when they are told to, and the order in which they began. */
function searches(turns: SearchTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (platform: string, name: string) =>
    turns.run(platform, () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await pause();
  };
  return { begun, ask, end };
}

describe('turns of searches', () => {
  it('let a platform search so often at once, and the next when one of its own has ended', async () => {
    const { begun, ask, end } = searches(new SearchTurns({ underWayMax: 4, platformMax: 2, waitingMax: 8 }));
    const all = ['a1', 'a2', 'a3'].map((name) => ask('a', name));
    await pause();
    expect(begun).to.deep.equal(['a1', 'a2']);
    await end('a1');
    expect(begun).to.deep.equal(['a1', 'a2', 'a3']);
    await end('a2');
    await end('a3');
    await Promise.all(all);
  });

  it('do not let one platform wait for the many searches of another', async () => {
    const { begun, ask, end } = searches(new SearchTurns({ underWayMax: 1, platformMax: 1, waitingMax: 8 }));
    const all = ['a1', 'a2', 'a3'].map((name) => ask('a', name));
    all.push(ask('b', 'b1'));
    await pause();
    for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
    await Promise.all(all);
    expect(begun).to.deep.equal(['a1', 'a2', 'b1', 'a3']);
  });

  it('refuse with 429 what would be too many waiting of one platform, and of that alone', async () => {
    const turns = new SearchTurns({ underWayMax: 1, platformMax: 1, waitingMax: 1 });
    const { begun, ask, end } = searches(turns);
    const all = [ask('a', 'a1'), ask('a', 'a2'), ask('b', 'b1')];
    const refused = await ask('a', 'a3').catch((error: unknown) => error);
    expect(refused).to.include({
      status: 429,
      retryable: true,
      message:
        'Too many requests of this platform are under way; wait for their answers. Nothing was changed.',
    });
    for (const name of ['a1', 'a2', 'b1']) await end(name);
    await Promise.all(all);
    expect(begun).to.deep.equal(['a1', 'a2', 'b1']);
  });

  it('give a turn back when a search fails', async () => {
    const turns = new SearchTurns({ underWayMax: 1, platformMax: 1, waitingMax: 1 });
    const failed = turns.run('a', async () => {
      throw new Error('the store is away');
    });
    expect(await failed.catch(String)).to.equal('Error: the store is away');
    expect(await turns.run('a', async () => 'found')).to.equal('found');
  });
});
