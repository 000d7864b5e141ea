import { setImmediate as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { STEP_ITEMS_MAX, StepThrottle } from '#base/work/step-throttle.ts';

describe('paced steps', () => {
  it('run one at a time, in the order in which they were asked for', async () => {
    const steps = new StepThrottle();
    const told: string[] = [];
    const step = (name: string) =>
      steps.run(async () => {
        told.push(`${name} begins`);
        await pause();
        told.push(`${name} ends`);
      });
    await Promise.all([step('first'), step('second')]);
    expect(told).to.deep.equal(['first begins', 'first ends', 'second begins', 'second ends']);
  });

  it('yield the thread after each', async () => {
    const steps = new StepThrottle();
    const told: string[] = [];
    const first = steps.run(async () => told.push('first'));
    const second = steps.run(async () => told.push('second'));
    await first;
    await pause();
    told.push('somebody else');
    await second;
    expect(told).to.deep.equal(['first', 'somebody else', 'second']);
  });

  it('have a step that they start as their part, and do not wait for it', async () => {
    const steps = new StepThrottle();
    expect(await steps.run(() => steps.run(async () => 'done'))).to.equal('done');
    expect(await steps.run(async () => 'next')).to.equal('next');
  });

  it('go on after one that failed, whose error its caller gets', async () => {
    const steps = new StepThrottle();
    const failed = steps.run(async () => {
      throw new Error('the store is away');
    });
    const next = steps.run(async () => 'done');
    expect(await failed.catch(String)).to.equal('Error: the store is away');
    expect(await next).to.equal('done');
  });

  it('stop for work that nobody waits for', async () => {
    const steps = new StepThrottle();
    const told: string[] = [];
    let isWanted = true;
    const search = async () => {
      for (const name of ['first', 'second', 'third']) {
        await steps.run(async () => told.push(name));
        isWanted = name !== 'second';
      }
      return 'found';
    };
    const other = steps.run(async () => 'of somebody else');
    expect(await steps.runWhileWanted(() => isWanted, search, 'nothing')).to.equal('nothing');
    expect(told).to.deep.equal(['first', 'second']);
    expect(await other).to.equal('of somebody else');
  });

  it('throw the error of work that is still waited for', async () => {
    const steps = new StepThrottle();
    const failing = () => steps.run(() => Promise.reject(new Error('the store is away')));
    const seen = await steps.runWhileWanted(() => true, failing, 'nothing').catch(String);
    expect(seen).to.equal('Error: the store is away');
  });

  it('map many items a few at a time, in order', async () => {
    const sizes: number[] = [];
    const from = Array.from({ length: 2 * STEP_ITEMS_MAX + 1 }, (_, index) => index);
    const made = await new StepThrottle().mapInSteps(from, async (some) => {
      sizes.push(some.length);
      return some.map((index) => index * 10);
    });
    expect(sizes).to.deep.equal([STEP_ITEMS_MAX, STEP_ITEMS_MAX, 1]);
    expect(made).to.deep.equal(from.map((index) => index * 10));
  });

  it('map few items at once, also while others have their turn', async () => {
    const steps = new StepThrottle();
    const { promise, resolve } = Promise.withResolvers<void>();
    const long = steps.run(() => promise);
    expect(await steps.mapInSteps([1, 2], async (some) => some)).to.deep.equal([1, 2]);
    resolve();
    await long;
  });
});
