import { setImmediate as pause } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { FairQueue, type FairQueueLimits, QueueFull } from '#base/work/fair-queue.ts';
import { StandstillMeter } from '#base/work/loop-watcher.js';

/** Jobs that end when the test says so, and the order in which they began. */
function works(limits: FairQueueLimits) {
  const turns = new FairQueue(limits);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  /** The first letter of a job's name is its owner. */
  const ask = (name: string, signal?: AbortSignal) =>
    turns
      .run(
        name.slice(0, 1),
        () => {
          begun.push(name);
          const { promise, resolve } = Promise.withResolvers<void>();
          ends.set(name, resolve);
          return promise;
        },
        signal,
      )
      .catch((error: unknown) => error);
  const end = async (...names: string[]) => {
    for (const name of names) {
      ends.get(name)?.();
      await pause();
    }
  };
  return { begun, ask, end, turns };
}

describe('turns', () => {
  it('let an owner run a limited number at once, and the next when one of its own has ended', async () => {
    const { begun, ask, end } = works({ atOnceMax: 4, ownerMax: 2, waitingMax: 8 });
    for (const name of ['a1', 'a2', 'a3']) ask(name);
    expect(begun).to.deep.equal(['a1', 'a2']);
    await end('a1');
    expect(begun).to.deep.equal(['a1', 'a2', 'a3']);
  });

  it('do not make an owner wait for the many jobs of another', async () => {
    const { begun, ask, end } = works({ atOnceMax: 1, ownerMax: 1, waitingMax: 8 });
    for (const name of ['a1', 'a2', 'a3', 'b1']) ask(name);
    await end('a1', 'b1', 'a2', 'a3');
    expect(begun).to.deep.equal(['a1', 'b1', 'a2', 'a3']);
  });

  it('refuse an owner for whom too many wait already, and no other owner', async () => {
    const { begun, ask, end, turns } = works({ atOnceMax: 1, ownerMax: 1, waitingMax: 1 });
    ask('a1');
    ask('a2');
    expect([turns.isFull('a'), turns.isFull('b')]).to.deep.equal([true, false]);
    expect(await ask('a3')).to.be.instanceOf(QueueFull);
    ask('b1');
    await end('a1', 'b1', 'a2');
    expect(begun).to.deep.equal(['a1', 'b1', 'a2']);
  });

  it('refuse a job that cannot begin at once where none may wait', async () => {
    const { ask, end, begun } = works({ atOnceMax: 1, ownerMax: 1, waitingMax: 0 });
    ask('a1');
    expect(await ask('b1')).to.be.instanceOf(QueueFull);
    await end('a1');
    ask('b2');
    expect(begun).to.deep.equal(['a1', 'b2']);
  });

  it('reserve a turn for the preferred owner, who may wait where others may not and comes first', async () => {
    const first = { owner: 'o', kept: 1 };
    const limits = { atOnceMax: 2, ownerMax: 1, waitingMax: 2, allWaitingMax: 2, first };
    const { begun, ask, end } = works(limits);
    for (const name of ['a1', 'b1', 'c1']) ask(name);
    expect(await ask('d1')).to.be.instanceOf(QueueFull);
    for (const name of ['o1', 'o2']) ask(name);
    expect(begun).to.deep.equal(['a1', 'o1']);
    await end('o1');
    expect(begun).to.deep.equal(['a1', 'o1', 'o2']);
    await end('a1', 'b1', 'c1');
    expect(begun).to.deep.equal(['a1', 'o1', 'o2', 'b1', 'c1']);
  });

  it('skip an owner that has stopped waiting', async () => {
    const { begun, ask, end } = works({ atOnceMax: 1, ownerMax: 1, waitingMax: 1 });
    const leaving = new AbortController();
    ask('a1');
    const left = ask('b1', leaving.signal);
    leaving.abort('nobody waits');
    expect(await left).to.equal('nobody waits');
    ask('b2');
    await end('a1');
    expect(begun).to.deep.equal(['a1', 'b2']);
  });

  it('are given back when a job fails', async () => {
    const { turns } = works({ atOnceMax: 1, ownerMax: 1, waitingMax: 1 });
    const failed = turns.run('a', async () => {
      throw new Error('the store is away');
    });
    expect(await failed.catch(String)).to.equal('Error: the store is away');
    expect(await turns.run('a', async () => 'found')).to.equal('found');
  });

  it('never run more jobs than the limit, and leave none waiting that could begin', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'o');
    const step = fc.oneof(
      fc.record({ ask: name }),
      fc.record({ end: fc.nat() }),
      fc.record({ leave: fc.nat() }),
    );
    const limits = fc.record({
      atOnceMax: fc.integer({ min: 2, max: 4 }),
      ownerMax: fc.integer({ min: 1, max: 2 }),
      kept: fc.integer({ min: 0, max: 1 }),
    });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async ({ kept, ...some }, steps) => {
        const turns = new FairQueue({ ...some, waitingMax: 50, first: { owner: 'o', kept } });
        const underWay: { owner: string; end: () => void }[] = [];
        let waiting: { owner: string; leave: AbortController }[] = [];
        for (const one of steps) {
          if ('ask' in one) {
            const entry = { owner: one.ask, leave: new AbortController() };
            waiting.push(entry);
            const begin = () => {
              waiting = waiting.filter((other) => other !== entry);
              const { promise, resolve } = Promise.withResolvers<void>();
              underWay.push({ owner: one.ask, end: resolve });
              return promise;
            };
            turns.run(one.ask, begin, entry.leave.signal).catch(() => {
              waiting = waiting.filter((other) => other !== entry);
            });
          } else if ('end' in one) underWay.splice(one.end % Math.max(1, underWay.length), 1)[0]?.end();
          else waiting[one.leave % Math.max(1, waiting.length)]?.leave.abort();
          await pause();
          const of = (owner: string) => underWay.filter((other) => other.owner === owner).length;
          const roomFor = (owner: string) =>
            of(owner) < some.ownerMax &&
            underWay.length < some.atOnceMax &&
            (owner === 'o' || underWay.length - of('o') < some.atOnceMax - kept);
          expect(underWay.length).to.be.at.most(some.atOnceMax);
          for (const owner of ['a', 'b', 'c', 'o']) expect(of(owner)).to.be.at.most(some.ownerMax);
          expect(waiting.map(({ owner }) => owner).filter(roomFor)).to.deep.equal([]);
        }
      }),
    );
  });
});

describe('how long the event loop has stood still', () => {
  const stood = (looks: readonly (readonly [beats: number, nowMs: number])[]) => {
    const standstill = new StandstillMeter(0);
    return looks.map(([beats, nowMs]) => standstill.measureMs(beats, nowMs));
  };

  it('is counted from look to look while it does not beat, and from zero after a beat', () => {
    expect(
      stood([
        [1, 500],
        [1, 1000],
        [1, 1500],
        [2, 2000],
        [2, 2500],
      ]),
    ).to.deep.equal([0, 500, 1000, 0, 500]);
  });

  it('counts no longer than two looks while the whole process was stopped', () => {
    expect(
      stood([
        [1, 500],
        [1, 3_600_500],
        [1, 3_601_000],
        [2, 3_601_500],
      ]),
    ).to.deep.equal([0, 1000, 1500, 0]);
  });
});
