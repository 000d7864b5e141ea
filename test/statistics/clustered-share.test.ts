import { expect } from 'chai';
import fc from 'fast-check';
import { platformName } from '../../src/client/client-key.ts';
import { holdoutDraw } from '../../src/decision/holdout.ts';
import {
  type ClusterCount,
  clusteredInterval,
  clusteredShare,
  shareInterval,
} from '../../src/statistics/intervals.ts';
import { clientKey } from '../client/client-keys.ts';
import { seeded } from '../simulation/seeded-random.ts';

const WORLDS = 500;
const CLIENTS = 240;
const DEMO = platformName('demo');

interface World {
  /** The share of the rule's orders that would be paid if they were let through. */
  readonly truth: number;
  /** As the holdout shows it. */
  readonly held: ReturnType<typeof clusteredShare>;
  /** Without a holdout: the paid share of the orders that got through all the same, by another card or another day. */
  readonly naive: ReturnType<typeof clusteredShare>;
}

/**
 * A world in which a rule blocks clients who differ in how surely they pay: each has its own rate for its 1 to 4
 * orders. Those who mean to pay try harder to get through.
 */
function worldOf(seed: number): World {
  const random = seeded(seed);
  const usual = 0.15 + 0.45 * random();
  const rates = [0.4 * usual, 1.6 * usual] as const;
  const isHeldOut = holdoutDraw(`the secret of world ${seed}, long enough`);
  const held: ClusterCount[] = [];
  const naive: ClusterCount[] = [];
  for (let n = 0; n < CLIENTS; n++) {
    const rate = rates[random() < 0.5 ? 0 : 1];
    const skipped = isHeldOut(clientKey(DEMO, `payer-${n}`), seed)('verdicts/blocked', 0.5);
    const orders = Array.from({ length: 1 + Math.floor(4 * random()) }, () => random() < rate);
    const seen = orders.filter((paid) => skipped || random() < (paid ? 0.5 : 0.15));
    const count = { part: seen.filter((paid) => paid).length, whole: seen.length };
    (skipped ? held : naive).push(count);
  }
  return { truth: usual, held: clusteredShare(held), naive: clusteredShare(naive) };
}

describe("the paid share of a rule's orders", () => {
  const worlds = Array.from({ length: WORLDS }, (_, seed) => worldOf(seed + 1));
  const covered = (kind: 'held' | 'naive') =>
    worlds.filter(({ truth, [kind]: share }) => share !== null && share.low <= truth && truth <= share.high)
      .length / WORLDS;

  it('is covered by the interval of a holdout in 93 to 97 of 100 worlds', () => {
    console.log(`      holdout ${covered('held')}, without a holdout ${covered('naive')}`);
    expect(covered('held')).to.be.within(0.93, 0.97);
  });

  it('cannot be found from the orders that got through without a holdout', () => {
    expect(covered('naive')).to.be.below(0.5);
  });

  it('is estimated by a holdout without bias', () => {
    const errors = worlds.map(({ truth, held }) => (held?.value ?? Number.NaN) - truth);
    const mean = errors.reduce((sum, error) => sum + error, 0) / WORLDS;
    const spread = Math.sqrt(errors.reduce((sum, error) => sum + (error - mean) ** 2, 0) / (WORLDS - 1));
    expect(Math.abs(mean)).to.be.below((3 * spread) / Math.sqrt(WORLDS));
  });
});

describe('a share of orders that depend on each other by client', () => {
  it('is unknown below 30 orders', () => {
    expect(clusteredShare(Array.from({ length: 29 }, () => ({ part: 1, whole: 1 })))).to.equal(null);
    expect(clusteredShare(Array.from({ length: 30 }, () => ({ part: 1, whole: 1 })))).to.not.equal(null);
  });

  it('is inside its interval, which is from 0 to 1', () => {
    const cluster = fc.nat(5).chain((whole) => fc.record({ part: fc.nat(whole), whole: fc.constant(whole) }));
    fc.assert(
      fc.property(fc.array(cluster, { minLength: 20, maxLength: 80 }), (clusters) => {
        const share = clusteredShare(clusters);
        if (share === null) return;
        const total = (pick: 'part' | 'whole') => clusters.reduce((sum, one) => sum + one[pick], 0);
        expect(share.value).to.be.closeTo(total('part') / total('whole'), 1e-12);
        expect(share.low).to.be.within(0, share.value + 1e-9);
        expect(share.high).to.be.within(share.value - 1e-9, 1);
      }),
    );
  });

  it('has a wider interval than independent orders when clients differ', () => {
    const clusters = Array.from({ length: 40 }, (_, n) => ({ part: n % 2 === 0 ? 4 : 0, whole: 4 }));
    const [together, apart] = [clusteredShare(clusters), shareInterval(80, 160)];
    expect((together?.high ?? 0) - (together?.low ?? 0)).to.be.above(
      1.8 * ((apart?.high ?? 0) - (apart?.low ?? 0)),
    );
  });
});

describe('a share of the orders of a few clients', () => {
  /** In how many worlds, where each client pays all of 8 orders or none, the interval contains the true half. */
  function coveredWith(clients: number): number {
    const random = seeded(clients);
    const world = () => Array.from({ length: clients }, () => ({ part: random() < 0.5 ? 7 : 1, whole: 8 }));
    const shares = Array.from({ length: 2000 }, () => clusteredInterval(world()));
    return shares.filter((share) => share !== null && share.low <= 0.5 && 0.5 <= share.high).length / 2000;
  }

  it('is in its interval in at least 92 of 100 worlds, with 4 clients as with 12', () => {
    for (const clients of [4, 6, 8, 12])
      expect(coveredWith(clients), `${clients} clients`).to.be.at.least(0.92);
  });

  it('has a very wide interval for two clients who differ', () => {
    const share = clusteredInterval([
      { part: 9, whole: 10 },
      { part: 1, whole: 10 },
    ]);
    expect(share?.low).to.be.below(0.1);
    expect(share?.high).to.be.above(0.9);
  });
});
