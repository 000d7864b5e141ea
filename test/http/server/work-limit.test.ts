import { expect } from 'chai';
import { WorkLimit } from '../../../src/http/server/work-limit.ts';

/** What the event loop of a machine with time to spare looks like. */
const CALM = { utilization: 0.5, underWayMax: 32, meanMs: 6 };
const BUSY = { ...CALM, utilization: 1 };

/** Takes so much of the limit until it is released. */
function occupy(limit: WorkLimit, count: number): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let n = 0; n < count; n++) limit.run(() => promise);
  return resolve;
}

describe('the limit of work under way', () => {
  it('is full for a score before it is full for a verdict', () => {
    const limit = new WorkLimit();
    const full = () => [limit.isFull('score'), limit.isFull('verdict')];
    const releases = [occupy(limit, 191)];
    expect(full()).to.deep.equal([false, false]);
    releases.push(occupy(limit, 1));
    expect(full()).to.deep.equal([true, false]);
    releases.push(occupy(limit, 64));
    expect(full()).to.deep.equal([true, true]);
    for (const release of releases) release();
  });

  it('gives back what is done, also when it fails', async () => {
    const limit = new WorkLimit();
    await limit.run(async () => {
      expect(limit.underWay).to.equal(1);
    });
    const failed = await limit.run(() => Promise.reject(new Error('no'))).catch((error) => error.message);
    expect(failed).to.equal('no');
    expect(limit.underWay).to.equal(0);
  });

  it('shrinks while the event loop has no pause, down to 48', () => {
    const limit = new WorkLimit();
    limit.observe({ ...CALM, utilization: 0.96 });
    expect(limit.limit).to.equal(192);
    for (let tick = 0; tick < 50; tick++) limit.observe(BUSY);
    expect(limit.limit).to.equal(48);
  });

  it('grows again when it has, up to 256', () => {
    const limit = new WorkLimit();
    for (let tick = 0; tick < 50; tick++) limit.observe(BUSY);
    limit.observe({ ...CALM, utilization: 0.95 });
    expect(limit.limit).to.equal(56);
    for (let tick = 0; tick < 50; tick++) limit.observe(CALM);
    expect(limit.limit).to.equal(256);
  });

  it('shrinks while many take much longer than few do, however idle the event loop is', () => {
    const limit = new WorkLimit();
    limit.observe(CALM);
    limit.observe({ ...CALM, underWayMax: 200, meanMs: 10 });
    expect(limit.limit).to.equal(192);
  });

  it('lets many be under way to a Redis that is far away', () => {
    const limit = new WorkLimit();
    limit.observe({ ...CALM, meanMs: 60 });
    for (let tick = 0; tick < 50; tick++) limit.observe({ ...CALM, underWayMax: 256, meanMs: 70 });
    expect(limit.limit).to.equal(256);
  });

  it('takes a machine that became slower for usual after a while', () => {
    const limit = new WorkLimit();
    limit.observe(CALM);
    for (let tick = 0; tick < 50; tick++) limit.observe({ ...CALM, underWayMax: 48, meanMs: 20 });
    limit.observe({ ...CALM, underWayMax: 100, meanMs: 24 });
    expect(limit.limit).to.equal(256);
  });

  it('shrinks also where all that arrived together is finished together', async () => {
    const limit = new WorkLimit();
    const spin = async () => {
      const untilMs = performance.now() + 1;
      while (performance.now() < untilMs);
    };
    for (let round = 0; round < 500 && limit.limit > 48; round++) {
      await Promise.all(Array.from({ length: 5 }, () => limit.run(spin)));
      await new Promise(setImmediate);
      expect(limit.underWay).to.equal(0);
    }
    expect(limit.limit).to.equal(48);
  });
});
