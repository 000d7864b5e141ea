import { expect } from 'chai';
import fc from 'fast-check';
import { createHoldoutDraw } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { computeStabilityIndexWithChance } from '#history/statistics/distributions.ts';
import {
  type ClusterCount,
  estimateByBootstrap,
  estimateShare,
  estimateShareByCluster,
  estimateShareByClusterIfEnough,
  findStudentQuantile,
  predictCountInterval,
} from '#history/statistics/intervals.ts';
import {
  estimateExpectedReversals,
  estimateFrailty,
  estimateReversalRisks,
  findLastingAgeDays,
  findMaturityDays,
} from '#history/statistics/reversal-ages.ts';
import { isSampleRatioOff } from '#history/statistics/sample-ratio.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { SeededRandom, seeded } from '../../simulation/seeded-random.ts';

describe('the interval of a share', () => {
  it("is Wilson's, and null without anybody", () => {
    expect(estimateShare(0, 0)).to.equal(null);
    const share = estimateShare(10, 100);
    expect(share?.value).to.equal(0.1);
    // The textbook's interval for 10 of 100.
    expect(share?.low).to.be.closeTo(0.0552, 0.0001);
    expect(share?.high).to.be.closeTo(0.1744, 0.0001);
  });

  it('ends where the true share would be 1.96 of its own standard errors from the observed one', () => {
    const counts = fc
      .integer({ min: 1, max: 500 })
      .chain((whole) => fc.tuple(fc.nat(whole), fc.constant(whole)));
    fc.assert(
      fc.property(counts, ([part, whole]) => {
        const { value, low, high } = estimateShare(part, whole) ?? { value: 0, low: 0, high: 0 };
        for (const end of [low, high])
          expect(Math.abs(value - end)).to.be.closeTo(1.96 * Math.sqrt((end * (1 - end)) / whole), 1e-4);
        expect(value).to.be.within(low - 1e-12, high + 1e-12);
      }),
    );
  });
});

describe("the 97.5 % point of Student's t", () => {
  it('equals that of the tables', () => {
    const table = [
      [1, 12.706],
      [2, 4.303],
      [3, 3.182],
      [5, 2.571],
      [10, 2.228],
      [30, 2.042],
      [120, 1.98],
      [1e9, 1.96],
    ] as const;
    for (const [degrees, point] of table)
      expect(findStudentQuantile(degrees), `${degrees}`).to.be.closeTo(point, 0.004);
  });
});

const VALUES = [1, 2, 4, 8];

function mean(drawn: Uint32Array): number {
  return VALUES.reduce((sum, value, index) => sum + value * (drawn[index] ?? 0), 0) / VALUES.length;
}

function bootstrapInterval(clusters: number, statistic: (drawn: Uint32Array) => number | null, seed = 1) {
  return estimateByBootstrap(clusters, (drawn) => [statistic(drawn)], seed)[0] ?? null;
}

describe('the bootstrap', () => {
  it('gives the statistic of all clusters, and the interval of all possible draws', () => {
    const estimate = bootstrapInterval(VALUES.length, mean);
    const all = everyDraw().map(mean);
    const below = (limit: number) => all.filter((value) => value < limit).length / all.length;
    expect(estimate?.value).to.equal(3.75);
    expect(below(estimate?.low ?? 0)).to.be.below(0.06);
    expect(below((estimate?.low ?? 0) + 1)).to.be.above(0.025);
    expect(below(estimate?.high ?? 0)).to.be.above(0.94);
    expect(below((estimate?.high ?? 0) - 1)).to.be.below(0.975);
  });

  it('gives the same interval for the same seed, and another for another', () => {
    expect(bootstrapInterval(40, spread, 7)).to.deep.equal(bootstrapInterval(40, spread, 7));
    expect(bootstrapInterval(40, spread, 7)).not.to.deep.equal(bootstrapInterval(40, spread, 8));
  });

  it('draws as many clusters as there are', () => {
    bootstrapInterval(9, (drawn) => {
      expect(drawn.reduce((sum, times) => sum + times, 0)).to.equal(9);
      return 0;
    });
  });

  it('leaves out draws without a statistic, and is null when none has one', () => {
    expect(bootstrapInterval(3, () => null)).to.equal(null);
    expect(bootstrapInterval(2, (drawn) => (drawn[0] === 0 ? null : 1))).to.deep.equal({
      value: 1,
      low: 1,
      high: 1,
    });
  });
});

