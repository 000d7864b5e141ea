import { constants, getPriority } from 'node:os';
import { expect } from 'chai';
import { BackgroundWork, JobTimeOrMemoryExceeded, type WorkSettings } from '#base/work/background-work.ts';
import { createConcurrencyLimits } from '#base/work/fair-queue.ts';
import { listIdlePriorityCommandWords } from '#base/work/runner.ts';
import type { SampleWorks } from './sample-jobs.ts';

const MODULE = new URL('./sample-jobs.ts', import.meta.url);

/** Time enough for a low-priority process on a busy machine. */
const TIME_ENOUGH_MS = 150_000;

/** The scheduler of Linux calls this policy SCHED_IDLE. */
const IDLE_POLICY = 5;

const failure = (running: Promise<unknown>) => running.then(String, (error: unknown) => error);

describe('background work', () => {
  const started: BackgroundWork<SampleWorks>[] = [];
  const start = (elsewhere: WorkSettings, hasIdleCores = () => false) => {
    const one = new BackgroundWork<SampleWorks>(MODULE, elsewhere, hasIdleCores);
    started.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of started.splice(0)) await one.close();
  });

  for (const where of ['thread', 'process'] as const) {
    describe(`in a ${where}`, () => {
      const PLACE = { where, timeMs: TIME_ENOUGH_MS, memoryMiB: 64 };
      const whoWorks = async (elsewhere: BackgroundWork<SampleWorks>) => {
        const { processId, threadId } = await elsewhere.run('who are you', null);
        return `${processId} ${threadId}`;
      };

      it('runs one job after the other in the same place, away from the caller, and reports progress', async () => {
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

      it('passes on the name of an error, and runs the next job in the same place', async () => {
        const elsewhere = start(PLACE);
        const first = await whoWorks(elsewhere);
        expect(await failure(elsewhere.run('throw', 'nothing was found'))).to.include({
          name: 'RangeError',
          message: 'nothing was found',
        });
        expect(await whoWorks(elsewhere)).to.equal(first);
      });

      it('refuses a job that is closed while its place starts, and leaves no error unhandled', async () => {
        const unhandled: unknown[] = [];
        const note = (reason: unknown) => unhandled.push(reason);
        process.on('unhandledRejection', note);
        const elsewhere = start(PLACE);
        const job = failure(elsewhere.run('who are you', null));
        await elsewhere.close();
        expect(String(await job)).to.equal('Error: the background work was closed');
        await new Promise(setImmediate);
        process.off('unhandledRejection', note);
        expect(unhandled).to.deep.equal([]);
      });

      it('ends a job that takes too much memory, and starts anew for the next one', async () => {
        const elsewhere = start(PLACE);
        const error = await failure(elsewhere.run('fill the memory', undefined));
        expect(error)
          .to.be.instanceOf(JobTimeOrMemoryExceeded)
          .with.property('message', 'it took more than 64 MiB of memory');
        expect(await elsewhere.run('add', new Set([2, 3]))).to.equal(5);
      });

      it('ends a job that takes too long', async () => {
        const hasty = start({ ...PLACE, timeMs: 1 });
        expect(await failure(hasty.run('never end', undefined)))
          .to.be.instanceOf(JobTimeOrMemoryExceeded)
          .with.property('message', 'it took more than 0.001 s');
      });

      it(`ends with its ${where} when it is cancelled, also before its turn`, async () => {
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

      it('runs several jobs at once where that is allowed', async () => {
        const elsewhere = start({ ...PLACE, turns: createConcurrencyLimits(2) });
        const both = await Promise.all([whoWorks(elsewhere), whoWorks(elsewhere)]);
        expect(new Set(both).size).to.equal(2);
      });

      it('ends with all waiting jobs when it is closed', async () => {
        const elsewhere = start(PLACE);
        const both = [1, 2].map(() => failure(elsewhere.run('never end', undefined)));
        await elsewhere.close();
        for (const error of await Promise.all(both)) expect(error).to.be.an('error');
      });
    });
  }

  it('in a thread is limited in CPU time, and not in the time for which it waits', async () => {
    const elsewhere = start({ where: 'thread', cpuMs: 2000, memoryMiB: 64 });
    expect(await elsewhere.run('stand still', 2500)).to.equal('timed-out');
    expect(await failure(elsewhere.run('spin', undefined)))
      .to.be.instanceOf(JobTimeOrMemoryExceeded)
      .with.property('message', 'it took more than 2 s of computing time');
    expect(await elsewhere.run('add', new Set([1, 2]))).to.equal(3);
  });

  it('in a process that hangs is ended after too long without progress, and the next job gets a new process', async () => {
    const elsewhere = start({ where: 'process', silenceMs: 3000, memoryMiB: 64 });
    const told: number[] = [];
    await elsewhere.run('add', new Set([1]));
    const gaveUp = await failure(elsewhere.run('tell and stop', 5, { onProgress: (n) => told.push(n) }));
    expect([String(gaveUp), told]).to.deep.equal([
      'JobTimeOrMemoryExceeded: it reported nothing for 3 s',
      [1, 2, 3, 4, 5],
    ]);
    expect(await elsewhere.run('add', new Set([1, 2]))).to.equal(3);
  });

  it('that runs until it is stopped stops when it is asked to, and still gives its result', async () => {
    const servant = start({ where: 'process', memoryMiB: 64, runsUntilStopped: true });
    const stopping = new AbortController();
    const onProgress = () => stopping.abort();
    const { signal } = stopping;
    expect(await servant.run('tidy up when asked', null, { signal, onProgress })).to.equal('tidy');
  });

  describe('that gives way', () => {
    before(function () {
      // There is no difference to see where this test gives way already.
      if (process.platform !== 'linux' || getPriority() !== 0) this.skip();
    });
    const wayOf = async (place: Omit<WorkSettings, 'memoryMiB'>, hasIdleCores: boolean) => {
      const { policies, priority } = await start({ memoryMiB: 64, ...place }, () => hasIdleCores).run(
        'who are you',
        null,
      );
      return { policies, priority };
    };
    const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

    it('to everybody runs all its threads on idle cores only, where the system supports it', async () => {
      const policies = [(await listIdlePriorityCommandWords()).length > 0 ? IDLE_POLICY : 0];
      const way = await wayOf({ where: 'process', givesWay: 'to everybody' }, true);
      expect(way).to.deep.equal({ policies, priority: PRIORITY_LOW });
    });

    it('to everybody still gets a share of the cores where none is idle', async () => {
      const way = await wayOf({ where: 'process', givesWay: 'to everybody' }, false);
      expect(way).to.deep.equal({ policies: [0], priority: PRIORITY_BELOW_NORMAL });
    });

    it('to callers lowers the priority of its thread alone', async () => {
      const { priority } = await wayOf({ where: 'thread', givesWay: 'to callers' }, true);
      expect([priority, getPriority()]).to.deep.equal([PRIORITY_BELOW_NORMAL, 0]);
      expect((await wayOf({ where: 'thread' }, true)).priority).to.equal(0);
    });

    it('leaves a process for idle cores when no core is idle any more', async () => {
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
