import { constants, getPriority } from 'node:os';
import { expect } from 'chai';
import { idleStarter } from '../../src/work/far-end.ts';
import { atOnce } from '../../src/work/turns.ts';
import { type Elsewhere, LimitExceeded, WorkElsewhere } from '../../src/work/work-elsewhere.ts';
import type { SampleWorks } from './sample-works.ts';

const MODULE = new URL('./sample-works.ts', import.meta.url);

/** Time enough for a process that gives way on a machine that has much else to do. */
const TIME_ENOUGH_MS = 150_000;

/** The scheduler of Linux calls this policy SCHED_IDLE. */
const IDLE_POLICY = 5;

const failure = (running: Promise<unknown>) => running.then(String, (error: unknown) => error);

describe('work elsewhere', () => {
  const started: WorkElsewhere<SampleWorks>[] = [];
  const start = (elsewhere: Elsewhere, hasIdleCores = () => false) => {
    const one = new WorkElsewhere<SampleWorks>(MODULE, elsewhere, hasIdleCores);
    started.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of started.splice(0)) await one.close();
  });

  for (const where of ['thread', 'process'] as const) {
    describe(`in a ${where}`, () => {
      const PLACE = { where, timeMs: TIME_ENOUGH_MS, memoryMiB: 64 };
      const whoWorks = async (elsewhere: WorkElsewhere<SampleWorks>) => {
        const { processId, threadId } = await elsewhere.run('who are you', null);
        return `${processId} ${threadId}`;
      };

      it('is done one after the other in the same place, apart from who asks, and tells how far it is', async () => {
        const elsewhere = start(PLACE);
        const told: string[] = [];
        const first = elsewhere.run('who are you', null, { onProgress: (one) => told.push(one) });
        const sums = [new Set([1, 2]), new Set([3, 4])].map((numbers) => elsewhere.run('add', numbers));
        const { processId, threadId } = await first;
        expect([await Promise.all(sums), told]).to.deep.equal([[3, 7], ['looking']]);
        expect(await whoWorks(elsewhere)).to.equal(`${processId} ${threadId}`);
        expect(processId === process.pid).to.equal(where === 'thread');
        expect(threadId === 0).to.equal(where === 'process');
      });

      it('throws what it threw by its name, and goes on in the same place', async () => {
        const elsewhere = start(PLACE);
        const first = await whoWorks(elsewhere);
        expect(await failure(elsewhere.run('throw', 'nothing was found'))).to.include({
          name: 'RangeError',
          message: 'nothing was found',
        });
        expect(await whoWorks(elsewhere)).to.equal(first);
      });

      it('ends when it takes more memory than it may, and the next is done elsewhere', async () => {
        const elsewhere = start(PLACE);
        const error = await failure(elsewhere.run('fill the memory', undefined));
        expect(error)
          .to.be.instanceOf(LimitExceeded)
          .with.property('message', 'it took more than 64 MiB of memory');
        expect(await elsewhere.run('add', new Set([2, 3]))).to.equal(5);
      });

      it('ends when it takes longer than it may', async () => {
        const hasty = start({ ...PLACE, timeMs: 1 });
        expect(await failure(hasty.run('never end', undefined)))
          .to.be.instanceOf(LimitExceeded)
          .with.property('message', 'it took more than 0.001 s');
      });

      it('ends with its place when it is cancelled, also before its turn', async () => {
        const elsewhere = start(PLACE);
        const first = await whoWorks(elsewhere);
        const stopping = new AbortController();
        const { signal } = stopping;
        const both = [1, 2].map(() => failure(elsewhere.run('never end', undefined, { signal })));
        stopping.abort(new Error('nobody wants it any more'));
        for (const error of await Promise.all(both))
          expect(error).to.be.an('error').with.property('message', 'nobody wants it any more');
        if (where === 'process') expect(() => process.kill(Number.parseInt(first, 10), 0)).to.throw('ESRCH');
        expect(await whoWorks(elsewhere)).not.to.equal(first);
      });

      it('is done in several places at once where it may be', async () => {
        const elsewhere = start({ ...PLACE, turns: atOnce(2) });
        const both = await Promise.all([whoWorks(elsewhere), whoWorks(elsewhere)]);
        expect(new Set(both).size).to.equal(2);
      });

      it('ends with all that waits for it when nobody needs it any more', async () => {
        const elsewhere = start(PLACE);
        const both = [1, 2].map(() => failure(elsewhere.run('never end', undefined)));
        await elsewhere.close();
        for (const error of await Promise.all(both)) expect(error).to.be.an('error');
      });
    });
  }

  it('in a thread may take so much of a core, and as long as it waits for something else', async () => {
    const elsewhere = start({ where: 'thread', cpuMs: 2000, memoryMiB: 64 });
    expect(await elsewhere.run('stand still', 2500)).to.equal('timed-out');
    expect(await failure(elsewhere.run('spin', undefined)))
      .to.be.instanceOf(LimitExceeded)
      .with.property('message', 'it took more than 2 s');
    expect(await elsewhere.run('add', new Set([1, 2]))).to.equal(3);
  });

  it('in a process that stands still is given up once nothing was told of for too long, and the next is done elsewhere', async () => {
    const elsewhere = start({ where: 'process', silenceMs: 3000, memoryMiB: 64 });
    const told: number[] = [];
    await elsewhere.run('add', new Set([1]));
    const gaveUp = await failure(elsewhere.run('tell and stop', 5, { onProgress: (n) => told.push(n) }));
    expect([String(gaveUp), told]).to.deep.equal(['LimitExceeded: it told nothing for 3 s', [1, 2, 3, 4, 5]]);
    expect(await elsewhere.run('add', new Set([1, 2]))).to.equal(3);
  });

  it('as a servant stops when it is asked to, and has the last word', async () => {
    const servant = start({ where: 'process', memoryMiB: 64, isServant: true });
    const stopping = new AbortController();
    const onProgress = () => stopping.abort();
    const { signal } = stopping;
    expect(await servant.run('tidy up when asked', null, { signal, onProgress })).to.equal('tidy');
  });

  describe('that gives way', () => {
    before(function () {
      // No difference shows where all of us give way already.
      if (process.platform !== 'linux' || getPriority() !== 0) this.skip();
    });
    const wayOf = async (place: Omit<Elsewhere, 'memoryMiB'>, hasIdleCores: boolean) => {
      const { policies, priority } = await start({ memoryMiB: 64, ...place }, () => hasIdleCores).run(
        'who are you',
        null,
      );
      return { policies, priority };
    };
    const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

    it('to everybody takes idle cores only, with all threads, where the machine can say so', async () => {
      const policies = [(await idleStarter()).length > 0 ? IDLE_POLICY : 0];
      const way = await wayOf({ where: 'process', givesWay: 'to everybody' }, true);
      expect(way).to.deep.equal({ policies, priority: PRIORITY_LOW });
    });

    it('to everybody gives way, but not for ever, where no core is idle', async () => {
      const way = await wayOf({ where: 'process', givesWay: 'to everybody' }, false);
      expect(way).to.deep.equal({ policies: [0], priority: PRIORITY_BELOW_NORMAL });
    });

    it('to callers does so in a thread, and leaves the others of its process as they are', async () => {
      const { priority } = await wayOf({ where: 'thread', givesWay: 'to callers' }, true);
      expect([priority, getPriority()]).to.deep.equal([PRIORITY_BELOW_NORMAL, 0]);
      expect((await wayOf({ where: 'thread' }, true)).priority).to.equal(0);
    });

    it('is not left to a process that waits for idle cores when there are none any more', async () => {
      let hasIdleCores = true;
      const place = { where: 'process', memoryMiB: 64, givesWay: 'to everybody' } as const;
      const elsewhere = start(place, () => hasIdleCores);
      const ask = async () => (await elsewhere.run('who are you', null)).processId;
      const first = await ask();
      hasIdleCores = false;
      const second = await ask();
      expect(second).not.to.equal(first);
      expect(await ask()).to.equal(second);
    });
  });
});