function spread(drawn: Uint32Array): number {
  return drawn.reduce((sum, times, index) => sum + times * index ** 2, 0);
}

/** Each of the 256 ways to draw four of four, by how often each was drawn. */
function everyDraw(): readonly Uint32Array[] {
  return Array.from({ length: 4 ** 4 }, (_, number) => {
    const drawn = new Uint32Array(4);
    for (let place = 0; place < 4; place++) {
      const one = Math.floor(number / 4 ** place) % 4;
      drawn[one] = (drawn[one] ?? 0) + 1;
    }
    return drawn;
  });
}

const counts = fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 });

describe('the population stability index', () => {
  it('is 0 for the same counts, and the same in both directions', () => {
    fc.assert(
      fc.property(counts, counts, (some, others) => {
        expect(computeStabilityIndexWithChance(some, some, [10, 10]).index).to.equal(0);
        const [there, back] = [
          computeStabilityIndexWithChance(some, others, [10, 10]).index,
          computeStabilityIndexWithChance(others, some, [10, 10]).index,
        ];
        expect(there).to.be.closeTo(back, 1e-12);
        expect(there).to.be.at.least(0);
      }),
    );
  });

  it("equals the textbook's formula where no bin is small", () => {
    const { index } = computeStabilityIndexWithChance([300_000, 700_000], [400_000, 600_000], [1, 1]);
    expect(index).to.be.closeTo(0.1 * Math.log(4 / 3) + -0.1 * Math.log(6 / 7), 1e-5);
  });

  it('exceeds what chance explains in about 5 of 100 pairs of samples of one population', () => {
    const random = new SeededRandom(3);
    const sample = (size: number) => {
      const bins = [0, 0, 0, 0, 0];
      for (let draw = 0; draw < size; draw++) {
        const bin = Math.min(random.whole(0, 4), random.whole(0, 4));
        bins[bin] = (bins[bin] ?? 0) + 1;
      }
      return bins;
    };
    const beyond = Array.from({ length: 1000 }, () => {
      const { index, byChance } = computeStabilityIndexWithChance(sample(300), sample(500), [300, 500]);
      return index > byChance;
    });
    expect(beyond.filter(Boolean).length).to.be.within(30, 75);
  });
});

/** Payments of the last `days` days, a fifth of them reversed after 14 to 35 days, as far as is known now. */
function paymentsOf(days: number, seed: number) {
  const random = new SeededRandom(seed);
  let toCome = 0;
  const young: { readonly day: number; readonly payments: number }[] = [];
  const aged = Array.from({ length: days * 20 }, (_, number) => {
    const age = Math.floor(number / 20);
    const delay = random.chance(0.2) ? random.whole(14, 35) : null;
    if (delay !== null && delay <= age) return { day: delay, events: 1, left: 1 };
    if (delay !== null) toCome++;
    young.push({ day: age, payments: 1 });
    return { day: age, events: 0, left: 1 };
  });
  return { aged, young, toCome };
}

/**
 * A history of sixty days and 150 payers, each of whom pays four times and takes a share of it back after 14 to 35 days: how
 * many reversals were predicted at its end, and how many came.
 */
