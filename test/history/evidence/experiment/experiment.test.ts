import { expect } from 'chai';
import { DEFAULT_OBJECTIVE } from '#decision/objective.ts';
import {
  createExperimentPresentation,
  type ExperimentReport,
  evaluateExperiment,
} from '#history/evidence/experiment/experiment-report.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { T0 } from '../../../state/clients.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { type SimulatedClient, TrialWorld } from './trial-world.ts';
import { CLIENTS_A_DAY, experimentsOn, simulatedTrial, trueDifferences } from './two-ladders.ts';

const NOTHING = evaluateExperiment(
  { from: null, to: null, decisions: 0, gaps: [], silences: [], torn: false },
  null,
  [],
  [],
);

const sum = (simulated: readonly SimulatedClient[], of: (one: SimulatedClient) => number) =>
  simulated.reduce((total, one) => total + of(one), 0);

const sumOf = (found: ExperimentReport | undefined, of: (arm: ExperimentReport['arms'][number]) => number) =>
  found?.arms.reduce((total, arm) => total + of(arm), 0) ?? Number.NaN;

describeOnStores('an experiment', (store) => {
  const CLIENTS = 60;
  let simulated: readonly SimulatedClient[];
  let found: ExperimentReport;
  let halfway: ExperimentReport;
  let other: ExperimentReport;
  let asked: readonly ExperimentReport[];

  before(async () => {
    const world = new TrialWorld(store(), true);
    await world.start();
    await world.start();
    await world.begin(40, 20);
    const before = await world.live(1, 0, CLIENTS / 2);
    await world.restartFirst();
    const after = await world.live(1, CLIENTS / 2, CLIENTS / 2);
    simulated = [...before, ...after];
    const payer = simulated.find(({ lastPaid }) => lastPaid !== null);
    if (!payer?.lastPaid) throw new Error('nobody paid');
    const { cents } = payer.lastPaid;
    await world.reverse(payer.lastPaid);
    const taken = { paid: payer.paid - 1, amount: payer.amount - cents, reversed: cents };
    simulated = simulated.map((one) => (one === payer ? { ...one, ...taken } : one));
    await world.shareDevice(8);
    // A last one asks when a day to buy and one for reversals are over for all others.
    await world.live(1, CLIENTS + 49 * 60, 1);
    await world.stop();
    const to = T0 + (CLIENTS / 2) * 60_000;
    const otherwise = { ...DEFAULT_OBJECTIVE, margin: 0.5, windowDays: 1 };
    // A time that begins within the trial, between the orders of a client, when some have come and been paid.
    const asks = [
      { asOf: to + 48 * 3_600_000 },
      { otherwise },
      { to },
      { to, asOf: world.now },
      { from: to + 45_000 },
      { otherwise: { ...DEFAULT_OBJECTIVE, currency: 'USD', windowDays: 1 } },
      { otherwise: { ...DEFAULT_OBJECTIVE, currency: 'USD', windowDays: 1, rates: { EUR: 0.5 } } },
    ];
    [found = NOTHING, halfway = NOTHING, other = NOTHING, ...asked] = await experimentsOn(
      store(),
      () => asks,
    );
  });

  it('counts each client for the version of its draw, over two nodes and a restart', () => {
    expect(found.version).to.equal('p2.v10');
    const arms = ['p2.v10', 'p2.v11', 'p2.v12'].map((version, place) => {
      const mine = simulated.filter((one) => one.version === version);
      return {
        version,
        share: [0.4, 0.4, 0.2][place],
        clients: mine.length,
        paid: sum(mine, ({ paid }) => paid),
        requisites: sum(mine, ({ requisites }) => requisites),
        waits: sum(mine, ({ waits }) => waits),
        lostAfterWait: sum(mine, ({ lost }) => lost),
        money: sum(mine, ({ amount }) => amount) / 100,
        reversed: sum(mine, ({ reversed }) => reversed) / 100,
        waitsEnded: sum(mine, ({ waitsEnded }) => waitsEnded),
      };
    });
    expect(arms.every(({ waitsEnded }) => waitsEnded > 0)).to.equal(true);
    expect(
      found.arms.map(
        ({ version, share, clients, orders, requisites, waits, lostAfterWait, money, waitsEnded }) => ({
          version,
          share,
          clients,
          paid: orders.paid,
          requisites,
          waits,
          lostAfterWait,
          money: Number(money['EUR']?.paid.toFixed(2)),
          reversed: money['EUR']?.reversed,
          waitsEnded,
        }),
      ),
    ).to.deep.equal(arms);
  });

  it('divides the orders of an arm by the ladder level of their first request', () => {
    for (const { version, orders, requisites, waits, lostAfterWait } of found.arms) {
      const levels = found.levels.filter((one) => one.version === version);
      expect(levels.map(({ level }) => level)).to.include.members([0, 1]);
      const over = (of: (level: (typeof levels)[number]) => number) =>
        levels.reduce((total, level) => total + of(level), 0);
      expect([
        over((level) => level.orders.paid),
        over((level) => level.requisites),
        over((level) => level.waits),
        over((level) => level.lostAfterWait),
      ]).to.deep.equal([orders.paid, requisites, waits, lostAfterWait]);
    }
  });

  it('counts a client once nothing of it changes any more, and gives what was known at an earlier time', () => {
    const clients = (of: ExperimentReport) => [
      sumOf(of, (arm) => arm.clients),
      sumOf(of, (arm) => arm.young),
    ];
    expect([clients(halfway), clients(found)]).to.deep.equal([
      [CLIENTS / 2, CLIENTS / 2],
      [CLIENTS, 1],
    ]);
  });

  it('is vetoed where more than a twentieth of the clients are on devices of several arms', () => {
    expect(found.vetoes).to.deep.equal([
      {
        veto: 'sharedDevices',
        version: null,
        why: `8 of ${CLIENTS + 1} clients are on devices of several arms`,
      },
    ]);
  });

  it('knows for clients who came before an end what they did after it', () => {
    const lost = (of: ExperimentReport | undefined) => sumOf(of, (arm) => arm.lostAfterWait);
    const [byAll, asOfNow] = asked.map(lost);
    expect(asOfNow).to.equal(byAll);
    expect(byAll).to.be.within(1, lost(found) - 1);
  });

  it('is counted from its start, with all that was reported, also where the time asked about begins later', () => {
    const within = asked.at(2) ?? NOTHING;
    expect(within.from).to.be.above(found.from ?? 0);
    const { arms, levels, differences, vetoes } = found;
    expect(within).to.deep.include({ arms, levels, differences, vetoes });
  });

  it('shows another objective than that of the rollout, and recommends nothing by it', () => {
    expect([found.isFixed, other.isFixed, other.objective?.margin]).to.deep.equal([true, false, 0.5]);
    expect(createExperimentPresentation(other).notes.join('\n')).to.include(
      'Judged by value = 0.5 x lasting amount, in EUR. The rollout was begun with another objective, so nothing is recommended by this one.',
    );
  });

  it('says how much money value leaves out for want of a rate, and how to give one', () => {
    const [unrated = NOTHING, rated = NOTHING] = asked.slice(3);
    const paid = Number(sumOf(found, ({ money }) => money['EUR']?.paid ?? 0).toFixed(2));
    const reversed = Number(sumOf(found, ({ money }) => money['EUR']?.reversed ?? 0).toFixed(2));
    expect(reversed).to.be.above(0);
    expect(unrated.unrated).to.deep.equal({ valueIn: 'USD', amounts: { EUR: { paid, reversed } } });
    const notes = createExperimentPresentation(unrated).notes.filter((note) => note.includes('leaves out'));
    expect(notes).to.deep.equal([
      `Value is in USD and leaves out ${paid.toLocaleString('en', { minimumFractionDigits: 2 })} EUR paid and ${reversed.toFixed(2)} EUR reversed, because no rate was given. Give the value of one unit in USD: --rate EUR=NUMBER, when the next trial begins; in rules experiment it is shown for this one, and recommends nothing.`,
    ]);
    expect([rated.unrated, found.unrated]).to.deep.equal([null, null]);
  });

  it('writes amounts above the cap as money', () => {
    const arm = found.arms[0];
    const objective = { ...DEFAULT_OBJECTIVE, currency: 'EUR', reversalDays: 1, cap: 1234.5 };
    if (arm === undefined) expect.fail('there is no arm');
    const capped = { ...found, objective, arms: [{ ...arm, capped: 166.694 }] };
    expect(createExperimentPresentation(capped).notes).to.include(
      "At most 1,234.50 EUR of a client's money count. Not counted above that: 166.69 of p2.v10.",
    );
  });

  it('compares nothing before there are enough clients, and says so', () => {
    expect(found.differences).to.deep.equal([]);
    expect(found.recommendation).to.deep.equal({ version: null, takeBack: [], errorBound: 0.01 });
    const { notes } = createExperimentPresentation(found);
    expect(notes).to.include.members([
      'Judged by value = 1 x lasting amount - 5 x reversals, in EUR.',
      'A client counts by what it does within 1 day, once these and 1 day for reversals are over. The first counts on 2026-11-03T00:00:00Z. 1 client does not count yet.',
      'No amount is capped, because too few clients paid in the 30 days before; give a cap with the rollout if a few clients pay most of the money.',
      'Nothing can be compared yet: each version needs 50 clients who count and have the figure that is compared.',
    ]);
    expect(notes.at(-1)).to.equal('Continue: nothing is recommended yet.');
  });
});

