import { expect } from 'chai';
import fc from 'fast-check';
import { redisBytes, sizing, type Workload } from '../../src/sizing/sizing.ts';

const WORKLOAD: Workload = {
  verdictsPerSecond: 100,
  peakFactor: 3,
  days: 90,
  payers: 1_000_000,
  scoresPerVerdict: 1,
  outcomesPerVerdict: 1,
  idempotentShare: 1,
  daysHot: 7,
  daysArchived: 400,
  masterBytes: 32e9,
};

const anyWorkload = fc.record({
  verdictsPerSecond: fc.double({ min: 0.01, max: 100_000, noNaN: true }),
  peakFactor: fc.double({ min: 1, max: 20, noNaN: true }),
  days: fc.integer({ min: 1, max: 1000 }),
  payers: fc.integer({ min: 0, max: 1e10 }),
  scoresPerVerdict: fc.double({ min: 0, max: 5, noNaN: true }),
  outcomesPerVerdict: fc.double({ min: 0, max: 5, noNaN: true }),
  idempotentShare: fc.double({ min: 0, max: 1, noNaN: true }),
  daysHot: fc.integer({ min: 1, max: 90 }),
  daysArchived: fc.integer({ min: 1, max: 1000 }),
  masterBytes: fc.constant(32e9),
});

describe('the size of an installation', () => {
  it('never shrinks when more is asked of it or more is kept', () => {
    const grow = ['verdictsPerSecond', 'payers', 'daysHot', 'days', 'peakFactor'] as const;
    fc.assert(
      fc.property(anyWorkload, fc.constantFrom(...grow), (workload, what) => {
        const small = sizing(workload);
        const large = sizing({ ...workload, [what]: workload[what] * 2 });
        expect(large.service.cores).to.be.at.least(small.service.cores);
        expect(large.redis.bytes.total).to.be.at.least(small.redis.bytes.total);
        expect(large.redis.masters ?? 65).to.be.at.least(small.redis.masters ?? 65);
        expect(large.archiveBytes).to.be.at.least(small.archiveBytes);
      }),
    );
  });

  it('is the sum of its parts in memory', () => {
    fc.assert(
      fc.property(anyWorkload, (workload) => {
        const { payers, devices, decisions, idempotencyKeys, journal, total } = sizing(workload).redis.bytes;
        const empty = redisBytes({
          payers: 0,
          requestsOfPayer: 0,
          payersWithNotes: 0,
          notes: 0,
          devices: 0,
          decisions: 0,
          idempotencyKeys: 0,
          journal: { verdict: 0, score: 0, outcome: 0 },
        }).total;
        expect(payers + devices + decisions + idempotencyKeys + journal + empty).to.be.closeTo(
          total,
          total / 1e9,
        );
      }),
    );
  });

  it('has as many masters as spread the partitions evenly, and none where one cluster ends', () => {
    expect(sizing(WORKLOAD).redis).to.include({ mastersForMemory: 5, masters: 6 });
    expect(sizing({ ...WORKLOAD, verdictsPerSecond: 1 }).redis.masters).to.equal(1);
    expect(sizing({ ...WORKLOAD, payers: 1e10 }).redis.masters).to.equal(null);
  });

  it('plans with half of what cores can do at the peak', () => {
    const { busyCores, cores } = sizing({ ...WORKLOAD, verdictsPerSecond: 2000 }).service;
    expect(cores).to.equal(Math.ceil(2 * busyCores));
  });

  it('needs nothing beyond what is kept of days: the first day is a seventh of the first week', () => {
    const decisionsAfter = (days: number) => sizing({ ...WORKLOAD, days }).redis.bytes.decisions;
    expect(decisionsAfter(7) / decisionsAfter(1)).to.be.closeTo(7, 1e-9);
    expect(decisionsAfter(400)).to.equal(decisionsAfter(7));
  });

  it('tells how long the archive may be away before the journal forgets what it lacks', () => {
    expect(sizing(WORKLOAD).limits.archiveAwaySeconds).to.be.closeTo(1_000_000 / 300, 1e-6);
  });
});