function predictedOf(seed: number, reversedShare: (draw: () => number) => number) {
  const draw = seeded(seed);
  const whole = (low: number, high: number) => low + Math.floor(draw() * (high - low + 1));
  let toCome = 0;
  const payers = Array.from({ length: 150 }, () => {
    const share = reversedShare(draw);
    return Array.from({ length: 4 }, () => {
      const [age, delay] = [whole(0, 59), draw() < share ? whole(14, 35) : null];
      if (delay !== null && delay <= age) return { day: delay, events: 1, left: 1 };
      if (delay !== null) toCome++;
      return { day: age, events: 0, left: 1 };
    });
  });
  const all = payers.flat();
  const young = all.filter(({ events }) => events === 0).map(({ day }) => ({ day, payments: 1 }));
  const risks = new Map(
    estimateReversalRisks(
      all,
      all.map(({ day }) => day),
    )?.map((risk) => [risk.day, risk]),
  );
  const sumOf = (of: (payer: (typeof payers)[number]) => number) =>
    payers.reduce((sum, payer) => sum + of(payer), 0);
  const passed = (payer: (typeof payers)[number]) =>
    payer.reduce((sum, { day }) => sum + (risks.get(day)?.passed ?? 0), 0);
  const ahead = (payer: (typeof payers)[number]) =>
    payer.reduce((sum, { day, events }) => sum + (events > 0 ? 0 : (risks.get(day)?.ahead ?? 0)), 0);
  const spread = {
    errors: sumOf((payer) => (payer.reduce((sum, { events }) => sum + events, 0) - passed(payer)) ** 2),
    expected: sumOf(passed),
    squares: sumOf((payer) => passed(payer) ** 2),
  };
  const beyondChance = (estimateFrailty(spread) * sumOf((payer) => ahead(payer) ** 2)) / sumOf(ahead) ** 2;
  const predicted = predictCountInterval(
    payers.length,
    (drawn) =>
      estimateExpectedReversals(
        payers.flatMap((payer, place) =>
          payer.map(({ day, events }) => ({
            day,
            events: events * (drawn[place] ?? 0),
            left: drawn[place] ?? 0,
          })),
        ),
        young,
      ),
    { beyondChance, most: young.length },
    seed,
  );
  return { toCome, predicted };
}

describe('the ages at which payments are reversed', () => {
  it('say when a payment is safe, once payments were watched for longer than reversals take', () => {
    expect(findMaturityDays(paymentsOf(90, 1).aged)).to.be.within(33, 36);
  });

  it('say nothing while reversals are still coming, or with fewer than ten', () => {
    expect(findMaturityDays(paymentsOf(30, 1).aged)).to.equal(null);
    const nine = [
      { day: 1, events: 9, left: 9 },
      { day: 90, events: 0, left: 500 },
    ];
    expect(findMaturityDays(nine)).to.equal(null);
    expect(findMaturityDays([...nine, { day: 1, events: 1, left: 1 }])).to.equal(2);
  });

  it('say when most have come, also of few, and at once where none came', () => {
    expect(findLastingAgeDays(paymentsOf(90, 1).aged)).to.be.within(31, 34);
    expect(findLastingAgeDays([{ day: 6, events: 1, left: 1 }])).to.equal(7);
    expect(findLastingAgeDays([{ day: 6, events: 0, left: 100 }])).to.equal(0);
  });

  it('predict how many are to come, correctly on average over many histories', () => {
    const ratios = Array.from({ length: 100 }, (_, seed) => {
      const { aged, young, toCome } = paymentsOf(90, seed);
      return (estimateExpectedReversals(aged, young) ?? 0) / toCome;
    });
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).to.be.closeTo(1, 0.05);
  });

  for (const [kind, payments] of [
    ['payers who are alike', () => 0.12],
    ['few payers who take back most of what they paid', (draw: () => number) => (draw() < 0.1 ? 0.8 : 0.04)],
  ] as const)
    it(`predict between how many, so that 95 of 100 histories of ${kind} lie within`, () => {
      const held = Array.from({ length: 60 }, (_, seed) => {
        const { toCome, predicted } = predictedOf(seed + 1, payments);
        return predicted !== null && predicted.low <= toCome && toCome <= predicted.high;
      }).filter(Boolean).length;
      // Of 60, with a chance of 0.95 each, fewer than 51 lie within once in a thousand times.
      expect(held).to.be.within(51, 60);
    });

  it('predict none where none was ever reversed, and nothing without a payment', () => {
    expect(estimateExpectedReversals([{ day: 9, events: 0, left: 5 }], [{ day: 1, payments: 5 }])).to.equal(
      0,
    );
    expect(estimateExpectedReversals([], [{ day: 1, payments: 5 }])).to.equal(null);
  });
});

const ALPHA = 0.001;