describe('an experiment on two ladders', () => {
  // Of one seed; `npm run bench -- --parts truth` takes twenty.
  let found: ExperimentReport | undefined;
  let earlier: ExperimentReport | undefined;
  before(async function () {
    this.timeout(300_000);
    [found, earlier] = await simulatedTrial(1);
  });

  it('gives their difference over time, up to the present one', () => {
    const { trend = [], differences = [], since } = found ?? {};
    const moments = [...new Set(trend.map(({ at }) => at))];
    expect(moments).to.have.length.within(3, 30);
    expect(moments[0]).to.be.above(since ?? Number.NaN);
    const last = trend.filter(({ at }) => at === moments.at(-1)).map(({ at: _, ...one }) => one);
    expect(last).to.deep.equal(differences.map(({ clientsToGo: _, ...one }) => one));
  });

  it('names the days until a difference shows by the pace at which clients came, not by the time nobody could count', () => {
    if (found === undefined) expect.fail('there is no experiment');
    const days = createExperimentPresentation(found).notes.flatMap((note) => {
      const [, clients = '', some = ''] =
        /^About ([\d,]+) more clients, at the pace so far about (\d+|a) days?,/.exec(note) ?? [];
      return clients === '' ? [] : [[Number(clients.replaceAll(',', '')), some === 'a' ? 1 : Number(some)]];
    });
    expect(days).to.have.length(1);
    const [[toGo = 0, named = 0] = []] = days;
    const trueDays = toGo / CLIENTS_A_DAY;
    expect(named).to.be.within(Math.floor(0.75 * trueDays), Math.ceil(1.25 * trueDays));
  });

  it('gives for a time in the past what it would have given then', () => {
    const at = earlier?.asOf?.at;
    const then = found?.trend.filter((one) => one.at === at) ?? [];
    expect(then.length).to.be.above(3);
    expect(earlier?.differences.map(({ metric }) => metric)).to.deep.equal(then.map(({ metric }) => metric));
    for (const [place, one] of (earlier?.differences ?? []).entries())
      for (const figure of ['value', 'low', 'high'] as const)
        expect(one[figure], one.metric).to.be.closeTo(then[place]?.[figure] ?? Number.NaN, 1e-9);
  });

  it('finds their true differences in orders, money and requisites', async function () {
    this.timeout(300_000);
    for (const { truth, low, high } of await trueDifferences(1, found)) {
      expect(truth).to.be.below(0);
      expect(truth).to.be.within(low, high);
    }
  });
});

it('without a trial says how to begin one', async () => {
  const store = openSqliteStore(temporaryDirectory());
  const [found = NOTHING] = await experimentsOn(store);
  expect(found.arms).to.deep.equal([]);
  expect(createExperimentPresentation(found).notes.at(-1)).to.match(
    /^No version was on trial within this time. Begin with: rules rollout/,
  );
  await store.close();
});
