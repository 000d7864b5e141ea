import { expect } from 'chai';
import fc from 'fast-check';
import { type ArmClients, guardBreach, logEvidence } from '../../src/rollout/guard.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';

const clients = (seen: number, blocked: number, more: Partial<ArmClients['active']> = {}) => ({
  seen,
  blocked,
  waited: 0,
  bots: 0,
  paid: 0,
  unpaid: 0,
  ...more,
});

describe('the guard of a canary', () => {
  it('names the share that strayed, with the clients of both sides, the bound and the chance', () => {
    const arms = { active: clients(9000, 450), candidate: clients(1000, 150) };
    expect(guardBreach(arms, 10, 5)).to.match(
      /^BLOCK share 15\.0 % of 1000 clients against 5\.0 % of 9000: more than 5 points apart, which chance shows in less than 1 of \d+ trials$/,
    );
  });

  it('minds waits, bot flags and payments as well, and a share that fell as much as one that rose', () => {
    const breach = (active: object, candidate: object) =>
      guardBreach({ active: clients(1000, 0, active), candidate: clients(1000, 0, candidate) }, 50, 5);
    expect(breach({ waited: 100 }, { waited: 400 })).to.match(/^WAIT share 40\.0 %/);
    expect(breach({ bots: 300 }, { bots: 10 })).to.match(/^bot flag share 1\.0 %/);
    expect(breach({ paid: 600 }, { paid: 300 })).to.match(
      /^paid share 30\.0 % of \d+ clients against 60\.0 % of \d+ \(300 paid, 0 only unpaid, \d+ unknown; against 600 paid, 0 only unpaid, \d+ unknown\):/,
    );
  });

  it('lets a difference pass that is within the points, however sure it is', () => {
    const arms = { active: clients(100_000, 5000), candidate: clients(100_000, 9000) };
    expect(guardBreach(arms, 50, 5)).to.equal(null);
  });

  it('lets a difference pass that chance explains', () => {
    expect(guardBreach({ active: clients(100, 5), candidate: clients(100, 12) }, 50, 5)).to.equal(null);
  });

  it('compares nothing when one arm has no client, or all clients are in the canary', () => {
    expect(guardBreach({ active: clients(0, 0), candidate: clients(900, 900) }, 50, 5)).to.equal(null);
    expect(guardBreach({ active: clients(900, 0), candidate: clients(900, 900) }, 100, 5)).to.equal(null);
  });
});

/** The evidence of BLOCK after each client, when it draws its arm and is blocked with the chance of its arm. */
function* evidences(seed: number, percent: number, blocked: { active: number; candidate: number }) {
  const random = new SeededRandom(seed);
  const hits: [number, number] = [0, 0];
  const misses: [number, number] = [0, 0];
  for (;;) {
    const inCanary = random.next() < percent / 100;
    const counts = random.next() < (inCanary ? blocked.candidate : blocked.active) ? hits : misses;
    counts[inCanary ? 1 : 0] += 1;
    yield logEvidence({ hits, misses }, percent / 100, 0.05);
  }
}

describe('the evidence of the guard', () => {
  it('is a martingale while the rules are the same: the next client changes it by nothing on average', () => {
    const count = fc.nat({ max: 400 });
    const chance = fc.double({ min: 0.01, max: 0.99, noNaN: true });
    const points = fc.double({ min: 0.005, max: 0.3, noNaN: true });
    fc.assert(
      fc.property(
        fc.tuple(count, count),
        fc.tuple(count, count),
        chance,
        points,
        fc.boolean(),
        (h, m, q, d, hit) => {
          const now = logEvidence({ hits: h, misses: m }, q, d);
          const next = (arm: 0 | 1) => {
            const add = ([a, c]: readonly [number, number]): [number, number] =>
              arm === 0 ? [a + 1, c] : [a, c + 1];
            return logEvidence({ hits: hit ? add(h) : h, misses: hit ? m : add(m) }, q, d);
          };
          const mean = (1 - q) * Math.exp(next(0) - now) + q * Math.exp(next(1) - now);
          expect(mean).to.be.closeTo(1, 1e-9);
        },
      ),
    );
  });

  it('so is rarely large in a trial of identical rules that is looked at after every client', () => {
    const alarms = Array.from({ length: 200 }, (_, seed) => {
      const run = evidences(seed, 10, { active: 0.05, candidate: 0.05 });
      return run.take(2000).some((evidence) => evidence > Math.log(100));
    });
    expect(alarms.filter(Boolean).length).to.be.at.most(5);
  });

  it('finds a candidate that blocks ten points more within 2,000 clients', () => {
    const found = Array.from({ length: 100 }, (_, seed) => {
      const run = evidences(1000 + seed, 50, { active: 0.05, candidate: 0.15 });
      return run.take(2000).some((evidence) => evidence > Math.log(200));
    });
    expect(found.filter(Boolean).length).to.be.at.least(95);
  });
});
