import { expect } from 'chai';
import fc from 'fast-check';
import { DAY_MS } from '#base/duration.ts';
import {
  type ClientCountsByArm,
  computeLogEvidence,
  explainGuardBreach,
  getTrialStage,
  listImprovedShares,
} from '#checkout/rollout/guard.ts';
import { type Candidate, createFirstRollout, type Rollout } from '#checkout/rollout/rollout.ts';
import type { TrialStageCounts } from '#checkout/rollout/trial-counts.ts';
import type { Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { toTrialView } from '#workbench/rollout/trial-view.ts';
import { currentRules } from '../../service/current-rules.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { decisionFor, newClient } from '../../state/clients.ts';

const { version, digest } = currentRules();

const CANDIDATE: Candidate = {
  version,
  digest,
  mode: 'shadow',
  percent: 0,
  trial: 'a trial',
  since: 1,
  stageSince: 1,
  guardPoints: null,
  slices: [],
};

/** With one candidate. */
function rolloutOf(candidate: Candidate): Rollout {
  return { ...createFirstRollout({ version, digest }, 1), candidates: [candidate] };
}

describe('the view of a trial', () => {
  const decisions = ['ours', 'theirs'].map((name) =>
    decisionFor(newClient(toPlatformName(name)), 1, `order-${name}`),
  );
  const counted = countsOf(
    CANDIDATE,
    ...decisions.flatMap(({ platform, decisionId }): readonly Figure[] => [
      [platform, 'shadow', 'compared', 10],
      [platform, 'shadow', 'different', 1],
      [platform, 'change', 'WAIT/a -> BLOCK/b', 1],
      [platform, 'sample', 'WAIT/a -> BLOCK/b', decisionId, 1],
    ]),
  );
  const view = (platform: string | null, kept: readonly Decision[] = decisions) =>
    toTrialView(
      rolloutOf(CANDIDATE),
      CANDIDATE,
      counted,
      platform === null ? null : toPlatformName(platform),
      async (id) => {
        return kept.find(({ decisionId }) => decisionId === id) ?? null;
      },
    );
  const ordersOf = ({ shadow }: Awaited<ReturnType<typeof view>>) =>
    shadow.differences.flatMap(({ sampleOrders }) => sampleOrders);

  it('shows a platform its own figures and orders, and the owner of the installation all', async () => {
    const ours = await view('ours');
    expect(ours.shadow.compared).to.equal(10);
    expect(ordersOf(ours)).to.deep.equal(['order-ours']);
    const all = await view(null);
    expect(all.shadow.compared).to.equal(20);
    expect(ordersOf(all)).to.have.members(['order-ours', 'order-theirs']);
  });

  it("shows a platform without figures none, and nobody else's", async () => {
    const none = await view('newcomer');
    expect(none.shadow).to.deep.include({ compared: 0, different: 0, differences: [] });
  });

  it('gives when a canary is answered about, and the paid share among its clients with a known outcome', async () => {
    const canary = { ...CANDIDATE, mode: 'canary', percent: 50 } as const;
    const clients = ['ours', 'arms', 'candidate', 'clients'] as const;
    const counts = countsOf(
      canary,
      [...clients, 'seen', 100],
      [...clients, 'paid', 30],
      [...clients, 'unpaid', 10],
    );
    const view = await toTrialView(rolloutOf(canary), canary, counts, null, async () => null);
    expect(view.earliest).to.equal(canary.stageSince + 7 * DAY_MS);
    const { shares } = view;
    const paid = shares.find(({ name }) => name === 'paid');
    expect([paid?.active, paid?.candidate?.value]).to.deep.equal([null, 0.75]);
    expect(shares.find(({ name }) => name === 'BLOCK')?.candidate?.value).to.equal(0);
  });

  it('says that the guard withdraws a canary only where it does: by the clients of all platforms', async () => {
    const canary = { ...CANDIDATE, mode: 'canary', percent: 50, guardPoints: 5 } as const;
    const arms = (platform: string, blocked: Readonly<Record<'active' | 'candidate', number>>) =>
      Object.entries(blocked).flatMap(([arm, number]): readonly Figure[] => [
        [platform, 'arms', arm, 'clients', 'seen', 2000],
        [platform, 'arms', arm, 'clients', 'blocked', number],
      ]);
    const breachOf = async (platform: string | null, figures: readonly Figure[]) => {
      const name = platform === null ? null : toPlatformName(platform);
      const counts = countsOf(canary, ...figures);
      return (await toTrialView(rolloutOf(canary), canary, counts, name, async () => null)).breach;
    };
    const ours = arms('ours', { active: 100, candidate: 900 });
    expect(await breachOf(null, ours)).to.match(/^BLOCK share 45.0 % of 2000 clients against 5.0 % of 2000/);
    const evened = [...ours, ...arms('theirs', { active: 900, candidate: 100 })];
    expect([await breachOf(null, evened), await breachOf('ours', evened)]).to.deep.equal([null, null]);
  });

  it('forgets an order with its client, and keeps the figure', async () => {
    const after = await view('ours', []);
    expect(after.shadow.differences.map(({ count, sampleOrders }) => [count, sampleOrders])).to.deep.equal([
      [1, []],
    ]);
  });
});

/** The path to a figure, and the figure. */
type Figure = readonly [...path: string[], count: number];

function countsOf(candidate: Candidate, ...figures: readonly Figure[]): TrialStageCounts {
  const tally = Object.fromEntries(
    figures.map((figure) => [JSON.stringify(figure.slice(0, -1)), Number(figure.at(-1))]),
  );
  return { trial: getTrialStage(candidate).trial, tally };
}

const clients = (seen: number, blocked: number, more: Partial<ClientCountsByArm['active']> = {}) => ({
  seen,
  blocked,
  waited: 0,
  bots: 0,
  paid: 0,
  unpaid: 0,
  ...more,
});

describe('the guard of a canary', () => {
  it('names the share that strayed, with the clients of both sides, the limit and the probability', () => {
    const arms = { active: clients(9000, 450), candidate: clients(1000, 150) };
    expect(explainGuardBreach(arms, 10, 5)).to.match(
      /^BLOCK share 15\.0 % of 1000 clients against 5\.0 % of 9000: more than 5 points apart; chance alone shows this in fewer than 1 of \d+ trials$/,
    );
  });

  const breach = (active: object, candidate: object) =>
    explainGuardBreach({ active: clients(1000, 0, active), candidate: clients(1000, 0, candidate) }, 50, 5);

  it('checks waits, bot flags and payments as well', () => {
    expect(breach({ waited: 100 }, { waited: 400 })).to.match(/^WAIT share 40\.0 %/);
    expect(breach({ bots: 10 }, { bots: 300 })).to.match(/^bot flag share 30\.0 %/);
    expect(breach({ paid: 600 }, { paid: 300 })).to.match(
      /^paid share 30\.0 % of \d+ clients against 60\.0 % of \d+ \(300 paid, 0 only unpaid, \d+ unknown; against 600 paid, 0 only unpaid, \d+ unknown\):/,
    );
  });

  it('keeps a candidate that is better, and says so', () => {
    const active = clients(1000, 400, { waited: 400, bots: 300, paid: 300 });
    const candidate = clients(1000, 10, { waited: 10, bots: 10, paid: 600 });
    expect(explainGuardBreach({ active, candidate }, 50, 5)).to.equal(null);
    const gains = listImprovedShares({ active, candidate }, 50, 5);
    expect(gains.map((gain) => gain.split(' of 1000')[0])).to.deep.equal([
      'BLOCK share 1.0 %',
      'WAIT share 1.0 %',
      'bot flag share 1.0 %',
      'paid share 60.0 %',
    ]);
    expect(listImprovedShares({ active: candidate, candidate: active }, 50, 5)).to.deep.equal([]);
  });

  it('accepts a difference within the points, however certain', () => {
    const arms = { active: clients(100_000, 5000), candidate: clients(100_000, 9000) };
    expect(explainGuardBreach(arms, 50, 5)).to.equal(null);
  });

  it('accepts a difference that chance explains', () => {
    expect(explainGuardBreach({ active: clients(100, 5), candidate: clients(100, 12) }, 50, 5)).to.equal(
      null,
    );
  });

  it('compares nothing when one arm has no client, or all clients are in the canary', () => {
    expect(explainGuardBreach({ active: clients(0, 0), candidate: clients(900, 900) }, 50, 5)).to.equal(null);
    expect(explainGuardBreach({ active: clients(900, 0), candidate: clients(900, 900) }, 100, 5)).to.equal(
      null,
    );
  });
});

/** The evidence of BLOCK after each client, when it draws its arm and is blocked with the chance of its arm. */
function* evidences(seed: number, percent: number, blocked: { active: number; candidate: number }) {
  const random = new SeededRandom(seed);
  const hits: [number, number] = [0, 0];
  for (;;) {
    const inCanary = random.next() < percent / 100;
    if (random.next() < (inCanary ? blocked.candidate : blocked.active)) hits[inCanary ? 1 : 0] += 1;
    yield computeLogEvidence(hits, percent / 100, 0.05);
  }
}

describe('the evidence of the guard', () => {
  it('is a martingale while the rules are the same: the next blocked client changes it by nothing on average', () => {
    const count = fc.nat({ max: 400 });
    const chance = fc.double({ min: 0.01, max: 0.99, noNaN: true });
    const size = fc.double({ min: 0.005, max: 0.3, noNaN: true });
    const points = fc.tuple(size, fc.constantFrom(1, -1)).map(([one, sign]) => sign * one);
    fc.assert(
      fc.property(fc.tuple(count, count), chance, points, ([active, candidate], q, d) => {
        const now = computeLogEvidence([active, candidate], q, d);
        const next = [
          computeLogEvidence([active + 1, candidate], q, d),
          computeLogEvidence([active, candidate + 1], q, d),
        ];
        const [ofActive = 0, ofCandidate = 0] = next.map((evidence) => Math.exp(evidence - now));
        const mean = (1 - q) * ofActive + q * ofCandidate;
        expect(mean).to.be.closeTo(1, 1e-9);
      }),
    );
  });

  it('is rarely large in a trial of identical rules that is checked after every client', () => {
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

/** The guard's view of a trial after each client, with reversals and blocks of earlier clients. */
function* trials(seed: number, percent: number, moreBlocked: number): Generator<ClientCountsByArm> {
  const random = new SeededRandom(seed);
  const arms = { active: { ...clients(0, 0) }, candidate: { ...clients(0, 0) } };
  const later: (() => void)[] = [];
  for (;;) {
    const arm = random.next() < percent / 100 ? 'candidate' : 'active';
    const counts = arms[arm];
    counts.seen += 1;
    const blocked = random.next() < 0.05 + (arm === 'candidate' ? moreBlocked : 0);
    if (blocked && random.next() < 0.5) counts.blocked += 1;
    else if (blocked) later.push(() => counts.blocked++);
    if (random.next() < 0.4) counts.paid += 1;
    else later.push(() => counts.waited++);
    if (random.next() < 0.1) later.push(() => counts.paid > 0 && counts.paid--);
    if (later.length > 20) later.shift()?.();
    yield arms;
  }
}

describe('the guard over a trial in which clients are answered and pay later on', () => {
  const takenBack = (seeds: number, percent: number, moreBlocked: number) =>
    Array.from({ length: seeds }, (_, seed) => seed).filter((seed) =>
      trials(seed, percent, moreBlocked)
        .take(2000)
        .some((arms) => explainGuardBreach(arms, percent, 5) !== null),
    ).length;

  it('withdraws at most 1 of 100 candidates with the same rules', () => {
    expect(takenBack(100, 50, 0)).to.be.at.most(1);
    expect(takenBack(100, 10, 0)).to.be.at.most(1);
  });

  it('withdraws 95 of 100 that block ten points more within 2,000 clients', () => {
    expect(takenBack(100, 50, 0.1)).to.be.at.least(95);
  });
});
