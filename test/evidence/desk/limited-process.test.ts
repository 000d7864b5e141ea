import { constants } from 'node:os';
import { expect } from 'chai';
import { idleStarter } from '../../../src/background-process.ts';
import { LimitedProcess, type ProcessProgress } from '../../../src/evidence/desk/limited-process.ts';
import type { SampleAnswer, SampleTask } from './sample-process.ts';

const MODULE = new URL('./sample-process.ts', import.meta.url);

/** Time enough for a process that gives way on a machine that has much else to do. */
const LIMITS = { timeMs: 150_000, memoryMiB: 64 };

/** The scheduler of Linux calls this policy SCHED_IDLE. */
const IDLE_POLICY = 5;

describe('a process with limits', () => {
  let limited: LimitedProcess<SampleTask, SampleAnswer>;
  beforeEach(() => {
    limited = new LimitedProcess(MODULE, LIMITS, () => false);
  });
  afterEach(() => limited.close());

  const run = (task: SampleTask, stopping = new AbortController(), of = limited) =>
    of.run(task, { onProgress: () => {}, signal: stopping.signal });
  const failure = (running: Promise<SampleAnswer>) => running.then(String, (error: unknown) => error);

  it('does one task after the other in the same process, and tells how far it is', async () => {
    const told: ProcessProgress[] = [];
    const onProgress = (progress: ProcessProgress) => told.push(progress);
    const first = await limited.run('who are you', { onProgress, signal: new AbortController().signal });
    expect(told).to.deep.equal([{ done: 1, of: 2 }]);
    expect((await run('who are you')).processId).to.equal(first.processId);
    expect(first.processId).not.to.equal(process.pid);
  });

  const wayOf = async (hasIdleCores: boolean) => {
    const own = new LimitedProcess<SampleTask, SampleAnswer>(MODULE, LIMITS, () => hasIdleCores);
    const { policies, priority } = await run('who are you', new AbortController(), own);
    await own.close();
    return { policies, priority };
  };

  it('takes idle cores only, with all of its threads, where the machine can say so', async function () {
    if (process.platform !== 'linux') return this.skip();
    const policy = (await idleStarter()).length > 0 ? IDLE_POLICY : 0;
    expect(await wayOf(true)).to.deep.equal({
      policies: [policy],
      priority: constants.priority.PRIORITY_LOW,
    });
  });

  it('gives way, but not for ever, where no core is idle', async function () {
    if (process.platform !== 'linux') return this.skip();
    const priority = constants.priority.PRIORITY_BELOW_NORMAL;
    expect(await wayOf(false)).to.deep.equal({ policies: [0], priority });
  });

  it('does not leave a task to a process that waits for idle cores when there are none any more', async () => {
    let hasIdleCores = true;
    const own = new LimitedProcess<SampleTask, SampleAnswer>(MODULE, LIMITS, () => hasIdleCores);
    const ask = () => run('who are you', new AbortController(), own);
    const first = await ask();
    hasIdleCores = false;
    const second = await ask();
    expect(second.processId).not.to.equal(first.processId);
    expect((await ask()).processId).to.equal(second.processId);
    await own.close();
  });

  it('ends the process of a task that is cancelled, and does the next one in another', async () => {
    const { processId } = await run('who are you');
    const stopping = new AbortController();
    const never = failure(run('never end', stopping));
    stopping.abort(new Error('nobody wants it any more'));
    expect(await never)
      .to.be.an('error')
      .with.property('message', 'nobody wants it any more');
    expect(() => process.kill(processId, 0)).to.throw('ESRCH');
    expect((await run('who are you')).processId).not.to.equal(processId);
  });

  it('throws what the task threw, and does the next one', async () => {
    expect(await failure(run('throw')))
      .to.be.an('error')
      .with.property('message', 'nothing was found');
    expect((await run('who are you')).policies).to.be.an('array');
  });

  it('ends a task that takes more memory than it may, and does the next one', async () => {
    expect(await failure(run('fill the memory')))
      .to.be.an('error')
      .with.property('message', 'it took more than 64 MiB of memory');
    expect((await run('who are you')).policies).to.be.an('array');
  });

  it('ends a task that takes longer than it may', async () => {
    const hasty = new LimitedProcess<SampleTask, SampleAnswer>(MODULE, { timeMs: 1, memoryMiB: 64 });
    expect(await failure(run('never end', new AbortController(), hasty)))
      .to.be.an('error')
      .with.property('message', 'it took more than 0.001 s');
  });
});
