import { expect } from 'chai';
import { backtest } from '../../../src/evidence/backtest/backtest.ts';
import { shownBacktest } from '../../../src/evidence/backtest/backtest-report.ts';
import { report } from '../../../src/evidence/report/report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { combinationsOf, parseVariation, sweep } from '../../../src/evidence/sweep/sweep.ts';
import { type SweepReport, shownSweep } from '../../../src/evidence/sweep/sweep-report.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import type { Store } from '../../../src/state/store.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { History, JULY, Workplace } from '../backtest/backtest-history.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';

const DAY = 86_400_000;
const WINDOW = 'bot-signals.shared-fingerprint.clientsOnFingerprint.window';
const DAYS = 92;

/** Two honest payers a day; every other day one more abuser on the device of a ring, whose payment is taken back 14 to 35 days later. */
async function liveWithRings(store: Store, place: Workplace): Promise<void> {
  const random = new SeededRandom(3);
  const history = new History(store, place.rules('p2.v10'));
  const due: { readonly at: number; readonly payer: string }[] = [];
  for (let day = 0; day < DAYS; day++) {
    history.now = JULY + day * DAY;
    for (const { payer } of due.filter(({ at }) => at === day))
      await history.outcome(payer, `order of ${payer}`, 'UNPAID', 'REVERSED');
    const abusers = day % 2 === 0 ? [`abuser-${day}`] : [];
    for (const payer of [`payer-${day}`, `patron-${day}`, ...abusers]) {
      history.now += 3 * 3_600_000;
      await history.score(payer, abusers.includes(payer) ? `ring-${Math.floor(day / 20)}` : payer);
      await history.verdict(payer, `order of ${payer}`);
      await history.outcome(payer, `order of ${payer}`, 'PAID');
      if (abusers.includes(payer)) due.push({ at: day + random.whole(14, 35), payer });
    }
  }
}

describe('a sweep of the window on shared devices, where chargebacks come 14 to 35 days later', () => {
  let place: Workplace;
  let lived: EvidencePlace;
  before(async () => {
    place = new Workplace();
    lived = (await livedEvidence((store) => liveWithRings(store, place))).archive;
  });
  after(() => place.end());

  const swept = new Map<number, Promise<SweepReport>>();
  const sweptOn = (day: number) => swept.getOrInsertComputed(day, sweepOn);

  function sweepOn(day: number): Promise<SweepReport> {
    const files = readRuleFiles(`${place.rulesDir}/p2.v10`, []) ?? new Map();
    const combinations = combinationsOf('p2.v10', files, [parseVariation(files, `${WINDOW}=7d`)]);
    return withEvidence({ ...all(lived), asOf: JULY + day * DAY }, (evidence) =>
      sweep(evidence, { version: 'p2.v10', combinations, outcomes: 'granted', threads: 1 }),
    );
  }

  it('says not yet until enough ring orders are mature, and then advises for it', async () => {
    const days = [20, 40, 50, 90];
    const told = await Promise.all(days.map(sweptOn));
    expect(told.map(({ combinations }) => combinations[1]?.stopped?.advice)).to.deep.equal([
      'notYet',
      'notYet',
      'for',
      'for',
    ]);
    expect(told.map(({ reversals }) => reversals.maturityDays === null)).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
  });

  it('says so in words, with the expected reversals of payments that are too young', async () => {
    const { notes } = shownSweep(await sweptOn(90));
    expect(notes.slice(4, 7)).to.deep.equal([
      'Reversed: 34 of the unpaid orders were paid and taken back.',
      'Immature: 77 paid orders are younger than 33 days, by which 95 % of the reversals come. Of these 12.2 (8.2 to 16.4) are to be expected reversed, which no figure here counts.',
      `${WINDOW}=7d is advised for: of the payments that it stops 25 of 25 mature ones were reversed (100.0 % (86.7 to 100.0)), 15 are immature.`,
    ]);
    expect(shownSweep(await sweptOn(20)).notes.slice(5, 7)).to.deep.equal([
      'Not mature: reversals seen so far: 1, too few or too young to tell when a payment is safe. 49 paid orders may yet be reversed: do not judge by that yet.',
      `${WINDOW}=7d is not known yet: of the payments that it stops 0 of 0 mature ones were reversed (-), 9 are immature.`,
    ]);
  });

  it('has its part in the headline of a backtest, with the expected reversals of payments that are too young', async () => {
    place.draft('p2.v11', {
      file: 'bot-signals.yaml',
      from: 'clientsOnFingerprint, params: { window: 24h }',
      to: 'clientsOnFingerprint, params: { window: 7d }',
    });
    const found = await withEvidence({ ...all(lived), asOf: JULY + 90 * DAY }, (evidence) =>
      backtest(evidence, {
        ...{ candidate: place.rules('p2.v11'), against: place.rules('p2.v10') },
        ...{ mode: 'closed-loop', outcomes: 'granted', rulesOf: () => place.rules('p2.v10') },
      }),
    );
    const { notes, tables } = shownBacktest(found);
    const headline = notes.find((note) => note.startsWith('If only'));
    expect(headline).to.include(
      ': reversed payments stopped 0.00 -> 315.00 of 357.00 EUR; unpaid orders stopped ',
    );
    expect(notes.slice(-4, -1)).to.deep.equal([
      'p2.v11 is advised for: of the payments that it stops 25 of 25 mature ones were reversed (100.0 % (86.7 to 100.0)), 15 are immature.',
      'Reversed: 34 of the unpaid orders were paid and taken back.',
      'Immature: 77 paid orders are younger than 33 days, by which 95 % of the reversals come. Of these 12.2 (8.2 to 16.4) are to be expected reversed, which no figure here counts.',
    ]);
    expect(tables[0]?.title).to.equal('Amounts');
  });

  it('is beside a report that says why orders were not paid, in orders and money', async () => {
    const rules = place.rules('p2.v10');
    const {
      reversals,
      amount,
      slices = [],
    } = await withEvidence({ ...all(lived), asOf: JULY + 90 * DAY }, (evidence) =>
      report(evidence, { rules, by: 'cause' }),
    );
    expect(reversals.causes).to.deep.equal([{ cause: 'REVERSED', currency: 'EUR', orders: 34, amount: 357 }]);
    expect(reversals.immature).to.deep.equal([{ currency: 'EUR', orders: 77, amount: 808.5 }]);
    expect(amount['EUR']).to.deep.include({ unpaid: 357, reversed: 357 });
    expect(slices.map(({ slice, orders }) => [slice, orders.paid, orders.unpaid])).to.deep.equal([
      ['PAID', 191, 0],
      ['REVERSED', 0, 34],
    ]);
  });
});
