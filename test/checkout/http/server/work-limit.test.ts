import { setImmediate as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { WorkLimit } from '#checkout/http/server/work-limit.ts';

/** The event loop of an idle machine. */
const CALM = { utilization: 0.5, underWayMax: 32, meanMs: 6 };
const BUSY = { ...CALM, utilization: 1 };
/** More under way than can be done at once. */
const STANDING = { ...BUSY, underWayMax: 200 };

/** Takes part of the limit until it is released. */
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

  it('frees what is done, also when it fails', async () => {
    const limit = new WorkLimit();
    await limit.run(async () => {
      expect(limit.underWay).to.equal(1);
    });
    const failed = await limit.run(() => Promise.reject(new Error('no'))).catch((error) => error.message);
    expect(failed).to.equal('no');
    expect(limit.underWay).to.equal(0);
  });

  const seen = (underWayMax: number, meanMs: number) => ({ ...CALM, underWayMax, meanMs });
  for (const [title, ...looks] of [
    [
      'refuses nothing of a burst that is done within half a second, however busy it keeps the process',
      [9, { ...BUSY, underWayMax: 256 }, 256],
      [1, CALM, 256],
      [9, { ...BUSY, underWayMax: 256 }, 256],
    ],
    [
      'stays the same for a process that is busy just after its start',
      [50, { ...BUSY, underWayMax: 48, meanMs: 400 }, 256],
    ],
    [
      'shrinks when more than the minimum waits for half a second without a pause, down to 48',
      [10, STANDING, 192],
      [1, STANDING, 144],
      [50, STANDING, 48],
    ],
    [
      'shrinks at once when the last pause was too short',
      [50, STANDING, 48],
      [2, CALM, 64],
      [1, STANDING, 48],
    ],
    [
      'grows again with pauses, up to 256',
      [50, STANDING, 48],
      [1, { ...STANDING, utilization: 0.95 }, 56],
      [50, CALM, 256],
    ],
    [
      'shrinks while many requests take much longer than few, however idle the event loop is',
      [1, CALM, 256],
      [10, seen(200, 10), 192],
    ],
    [
      'allows many requests to a Redis that is far away',
      [1, { ...CALM, meanMs: 60 }, 256],
      [50, seen(256, 70), 256],
    ],
    [
      'adapts to a machine that became slower',
      [1, CALM, 256],
      [50, seen(48, 20), 256],
      [1, seen(100, 24), 256],
    ],
  ] as const)
    it(title, () => {
      const limit = new WorkLimit();
      for (const [times, look, most] of looks) {
        for (let time = 0; time < times; time++) limit.observe(look);
        expect(limit.limit).to.equal(most);
      }
    });

  it('shrinks where requests arrive and finish together, too', async () => {
    const limit = new WorkLimit();
    const spin = async () => {
      const untilMs = performance.now() + 1;
      while (performance.now() < untilMs);
    };
    for (let round = 0; round < 500 && limit.limit === 256; round++) {
      await Promise.all(Array.from({ length: 50 }, () => limit.run(spin)));
      await new Promise(setImmediate);
      expect(limit.underWay).to.equal(0);
    }
    expect(limit.limit).to.be.below(256);
  });

  it('allows each of several platforms eight decisions at once', async () => {
    const limit = new WorkLimit();
    for (const owner of ['hostile', 'neighbour']) limit.assignToOwner(owner);
    const { begun, end } = decideAtOnce(limit, 'hostile', 10);
    expect(begun()).to.equal(8);
    expect(decideAtOnce(limit, 'neighbour', 1).begun()).to.equal(1);
    await end();
    expect(begun()).to.equal(9);
  });

  it('doubles these at each check that finds long pauses and somebody waiting', async () => {
    const limit = new WorkLimit();
    for (const owner of ['hostile', 'neighbour']) limit.assignToOwner(owner);
    const { begun, end } = decideAtOnce(limit, 'hostile', 100);
    limit.observe(CALM);
    await end();
    expect(begun()).to.equal(17);
    limit.observe({ ...CALM, utilization: 0.9 });
    await end();
    expect(begun()).to.equal(18);
    limit.observe(CALM);
    await end();
    expect(begun()).to.equal(35);
    limit.observe(BUSY);
    await end();
    expect(begun()).to.equal(35);
  });

  it('begins two requests of each of several platforms in one pass of the event loop', async () => {
    const limit = new WorkLimit();
    const begun: string[] = [];
    const begin = (owner: string) => limit.begin(owner, () => begun.push(owner));
    for (let n = 0; n < 5; n++) begin('hostile');
    begin('neighbour');
    expect(begun).to.deep.equal(['hostile', 'hostile', 'neighbour']);
    await pause();
    expect(begun).to.have.length(5);
    await pause();
    expect(begun).to.have.length(6);
  });

  it("refuses what a platform wants to begin beyond its share, and nothing of its neighbour's", async () => {
    const limit = new WorkLimit();
    for (let n = 0; n < 258; n++) limit.begin('hostile', () => {});
    expect(limit.isFull('verdict')).to.equal(true);
    expect(limit.hasShare('verdict', 'hostile')).to.equal(false);
    expect(limit.hasShare('verdict', 'neighbour')).to.equal(true);
    for (let n = 0; n < 128; n++) await pause();
    expect(limit.isFull('score')).to.equal(false);
  });

  it('remembers for a minute that several platforms had work', () => {
    const limit = new WorkLimit();
    for (const owner of ['hostile', 'neighbour']) limit.assignToOwner(owner);
    for (let look = 0; look < 1200; look++) limit.observe(CALM);
    expect(limit.isContended).to.equal(true);
    limit.observe(CALM);
    expect(limit.isContended).to.equal(false);
  });

  it('needs no turns for a single platform', () => {
    const limit = new WorkLimit();
    limit.assignToOwner('hostile');
    limit.observe(BUSY);
    expect(decideAtOnce(limit, 'hostile', 100).begun()).to.equal(100);
  });
});

/** Starts decisions that end one by one. */
function decideAtOnce(limit: WorkLimit, owner: string, count: number) {
  const ends: (() => void)[] = [];
  for (let n = 0; n < count; n++)
    limit.inTurn(owner, () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      return promise;
    });
  let ended = 0;
  const end = async () => {
    ends[ended++]?.();
    await pause();
  };
  return { begun: () => ends.length, end };
}
