import { expect } from 'chai';
import { LimitedThread, ThreadLimitExceeded } from '../src/limited-thread.ts';

type Task =
  | { readonly kind: 'add'; readonly numbers: readonly number[] }
  | { readonly kind: 'spin' | 'hoard' | 'throw' | 'wait' };

/** A thread that adds, never ends, takes all memory, throws, or waits for two seconds, as it is told. */
const MODULE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ kind, numbers }) => {
      if (kind === 'spin') for (;;);
      if (kind === 'hoard') for (const kept = []; ; ) kept.push(new Array(100000).fill({ kept: kept.length }));
      if (kind === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
      if (kind === 'throw') parentPort.postMessage({ thrown: 'it did not like that' });
      else parentPort.postMessage({ result: (numbers ?? []).reduce((sum, one) => sum + one, 0) });
    });`)}`,
);

/** Also for a machine that has much else to do. */
const TIME_ENOUGH_MS = 120_000;

describe('a thread with limits', () => {
  let thread: LimitedThread<Task, number>;
  const start = (cpuMs: number) => {
    thread = new LimitedThread(MODULE, { cpuMs, memoryMiB: 32 });
  };
  afterEach(() => thread.close());

  const add = (...numbers: number[]) => thread.run({ kind: 'add', numbers });
  const failure = (task: Task) => thread.run(task).then(String, (error: unknown) => error);

  it('answers each task in its turn', async () => {
    start(TIME_ENOUGH_MS);
    expect(await Promise.all([add(1, 2), add(3, 4), add()])).to.deep.equal([3, 7, 0]);
  });

  it('gives up a task that takes too long, and takes the next one', async () => {
    start(2000);
    const error = await failure({ kind: 'spin' });
    expect(error).to.be.instanceOf(ThreadLimitExceeded).with.property('message', 'it took more than 2 s');
    expect(await add(1, 1)).to.equal(2);
  });

  it('gives a task that waits the time that it waits for', async () => {
    start(1000);
    expect(await thread.run({ kind: 'wait' })).to.equal(0);
  });

  it('gives up a task that takes too much memory, and takes the next one', async () => {
    start(TIME_ENOUGH_MS);
    const error = await failure({ kind: 'hoard' });
    expect(error)
      .to.be.instanceOf(ThreadLimitExceeded)
      .with.property('message', 'it took more than 32 MiB of memory');
    expect(await add(2, 2)).to.equal(4);
  });

  it('tells what a task threw, and goes on', async () => {
    start(TIME_ENOUGH_MS);
    expect(await failure({ kind: 'throw' }))
      .to.be.instanceOf(Error)
      .with.property('message', 'it did not like that');
    expect(await add(5)).to.equal(5);
  });
});