describe('the sample ratio of a draw', () => {
  it('is off where the arms have clearly other shares than were drawn', () => {
    const even = (one: number, other: number) =>
      isSampleRatioOff(
        [
          { clients: one, share: 50 },
          { clients: other, share: 50 },
        ],
        ALPHA,
      );
    expect(even(12_000, 10_800)).to.equal(true);
    expect(even(12_000, 11_900)).to.equal(false);
    expect(even(0, 0)).to.equal(false);
    const three = [50, 49, 1].map((share) => ({ clients: 100 * share, share }));
    expect(isSampleRatioOff(three, ALPHA)).to.equal(false);
    expect(isSampleRatioOff(three.with(2, { clients: 200, share: 1 }), ALPHA)).to.equal(true);
  });

  it('of a right draw is hardly ever off, however often somebody looks', () => {
    let off = 0;
    for (let seed = 0; seed < 400; seed++) {
      const draw = seeded(seed);
      const clients: [number, number] = [0, 0];
      for (let client = 0; client < 3000; client++) {
        clients[draw() < 0.1 ? 1 : 0] += 1;
        if (
          client % 10 > 0 ||
          !isSampleRatioOff(
            [
              { clients: clients[0], share: 90 },
              { clients: clients[1], share: 10 },
            ],
            ALPHA,
          )
        )
          continue;
        off += 1;
        break;
      }
    }
    expect(off).to.be.at.most(3);
  });
});

const WORLDS = 500;
const CLIENTS = 240;
const DEMO = toPlatformName('demo');

interface World {
  /** The share of the rule's orders that would be paid if they were let through. */
  readonly truth: number;
  /** As the holdout shows it. */
  readonly held: ReturnType<typeof estimateShareByClusterIfEnough>;
  /** Without a holdout: the paid share of the orders that got through all the same, by another card or another day. */
  readonly naive: ReturnType<typeof estimateShareByClusterIfEnough>;
}

/**
 * A world in which a rule blocks clients who differ in how surely they pay: each has its own rate for its 1 to 4
 * orders. Those who mean to pay try harder to get through.
 */
function worldOf(seed: number): World {
  const random = seeded(seed);
  const usual = 0.15 + 0.45 * random();
  const rates = [0.4 * usual, 1.6 * usual] as const;
  const isHeldOut = createHoldoutDraw(`the secret of world ${seed}, long enough`);
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
  return {
    truth: usual,
    held: estimateShareByClusterIfEnough(held),
    naive: estimateShareByClusterIfEnough(naive),
  };
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
    expect(
      estimateShareByClusterIfEnough(Array.from({ length: 29 }, () => ({ part: 1, whole: 1 }))),
    ).to.equal(null);
    expect(
      estimateShareByClusterIfEnough(Array.from({ length: 30 }, () => ({ part: 1, whole: 1 }))),
    ).to.not.equal(null);
  });

  it('is inside its interval, which is from 0 to 1', () => {
    const cluster = fc.nat(5).chain((whole) => fc.record({ part: fc.nat(whole), whole: fc.constant(whole) }));
    fc.assert(
      fc.property(fc.array(cluster, { minLength: 20, maxLength: 80 }), (clusters) => {
        const share = estimateShareByClusterIfEnough(clusters);
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
    const [together, apart] = [estimateShareByClusterIfEnough(clusters), estimateShare(80, 160)];
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
    const shares = Array.from({ length: 2000 }, () => estimateShareByCluster(world()));
    return shares.filter((share) => share !== null && share.low <= 0.5 && 0.5 <= share.high).length / 2000;
  }

  it('is in its interval in at least 92 of 100 worlds, with 4 clients as with 12', () => {
    for (const clients of [4, 6, 8, 12])
      expect(coveredWith(clients), `${clients} clients`).to.be.at.least(0.92);
  });

  it('has a very wide interval for two clients who differ', () => {
    const share = estimateShareByCluster([
      { part: 9, whole: 10 },
      { part: 1, whole: 10 },
    ]);
    expect(share?.low).to.be.below(0.1);
    expect(share?.high).to.be.above(0.9);
  });
});
